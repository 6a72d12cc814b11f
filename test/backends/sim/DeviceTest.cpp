//===- DeviceTest.cpp - simulated devices as devices ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/SimDevice.h"
#include "test/backends/sim/SimKernel.h"

#include <catch2/catch.hpp>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <unistd.h>

using namespace sinter;
using namespace sinter::sim;
using namespace sinter::test;

namespace {

std::unique_ptr<rt::Device> device(const SimSettings &settings = {},
                                   int ordinal = 0) {
  auto made = createSimDevice(ordinal, settings);
  REQUIRE(made.ok());
  return std::move(*made);
}

std::unique_ptr<rt::Device> seeded(uint64_t seed) {
  SimSettings settings;
  settings.seed = seed;
  return device(settings);
}

template <typename T>
std::unique_ptr<T> take(rt::Result<std::unique_ptr<T>> r) {
  INFO(r.status().message());
  REQUIRE(r.ok());
  return std::move(*r);
}

void *memory(rt::Device &device, uint64_t bytes) {
  rt::Result<void *> address = device.allocate(bytes, "a test");
  REQUIRE(address.ok());
  return *address;
}

std::string settingsError(const char *text) {
  return readSettings({}, text).status().message();
}

/// An artifact of one kernel that is launched once on x, which it reads, and y.
struct OneKernel {
  SimKernel code;
  sinter_kernel_desc kernel = {};
  sinter_slice slices[2] = {{SINTER_SPACE_ARENA, 0, 0, 256},
                            {SINTER_SPACE_ARENA, 0, 256, 256}};
  sinter_command command = {};
  sinter_entry entry = {};
  sinter_artifact artifact = {};

  OneKernel(const std::string &file, const std::string &name,
            const SimOptions &build, uint32_t block = 64)
      : code(file, name, build) {
    INFO(code.error());
    REQUIRE(code.code());
    kernel.name = code.name().c_str();
    kernel.sim = code.code();
    for (int i = 0; i < 3; ++i)
      kernel.grid[i] = kernel.block[i] = 1;
    kernel.block[0] = block;
    kernel.numBuffers = 2;
    command.kind = SINTER_CMD_LAUNCH;
    command.slices = slices;
    command.numSlices = 2;
    command.numReads = 1;
    command.label = "test";
    entry.commands = &command;
    entry.numCommands = 1;
    artifact.entries = &entry;
    artifact.kernels = &kernel;
    artifact.numEntries = artifact.numKernels = 1;
    artifact.target = "sim";
    artifact.cpuFeatures = "";
  }

  /// Loads it on a device with `settings` and launches it `times` times;
  /// returns the error.
  std::string run(const SimSettings &settings, int times = 1) {
    auto sim = device(settings);
    auto module = sim->loadKernels(artifact);
    if (!module.ok())
      return module.status().message();
    auto stream = take(sim->createStream());
    void *buffers[2] = {memory(*sim, 256), memory(*sim, 256)};
    for (int i = 0; i < times; ++i)
      (void)sim->launch(*stream, **module, 0, buffers, 0);
    return sim->synchronize().message();
  }
};

const SimOptions checkedMutable = {2, true, true, false, ""};

} // namespace

TEST_CASE("memory of a simulated device") {
  SimSettings settings;
  settings.memoryBytes = 4096;
  auto sim = device(settings);
  auto *bytes = static_cast<uint8_t *>(memory(*sim, 1000));
  CHECK(reinterpret_cast<uintptr_t>(bytes) % 256 == 0);
  CHECK(std::all_of(bytes, bytes + 1000, [](uint8_t b) { return b == 0; }));
  CHECK(sim->availableBytes() == 3096);
  CHECK(sim->allocate(0, "nothing").ok());
  rt::Result<void *> much = sim->allocate(3097, "the arena");
  CHECK(much.status().code() == SINTER_OUT_OF_MEMORY);
  CHECK(much.status().message() ==
        "sim:0 has no memory for the arena of 3097 bytes: 3096 bytes of 4096 "
        "bytes are left");
  sim->free(bytes);
  CHECK(sim->availableBytes() == 4096);
  // The device keeps its errors for ever.
  sim->free(bytes);
  CHECK(sim->synchronize().message() ==
        "sim:0: the freed memory is not allocated");
  CHECK(sim->allocate(8, "more").status().code() == SINTER_DEVICE_FAILED);
}

TEST_CASE("memory that means nothing is poisoned") {
  auto sim = device();
  auto *bytes = static_cast<uint8_t *>(memory(*sim, 102));
  sim->discard(bytes, 102);
  float value;
  std::memcpy(&value, bytes + 96, sizeof value);
  CHECK(value != value);
  CHECK(sim->synchronize().ok());
  sim->free(bytes);
  CHECK(sim->synchronize().ok());
  sim->discard(bytes, 4);
  CHECK(sim->synchronize().message() == "sim:0: the discarded range (4 bytes) "
                                        "lies in memory that was freed: a "
                                        "test");
}

TEST_CASE("what is written around an allocation is seen") {
  for (int offset : {-1, 100}) {
    auto sim = device();
    auto *bytes = static_cast<uint8_t *>(memory(*sim, 100));
    bytes[offset] = 7;
    sim->free(bytes);
    CHECK(sim->synchronize().message() ==
          (offset < 0 ? "sim:0: something wrote before a test of 100 bytes"
                      : "sim:0: something wrote 0 bytes after a test of 100 "
                        "bytes"));
  }
}

TEST_CASE("copies outside the device's memory") {
  auto failure = [](auto use) {
    auto sim = device();
    auto stream = take(sim->createStream());
    auto *inside = static_cast<uint8_t *>(memory(*sim, 64));
    use(*sim, *stream, inside);
    rt::Status status = sim->synchronize();
    CHECK(status.code() == SINTER_DEVICE_FAILED);
    return status.message();
  };
  uint8_t host[64] = {};
  CHECK(failure([&](rt::Device &sim, rt::Stream &stream, uint8_t *inside) {
          (void)sim.upload(stream, inside + 1, host, 64);
        }) == "sim:0: the destination of an upload (64 bytes) does not lie "
              "inside a test of 64 bytes");
  CHECK(failure([&](rt::Device &sim, rt::Stream &stream, uint8_t *) {
          (void)sim.download(stream, host, host, 64);
        }) ==
        "sim:0: the source of a download (64 bytes) is not memory of this "
        "device");
  CHECK(failure([&](rt::Device &sim, rt::Stream &stream, uint8_t *inside) {
          sim.free(inside);
          (void)sim.fill(stream, inside, 0, 4);
        }) ==
        "sim:0: the filled range (4 bytes) lies in memory that was freed: a "
        "test");
  CHECK(failure([&](rt::Device &sim, rt::Stream &stream, uint8_t *inside) {
          (void)sim.copy(stream, inside, inside + 8, 16);
        }) == "sim:0: source and destination of a copy overlap");
}

TEST_CASE("a stream that does not wait sees old or new memory") {
  // upload(x) on one stream, copy(y, x) on another, without and with an event.
  auto run = [](uint64_t seed, bool waits) {
    auto sim = seeded(seed);
    auto uploads = take(sim->createStream());
    auto compute = take(sim->createStream());
    auto event = take(sim->createEvent(rt::EventUse::Order));
    void *x = memory(*sim, 4), *y = memory(*sim, 4);
    int value = 42, result = 0;
    CHECK(sim->upload(*uploads, x, &value, 4).ok());
    CHECK(sim->record(*event, *uploads).ok());
    if (waits)
      CHECK(sim->wait(*compute, *event).ok());
    CHECK(sim->copy(*compute, y, x, 4).ok());
    CHECK(sim->download(*compute, &result, y, 4).ok());
    CHECK(sim->synchronize(*compute).ok());
    CHECK(sim->synchronize().ok());
    return result;
  };
  int numWrong = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    CHECK(run(seed, true) == 42);
    CHECK(run(seed, false) == run(seed, false));
    numWrong += run(seed, false) != 42;
  }
  CHECK(run(0, false) == 0);
  CHECK(numWrong >= 5);
}

TEST_CASE("a stream that overwrites too early is seen") {
  auto run = [](uint64_t seed, bool waits) {
    auto sim = seeded(seed);
    auto compute = take(sim->createStream());
    auto uploads = take(sim->createStream());
    auto event = take(sim->createEvent(rt::EventUse::Order));
    void *x = memory(*sim, 4), *y = memory(*sim, 4);
    int first = 1, second = 2, result = 0;
    CHECK(sim->upload(*compute, x, &first, 4).ok());
    CHECK(sim->synchronize(*compute).ok());
    CHECK(sim->copy(*compute, y, x, 4).ok());
    CHECK(sim->record(*event, *compute).ok());
    if (waits)
      CHECK(sim->wait(*uploads, *event).ok());
    CHECK(sim->upload(*uploads, x, &second, 4).ok());
    CHECK(sim->synchronize().ok());
    CHECK(sim->download(*compute, &result, y, 4).ok());
    CHECK(sim->synchronize().ok());
    return result;
  };
  int numWrong = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    CHECK(run(seed, true) == 1);
    numWrong += run(seed, false) != 1;
  }
  CHECK(run(1, false) + run(2, false) > 2);
  CHECK(numWrong >= 5);
}

TEST_CASE("host memory is read as late as the stream is waited for") {
  auto sim = device();
  auto stream = take(sim->createStream());
  void *x = memory(*sim, 4);
  int value = 1, result = 0;
  CHECK(sim->upload(*stream, x, &value, 4).ok());
  value = 2; // too early
  CHECK(sim->download(*stream, &result, x, 4).ok());
  CHECK(sim->synchronize(*stream).ok());
  CHECK(result == 2);
}

TEST_CASE("events order devices, and time passes between them") {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    SimSettings settings;
    settings.seed = seed;
    auto first = device(settings, 0), second = device(settings, 1);
    auto from = take(first->createStream()), to = take(second->createStream());
    auto begin = take(first->createEvent(rt::EventUse::Timing));
    auto ready = take(first->createEvent(rt::EventUse::Timing));
    void *x = memory(*first, 4), *y = memory(*second, 4);
    int value = 7, result = 0;
    CHECK(second->wait(*to, *ready).ok()); // not recorded: no wait
    CHECK(first->record(*begin, *from).ok());
    CHECK(!first->elapsedUs(*begin, *ready).ok());
    CHECK(first->upload(*from, x, &value, 4).ok());
    CHECK(first->record(*ready, *from).ok());
    CHECK(second->wait(*to, *ready).ok());
    CHECK(second->copyFromPeer(*to, y, *first, x, 4).ok());
    CHECK(second->download(*to, &result, y, 4).ok());
    CHECK(second->synchronize(*to).ok());
    CHECK(result == 7);
    CHECK(first->synchronize(*ready).ok());
    rt::Result<double> us = first->elapsedUs(*begin, *ready);
    REQUIRE(us.ok());
    CHECK(*us >= 0);
  }
}

TEST_CASE("graphs of streams that wait for each other") {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    auto sim = seeded(seed);
    auto stream = take(sim->createStream()), side = take(sim->createStream());
    auto fork = take(sim->createEvent(rt::EventUse::Order));
    auto join = take(sim->createEvent(rt::EventUse::Order));
    void *x = memory(*sim, 4), *y = memory(*sim, 4);
    int value = 0, result = 0;
    CHECK(sim->beginCapture(*stream).ok());
    CHECK(sim->upload(*stream, x, &value, 4).ok());
    CHECK(sim->record(*fork, *stream).ok());
    CHECK(sim->wait(*side, *fork).ok());
    CHECK(sim->copy(*side, y, x, 4).ok());
    CHECK(sim->record(*join, *side).ok());
    CHECK(sim->wait(*stream, *join).ok());
    CHECK(sim->download(*stream, &result, y, 4).ok());
    CHECK(!sim->synchronize(*stream).ok());
    auto graph = take(sim->endCapture(*stream));
    CHECK(!sim->wait(*stream, *join).ok());
    for (value = 1; value < 4; ++value) {
      CHECK(sim->start(*stream, *graph).ok());
      CHECK(sim->synchronize(*stream).ok());
      CHECK(result == value);
    }
  }
}

TEST_CASE("settings of simulated devices") {
  auto read = readSettings(
      {}, "seed=3,memory=64MiB,drop=predicate:7,report=r.json,ecc=2");
  REQUIRE(read.ok());
  CHECK(read->seed == 3);
  CHECK(read->memoryBytes == 64u << 20);
  CHECK(read->drop.kind == Drop::Predicate);
  CHECK(read->drop.number == 7);
  CHECK(read->report == "r.json");
  CHECK(read->ecc == 2);
  CHECK(read->refusals.empty());
  read = readSettings({}, "refuse-epilogues=4:bf16:f32+152:*:*,seed=1");
  REQUIRE(read.ok());
  REQUIRE(read->refusals.size() == 2);
  CHECK(read->refusals[0].epilogue == 4u);
  CHECK(read->refusals[0].input == LtInput::Bf16);
  CHECK(read->refusals[1].epilogue == 152u);
  CHECK(!read->refusals[1].output);
  rt::DeviceOptions options;
  options.simSeed = 9;
  options.simDrop = "barrier:1";
  read = readSettings(options, "seed=3");
  REQUIRE(read.ok());
  CHECK(read->seed == 9);
  CHECK(read->drop.kind == Drop::Barrier);
  for (const char *bad : {"seed", "seed=x", "memory=0", "memory=1TB", "speed=3",
                          "drop=loop:1", "report=", "seed=1,,ecc=2",
                          "refuse-epilogues=", "refuse-epilogues=4:bf16"}) {
    INFO(bad);
    CHECK(settingsError(bad).find("SINTER_SIM: '") == 0);
  }
  CHECK(createSimDevice(8, {}).status().message() ==
        "there is no device 'sim:8'; there are sim:0 to sim:7");
}

TEST_CASE("kernels of an artifact: buffers, errors that stay") {
  // x is only read.
  OneKernel writer("faulty.ll", "writes_first", checkedMutable);
  CHECK(writer.run({}) ==
        "kernel writes_first, block (0,0,0), thread (0,0,0): writes 4 bytes of "
        "a buffer that the launch only reads, at 'store i32 1, ptr %x, align "
        "4'");
  // Unchecked code writes to the guard zone after the arena.
  OneKernel plain("faulty.ll", "out_of_bounds", {2, false, false, false, ""});
  CHECK(plain.run({}) == "kernel out_of_bounds: sim:0: something wrote 0 bytes "
                         "after a test of 256 bytes");
  OneKernel good("faulty.ll", "global_race", checkedMutable);
  CHECK(good.run({}, 3) == "");
  SimSettings settings;
  settings.failLaunch = 2;
  CHECK(good.run(settings, 1) == "");
  CHECK(good.run(settings, 3) ==
        "sim:0: kernel global_race (grid 1x1x1, block 64x1x1, 0 bytes of "
        "shared memory): the launch failed (injected)");
  settings = {};
  settings.ecc = 1;
  CHECK(good.run(settings) ==
        "sim:0: kernel global_race (grid 1x1x1, block 64x1x1, 0 bytes of "
        "shared memory): an uncorrectable memory error (injected)");
}

TEST_CASE("sites that can be left out are counted through the program") {
  OneKernel tail("elementwise.ll", "elementwise", checkedMutable);
  SimSettings settings;
  settings.drop = {Drop::Barrier, "", 0};
  CHECK(tail.run(settings) ==
        "barrier 0 cannot be left out: the program has 0");
  settings.drop = {Drop::Predicate, "", 1};
  CHECK(tail.run(settings) ==
        "predicate 1 cannot be left out: the program has 1");
  settings.drop = {Drop::Predicate, "", 0};
  CHECK(tail.run(settings) == "");
  OneKernel plain("elementwise.ll", "elementwise", {2, true, false, false, ""});
  CHECK(plain.run(settings) == "the program was compiled without predicates "
                               "that can be left out");
}

TEST_CASE("the report has an entry for each launch") {
  char path[] = "sim-report-XXXXXX";
  int file = mkstemp(path);
  REQUIRE(file >= 0);
  close(file);
  SimSettings settings;
  settings.report = path;
  OneKernel kernel("faulty.ll", "global_race", checkedMutable);
  CHECK(kernel.run(settings, 2) == "");
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  std::remove(path);
  std::string entry =
      R"({"device":"sim:0","kernel":"global_race","grid":[1,1,1],"block":[64,1,1],)"
      R"("threads":64,"barriers":0,"shuffles":0,"races":0,"barrierSites":[0,0],)"
      R"("predicateSites":[0,0]})";
  CHECK(text.str() == "[" + entry + ",\n " + entry + "]\n");
}
