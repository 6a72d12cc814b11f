//===- CudaProgramTest.cpp - programs on a device with its own memory -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/device/CudaDevice.h"
#include "runtime/exec/Program.h"
#include "test/runtime/FakeDriver.h"
#include "test/runtime/OneCommand.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <numeric>

using namespace sinter;
using namespace sinter::rt;
using namespace sinter::cuda;
using sinter::test::FakeDevice;
using sinter::test::FakeDriver;

namespace {

/// Element i of the slice whose address a parameter has.
template <typename T> T &at(void *parameter, int i = 0) {
  return static_cast<T *>(parameter)[i];
}

constexpr int n = 300; // floats of x and y
constexpr uint64_t bytes = n * sizeof(float);

/// main: arena = 0; arena = 2 x + step; y = arena + bias * w; count += 1;
/// out = count. The bias lies behind 8 KiB of constants that nothing reads.
struct Sample {
  int64_t dims[1] = {n}, none = 0;
  sinter_tensor_desc inputs[2] = {{"x", dims, bytes, SINTER_F32, 1},
                                  {"empty", &none, 0, SINTER_F32, 1}};
  sinter_tensor_desc outputs[2] = {{"y", dims, bytes, SINTER_F32, 1},
                                   {"out", nullptr, 4, SINTER_F32, 0}};
  sinter_kernel_desc kernels[3] = {
      {"scale", nullptr, nullptr, {2, 1, 1}, {256, 1, 1}, 0, 3},
      {"bias", nullptr, nullptr, {3, 1, 1}, {128, 1, 1}, 0, 4},
      {"count", nullptr, nullptr, {1, 1, 1}, {32, 1, 1}, 64, 2}};
  std::string ptx =
      ".version 7.0\n"
      ".entry scale(.param .u64 x, .param .u64 step, .param .u64 y)\n"
      ".entry bias(.param .u64 x, .param .u64 b, .param .u64 w, .param .u64 "
      "y)\n"
      ".entry count(.param .u64 x, .param .u64 y)\n";
  sinter_image image{SINTER_IMAGE_PTX, 80, nullptr, 0};
  sinter_state_desc states[2] = {};
  sinter_slice fill{SINTER_SPACE_ARENA, 0, 64, bytes};
  sinter_slice scale[3] = {{SINTER_SPACE_INPUT, 0, 0, bytes},
                           {SINTER_SPACE_CONTROL, 0, 16, 8},
                           {SINTER_SPACE_ARENA, 0, 64, bytes}};
  sinter_slice bias[4] = {{SINTER_SPACE_ARENA, 0, 64, bytes},
                          {SINTER_SPACE_CONSTANT, 0, 8256, 4},
                          {SINTER_SPACE_STATE, 0, 4, 4},
                          {SINTER_SPACE_OUTPUT, 0, 0, bytes}};
  sinter_slice count[2] = {{SINTER_SPACE_STATE, 1, 0, 4},
                           {SINTER_SPACE_STATE, 1, 0, 4}};
  sinter_slice copy[2] = {{SINTER_SPACE_STATE, 1, 0, 4},
                          {SINTER_SPACE_OUTPUT, 1, 0, 4}};
  sinter_command commands[5] = {
      {SINTER_CMD_FILL, 0, 0, 1, 0, 0, &fill, "zeros", {}},
      {SINTER_CMD_LAUNCH, 0, 0, 3, 2, 0, scale, "first", {{1, 0, 0}}},
      {SINTER_CMD_LAUNCH, 0, 0, 4, 3, 0, bias, "second", {{1, 1, 0}}},
      {SINTER_CMD_LAUNCH, 0, 0, 2, 1, 0, count, "third", {{1, 2, 0}}},
      {SINTER_CMD_COPY, 0, 0, 2, 1, 0, copy, "fourth", {}}};
  sinter_entry entry{"main", inputs, outputs,    commands, 2, 2,
                     5,      0,      bytes + 64, 0,        0};
  struct alignas(64) {
    float weights[2] = {3, 5};
    float unused[2062] = {};
    float bias = 10;
  } constants;
  sinter_artifact artifact = sinter::test::OneCommand::emptyArtifact();

  Sample() {
    states[0].tensor = {"w", &two, 8, SINTER_F32, 1};
    states[0].role = SINTER_STATE_PARAM;
    states[1].tensor = {"count", nullptr, 4, SINTER_F32, 0};
    states[1].role = SINTER_STATE_BUFFER;
    states[1].offsetBytes = 64;
    states[1].initOffsetBytes = UINT64_MAX;
    image.bytes = reinterpret_cast<const uint8_t *>(ptx.c_str());
    image.sizeBytes = ptx.size() + 1;
    artifact.target = "cuda";
    artifact.states = states;
    artifact.numStates = 2;
    artifact.stateBytes = 128;
    artifact.kernels = kernels;
    artifact.numKernels = 3;
    artifact.images = &image;
    artifact.numImages = 1;
    artifact.entries = &entry;
    artifact.numEntries = 1;
    artifact.constants = reinterpret_cast<const uint8_t *>(&constants);
    artifact.constantsBytes = sizeof(constants);
  }

  void teach(FakeDriver &fake) const {
    fake.kernels["scale"] = [](void **p) {
      for (int i = 0; i < n; ++i)
        at<float>(p[2], i) += 2 * at<const float>(p[0], i) +
                              static_cast<float>(at<const int64_t>(p[1]));
    };
    fake.kernels["bias"] = [](void **p) {
      for (int i = 0; i < n; ++i)
        at<float>(p[3], i) = at<const float>(p[0], i) +
                             at<const float>(p[1]) * at<const float>(p[2]);
    };
    fake.kernels["count"] = [](void **p) {
      at<float>(p[1]) = at<const float>(p[0]) + 1;
    };
  }
  int64_t two = 2;
};

struct Loaded {
  explicit Loaded(const DeviceOptions &options = {}) {
    sample.teach(fake);
    auto device = createCudaDevice(fake.table(), 0, options);
    REQUIRE(device.ok());
    auto made = Program::create(sample.artifact, std::move(*device));
    INFO(made.status().message());
    REQUIRE(made.ok());
    program = std::move(*made);
    std::iota(x, x + n, 0.0f);
  }
  ~Loaded() {
    program.reset();
    CHECK(fake.violations.empty());
  }
  Status run(int64_t step) {
    sinter_control control{};
    control.step = step;
    return program->run("main", &control, inputs, outputs);
  }
  bool isRight(const float *result, int64_t step, float first = 0) const {
    for (int i = 0; i < n; ++i)
      if (result[i] !=
          2 * (first + static_cast<float>(i)) + static_cast<float>(step) + 50)
        return false;
    return true;
  }

  FakeDriver fake;
  Sample sample;
  std::unique_ptr<Program> program;
  float x[n], y[n], out = 0;
  const void *inputs[2] = {x, nullptr};
  void *outputs[2] = {y, &out};
};

} // namespace

TEST_CASE("cuda program: a step is one graph, one copy in and one out",
          "[cuda]") {
  Loaded loaded;
  FakeDriver &fake = loaded.fake;
  for (int step = 0; step < 6; ++step) {
    fake.calls.clear();
    fake.launches.clear();
    REQUIRE(loaded.run(step).ok());
    CHECK(loaded.isRight(loaded.y, step));
    CHECK(loaded.out == static_cast<float>(step + 1));
    // The first run waits for each command; two slots are recorded at their
    // first use.
    CHECK(fake.calls["graphInstantiate"] == (step < 2 ? 1 : 0));
    CHECK(fake.calls["graphLaunch"] == (step == 0 ? 0 : 1));
    REQUIRE(fake.launches.size() == 3);
    for (const FakeDriver::LaunchRecord &launch : fake.launches)
      CHECK(launch.fromGraph == (step > 0));
    if (step < 2)
      continue;
    CHECK(fake.calls["launchKernel"] == 0);
    CHECK(fake.calls["memcpyHtoDAsync"] == 1);
    CHECK(fake.calls["memcpyDtoHAsync"] == 0); // it is in the graph
    CHECK(fake.calls["memAlloc"] + fake.calls["memHostAlloc"] == 0);
    CHECK(fake.calls["streamSynchronize"] + fake.calls["ctxSynchronize"] == 0);
    CHECK(fake.calls["eventSynchronize"] == 1); // for the outputs
  }
  CHECK(fake.launches[1].kernel == "bias");
  CHECK(fake.launches[1].grid[0] == 3);
  CHECK(fake.launches[1].block[0] == 128);
  CHECK(fake.launches[2].sharedBytes == 64);
  loaded.program.reset();
  CHECK(fake.numAlive() == 0);
}

namespace {

/// A violation of the fake driver if no context is current.
void needContext() {
  size_t free = 0, total = 0;
  FakeDriver::current()->table().memGetInfo(&free, &total);
}

/// Sets the result to 0, in two ways that are compared, and remembers what the
/// operands were while that was done.
class ZeroCall final : public LibraryCall {
public:
  struct Seen {
    int calls = 0, zeros = 0, notFinite = 0;
    float weight = 0;
  };
  explicit ZeroCall(Seen &seen) : seen_(seen) {}
  ~ZeroCall() override { needContext(); }

  uint64_t sharedBytes() const override { return 0; }
  uint64_t perWorkerBytes() const override { return 0; }
  Status bind(const Scratch &, int) override {
    needContext();
    return {};
  }
  Status run(void *const *buffers, const CallContext &) override {
    needContext();
    ++seen_.calls;
    if (seen_.calls == 1)
      seen_.weight = at<const float>(buffers[1]);
    x_ = static_cast<const float *>(buffers[0]);
    at<float>(buffers[1]) = 77; // a call may write states
    std::memset(buffers[2], 0, bytes);
    return {};
  }
  int alternatives() override {
    needContext();
    return 2;
  }
  void select(int) override { needContext(); }
  void choose(std::span<const double> leastUs) override {
    needContext();
    CHECK(leastUs.size() == 2);
    // The copies that were queued before the calls are done.
    for (int i = 0; i < n; ++i) {
      seen_.zeros += x_[i] == 0;
      seen_.notFinite += !std::isfinite(x_[i]);
    }
  }
  std::string description() const override { return "zeros"; }

private:
  Seen &seen_;
  const float *x_ = nullptr;
};

class ZeroLibrary final : public Library {
public:
  explicit ZeroLibrary(ZeroCall::Seen &seen) : seen_(seen) {}
  ~ZeroLibrary() override { needContext(); }
  std::string version() const override { return "zeros 1.0"; }
  Result<std::unique_ptr<LibraryCall>> prepare(const sinter_command &,
                                               const CallMeans &) override {
    needContext();
    return std::unique_ptr<LibraryCall>(std::make_unique<ZeroCall>(seen_));
  }

private:
  ZeroCall::Seen &seen_;
};

} // namespace

TEST_CASE("cuda program: ways of a call are timed on random numbers",
          "[cuda]") {
  FakeDriver fake;
  Sample sample;
  sample.teach(fake);
  // Instead of the fill: x (300x1) times w[1] (1x1) into the arena.
  sinter_matmul product{};
  product.dtype = product.outDtype = SINTER_F32;
  product.m = n;
  product.n = product.k = 1;
  product.aStrideM = product.aStrideK = 1;
  product.bStrideK = product.bStrideN = 1;
  product.cStrideM = product.cStrideN = 1;
  sinter_slice slices[3] = {{SINTER_SPACE_INPUT, 0, 0, bytes},
                            {SINTER_SPACE_STATE, 0, 4, 4},
                            sample.fill};
  sinter_command call = test::callOf(&product);
  call.slices = slices;
  call.numSlices = 3;
  call.numReads = 2;
  sample.commands[0] = call;
  ZeroCall::Seen seen;
  auto device = createCudaDevice(
      fake.table(), 0, {},
      [&](const std::string &) -> Result<std::unique_ptr<Library>> {
        return std::unique_ptr<Library>(std::make_unique<ZeroLibrary>(seen));
      });
  REQUIRE(device.ok());
  auto made = Program::create(sample.artifact, std::move(*device));
  INFO(made.status().message());
  REQUIRE(made.ok());
  CHECK(seen.calls >= 2);
  CHECK(seen.zeros < n / 100); // bf16 numbers
  CHECK(seen.notFinite == 0);
  // States have their values, and get them back.
  CHECK(seen.weight == 5);
  float weights[2] = {};
  REQUIRE((*made)->readState(0, weights).ok());
  CHECK(weights[0] == 3);
  CHECK(weights[1] == 5);
  made->reset();
  CHECK(fake.violations == std::vector<std::string>());
}

TEST_CASE("cuda program: inputs arrive while the run before computes",
          "[cuda]") {
  Loaded loaded;
  FakeDriver &fake = loaded.fake;
  float results[8][n], counts[8];
  RunNumber numbers[8];
  for (int run = 0; run < 8; ++run) {
    fake.calls.clear();
    std::iota(loaded.x, loaded.x + n, static_cast<float>(100 * run));
    sinter_control control{};
    control.step = run;
    void *outputs[] = {results[run], &counts[run]};
    auto begun =
        loaded.program->begin("main", &control, loaded.inputs, outputs);
    REQUIRE(begun.ok());
    numbers[run] = *begun;
    // The caller may change its arrays at once.
    std::memset(loaded.x, 0xff, sizeof(loaded.x));
    // It waits only for the run before the last, unless that is done.
    if (run > 2)
      CHECK(fake.calls["eventSynchronize"] == (run < 6 ? 0 : 1));
    if (run > 0 && run < 5) {
      REQUIRE(loaded.program->wait(numbers[run - 1]).ok());
      CHECK(loaded.isRight(results[run - 1], run - 1,
                           static_cast<float>(100 * (run - 1))));
    }
  }
  REQUIRE(loaded.program->wait(numbers[7]).ok());
  for (int run = 0; run < 8; ++run) {
    CHECK(loaded.isRight(results[run], run, static_cast<float>(100 * run)));
    CHECK(counts[run] == static_cast<float>(run + 1));
  }
}

TEST_CASE("cuda program: a batch in pinned memory is uploaded as it is",
          "[cuda]") {
  Loaded loaded;
  REQUIRE(loaded.run(0).ok()); // records the graph
  CHECK(loaded.program->copiedInputBytes() == bytes);
  std::vector<InputBlock> blocks;
  for (int i = 0; i < 3; ++i) {
    auto block = loaded.program->allocateInputs("main");
    REQUIRE(block.ok());
    REQUIRE(block->has_value());
    blocks.push_back(std::move(**block));
  }
  loaded.fake.calls.clear();
  constexpr int runs = 8;
  std::vector<float> results(runs * n);
  float count[runs];
  RunNumber last = 0;
  for (int i = 0; i < runs; ++i) {
    // Run i - 3 has finished: run i - 1 has begun.
    float *x = static_cast<float *>(blocks[size_t(i % 3)].inputs()[0]);
    for (int j = 0; j < n; ++j)
      x[j] = static_cast<float>(100 * i + j);
    sinter_control control{};
    control.step = i;
    void *outputs[2] = {&results[size_t(i) * n], &count[i]};
    auto run = loaded.program->begin(
        "main", &control, blocks[size_t(i % 3)].inputs().data(), outputs);
    REQUIRE(run.ok());
    last = *run;
  }
  REQUIRE(loaded.program->wait(last).ok());
  for (int i = 0; i < runs; ++i)
    for (int j = 0; j < n; ++j)
      REQUIRE(results[size_t(i) * n + size_t(j)] ==
              static_cast<float>(2 * (100 * i + j) + i + 50));
  CHECK(loaded.fake.calls["memcpyHtoDAsync"] == runs);
  CHECK(loaded.program->copiedInputBytes() == bytes);
  // Memory of the caller is copied, also if only some inputs are in a block.
  const void *mixed[2] = {blocks[0].inputs()[0], loaded.inputs[1]};
  void *outputs[2] = {results.data(), count};
  auto run = loaded.program->begin("main", nullptr, mixed, outputs);
  REQUIRE(run.ok());
  REQUIRE(loaded.program->wait(*run).ok());
  CHECK(loaded.program->copiedInputBytes() == 2 * bytes);
  blocks.clear();
  // The program's own memory is such a block, which it frees.
  auto own = loaded.program->inputMemory("main");
  REQUIRE(own.ok());
  std::memcpy((*own)[0], loaded.inputs[0], n * sizeof(float));
  run = loaded.program->begin("main", nullptr, own->data(), outputs);
  REQUIRE(run.ok());
  REQUIRE(loaded.program->wait(*run).ok());
  CHECK(loaded.program->copiedInputBytes() == 2 * bytes);
  CHECK(loaded.program->inputMemory("main")->data() == own->data());
}

TEST_CASE("cuda program: constants that nobody reads stay on the host",
          "[cuda]") {
  Loaded loaded;
  // Arena, states, constants, two slots of inputs and one of outputs.
  CHECK(loaded.fake.deviceBytesHeld() == uint64_t(2) << 20);
  CHECK(loaded.program->device().availableBytes() > 0);
  auto whole = ConstantMap(loaded.sample.artifact, 0);
  CHECK(whole.sizeBytes() == 256);
  CHECK(ConstantMap(loaded.sample.artifact, 1).sizeBytes() == 0);
}

TEST_CASE("cuda program: programs of an artifact share its constants",
          "[cuda]") {
  Loaded first;
  auto uploads = [&] {
    int count = 0;
    for (const auto &[call, times] : first.fake.calls)
      count += call.starts_with("memcpyHtoD") ? times : 0;
    return count;
  };
  const int once = uploads();
  auto device = createCudaDevice(first.fake.table(), 0, {});
  REQUIRE(device.ok());
  auto made = Program::create(first.sample.artifact, std::move(*device));
  REQUIRE(made.ok());
  std::unique_ptr<Program> second = std::move(*made);
  CHECK(uploads() == 2 * once - 1);
  REQUIRE(first.run(3).ok());
  CHECK(first.isRight(first.y, 3));
  // They are kept for the second program.
  first.program.reset();
  std::fill(first.y, first.y + n, 0.0f);
  sinter_control control{};
  control.step = 3;
  REQUIRE(second->run("main", &control, first.inputs, first.outputs).ok());
  CHECK(first.isRight(first.y, 3));
  second.reset();
  CHECK(first.fake.numAlive() == 0);
}

TEST_CASE("cuda program: for debugging, values have their own memory",
          "[cuda]") {
  uint64_t held = 0;
  {
    Loaded loaded;
    held = loaded.fake.deviceBytesHeld();
  }
  setenv("SINTER_DEBUG", "separate-slices", 1);
  Loaded loaded;
  unsetenv("SINTER_DEBUG");
  // The fill and the first kernel write one place of the arena, at offset 64.
  CHECK(loaded.fake.deviceBytesHeld() == held + 2 * (64 + bytes));
  REQUIRE(loaded.run(3).ok());
  CHECK(loaded.isRight(loaded.y, 3));
}

TEST_CASE("cuda program: states are read and written by copies", "[cuda]") {
  Loaded loaded;
  CHECK(loaded.program->state(0) == nullptr);
  float w[2] = {};
  REQUIRE(loaded.program->readState(0, w).ok());
  CHECK(w[1] == 5);
  float count = -1;
  REQUIRE(loaded.program->readState(1, &count).ok());
  CHECK(count == 0);
  for (int i = 0; i < 3; ++i)
    REQUIRE(loaded.run(i).ok());
  // Also while a run is in flight.
  sinter_control control{};
  REQUIRE(loaded.program->begin("main", &control, loaded.inputs, loaded.outputs)
              .ok());
  REQUIRE(loaded.program->readState(1, &count).ok());
  CHECK(count == 4);
  CHECK(loaded.out == 4);
  w[1] = 7;
  count = 40;
  REQUIRE(loaded.program->writeState(0, w).ok());
  REQUIRE(loaded.program->writeState(1, &count).ok());
  REQUIRE(loaded.run(0).ok());
  CHECK(loaded.y[0] == 70);
  CHECK(loaded.out == 41);
  CHECK(loaded.program->readState(2, w).code() == SINTER_INVALID);
  CHECK(loaded.program->writeState(2, w).code() == SINTER_INVALID);
}

TEST_CASE("cuda program: with sync launches every command is waited for",
          "[cuda]") {
  DeviceOptions options;
  options.syncLaunches = true;
  Loaded loaded(options);
  FakeDriver &fake = loaded.fake;
  for (int step = 0; step < 3; ++step) {
    fake.calls.clear();
    REQUIRE(loaded.run(step).ok());
    CHECK(loaded.isRight(loaded.y, step));
    CHECK(fake.calls["graphLaunch"] + fake.calls["streamBeginCapture"] == 0);
    // Inputs, five commands, outputs.
    CHECK(fake.calls["streamSynchronize"] == 7);
  }
  fake.failKernel("bias", 2, result::illegalAddress);
  REQUIRE(loaded.run(3).ok());
  Status failed = loaded.run(4);
  CHECK(failed.code() == SINTER_DEVICE_FAILED);
  CHECK(failed.message() ==
        "second: cuda:0 failed in kernel bias (grid 3x1x1, block 128x1x1, 0 "
        "bytes of shared memory): CUDA_ERROR_700 (meaning of 700)");
  // The device stays dead, with the same line.
  CHECK(loaded.run(5).code() == SINTER_DEVICE_FAILED);
  float w[2];
  Status read = loaded.program->readState(0, w);
  CHECK(read.code() == SINTER_DEVICE_FAILED);
  CHECK("second: " + read.message() == failed.message());
}

TEST_CASE("cuda program: the first run names a kernel that cannot work",
          "[cuda]") {
  Loaded loaded;
  loaded.fake.failKernel("count", 1, result::misalignedAddress);
  Status failed = loaded.run(0);
  CHECK(failed.code() == SINTER_DEVICE_FAILED);
  CHECK(failed.message() ==
        "third: cuda:0 failed in kernel count (grid 1x1x1, block 32x1x1, 64 "
        "bytes of shared memory): CUDA_ERROR_716 (meaning of 716)");
}

TEST_CASE("cuda program: an error in a graph names the entry and its kernels",
          "[cuda]") {
  Loaded loaded;
  for (int i = 0; i < 4; ++i)
    REQUIRE(loaded.run(i).ok());
  loaded.fake.failKernel("scale", 1, result::eccUncorrectable);
  Status failed = loaded.run(4);
  CHECK(failed.code() == SINTER_DEVICE_FAILED);
  CHECK(failed.message() ==
        "entry 'main' (3 kernels and calls: first; second; third): cuda:0 "
        "failed in a graph (--sync-launches names the kernel): CUDA_ERROR_214 "
        "(meaning of 214)");
  CHECK(loaded.run(5).code() == SINTER_DEVICE_FAILED);
}

TEST_CASE("cuda program: errors of single calls leave the program usable",
          "[cuda]") {
  for (const char *call : {"memcpyHtoDAsync", "eventRecord", "streamWaitEvent",
                           "streamBeginCapture", "graphInstantiate",
                           "graphUpload", "graphLaunch", "eventSynchronize"}) {
    INFO(call);
    Loaded loaded;
    REQUIRE(loaded.run(0).ok());
    loaded.fake.failCall(call, 1, result::invalidValue);
    Status failed = loaded.run(1);
    CHECK(failed.code() == SINTER_DEVICE_FAILED);
    CHECK(failed.message().find("CUDA_ERROR_1 ") != std::string::npos);
    REQUIRE(loaded.run(7).ok());
    CHECK(loaded.isRight(loaded.y, 7));
  }
}

TEST_CASE("cuda program: a launch that fails while a graph is recorded",
          "[cuda]") {
  Loaded loaded;
  loaded.fake.failCall("launchKernel", 5, result::launchOutOfResources);
  Status failed = loaded.run(0);
  CHECK(failed.code() == SINTER_DEVICE_FAILED);
  CHECK(failed.message() ==
        "second: kernel bias (grid 3x1x1, block 128x1x1, 0 bytes of shared "
        "memory) was not launched: CUDA_ERROR_701 (meaning of 701)");
  // The recording has ended: the next run records again.
  REQUIRE(loaded.run(1).ok());
  CHECK(loaded.isRight(loaded.y, 1));
}

TEST_CASE("cuda program: the profile has the time of every command", "[cuda]") {
  struct Sink : ProfileSink {
    void record(const sinter_entry &entry, uint32_t index, uint64_t beginNs,
                uint64_t durationNs) override {
      CHECK(index == durations.size());
      CHECK(beginNs >= end);
      CHECK(std::string(entry.name) == "main");
      end = beginNs + durationNs;
      durations.push_back(durationNs);
    }
    std::vector<uint64_t> durations;
    uint64_t end = 0;
  };
  Loaded loaded;
  REQUIRE(loaded.run(0).ok());
  Sink sink;
  loaded.program->setProfileSink(&sink);
  for (int step = 1; step < 3; ++step) {
    sink.durations.clear();
    sink.end = 0; // the stand-in has its own clock
    REQUIRE(loaded.run(step).ok());
    CHECK(loaded.isRight(loaded.y, step));
    // In the stand-in a kernel takes 1 ms, and everything else 1 us.
    REQUIRE(sink.durations.size() == 5);
    for (int i = 0; i < 5; ++i)
      CHECK((sink.durations[i] > 900000) == (i >= 1 && i <= 3));
  }
  loaded.program->setProfileSink(nullptr);
  REQUIRE(loaded.run(3).ok());
  CHECK(loaded.isRight(loaded.y, 3));
  CHECK(sink.durations.size() == 5);
}

TEST_CASE("cuda program: what does not fit or does not belong is refused",
          "[cuda]") {
  Sample sample;
  FakeDriver fake;
  sample.teach(fake);
  auto create = [&](uint64_t limit) {
    DeviceOptions options;
    options.memoryLimitBytes = limit;
    auto device = createCudaDevice(fake.table(), 0, options);
    REQUIRE(device.ok());
    return Program::create(sample.artifact, std::move(*device)).status();
  };
  CHECK(create(1000).code() == SINTER_OUT_OF_MEMORY);
  CHECK(
      create(1000).message() ==
      "the program needs 6.1 KiB of cuda:0's memory (arena 1.2 KiB, states "
      "128 bytes, constants 256 bytes, inputs and outputs 4.5 KiB), of which "
      "1000 bytes are available; the largest values: 1.2 KiB of zeros, 1.2 KiB "
      "of first; a batch of about 31 instead of 300 would fit");
  CHECK(create(100000).ok());
  sample.artifact.target = "sim";
  sample.artifact.numImages = 0;
  CHECK(create(0).code() == SINTER_INVALID);
  sample.artifact.target = "cuda";
  CHECK(create(0).message().find("kernel 0 has no name or no code") !=
        std::string::npos);
  sample.artifact.numImages = 1;
  sample.kernels[1].numBuffers = 3;
  CHECK(create(0).message().find("4 buffers to a kernel of 3") !=
        std::string::npos);
  CHECK(fake.numAlive() == 0);
  CHECK(fake.violations.empty());
}
