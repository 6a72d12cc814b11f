//===- CudaDeviceTest.cpp - the CUDA device on a checking driver ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/device/CudaDevice.h"
#include "backends/cuda/device/CudaModule.h"
#include "backends/cuda/device/DeviceArena.h"
#include "test/runtime/FakeDriver.h"
#include "test/runtime/OneCommand.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>

using namespace sinter;
using namespace sinter::rt;
using namespace sinter::cuda;
using sinter::test::FakeDevice;
using sinter::test::FakeDriver;

namespace {

/// One line that holds `text`.
void checkLine(const Status &status, sinter_status code,
               const std::string &text) {
  INFO(status.message());
  CHECK(status.code() == code);
  CHECK(status.message().find(text) != std::string::npos);
  CHECK(status.message().find('\n') == std::string::npos);
}

std::unique_ptr<Device> makeDevice(FakeDriver &fake, DeviceOptions options = {},
                                   int ordinal = 0) {
  auto device = createCudaDevice(fake.table(), ordinal, options);
  INFO(device.status().message());
  REQUIRE(device.ok());
  return std::move(*device);
}

/// An artifact with one kernel of two parameters.
struct OneKernel {
  sinter_kernel_desc kernel{"twice",    nullptr, nullptr, {8, 1, 1},
                            {32, 1, 1}, 0,       2};
  std::string text = ".version 7.0\n.entry twice(.param .u64 a, .param .u64 b)";
  std::vector<sinter_image> images;
  sinter_artifact artifact = sinter::test::OneCommand::emptyArtifact();

  OneKernel() {
    image(SINTER_IMAGE_PTX, 80);
    artifact.target = "cuda";
    artifact.kernels = &kernel;
    artifact.numKernels = 1;
  }
  void image(sinter_image_kind kind, uint32_t arch) {
    images.push_back({kind, arch,
                      reinterpret_cast<const uint8_t *>(text.c_str()),
                      text.size() + 1});
    artifact.images = images.data();
    artifact.numImages = static_cast<uint32_t>(images.size());
  }
};

} // namespace

TEST_CASE("cuda: what keeps the driver from working is one line", "[cuda]") {
  FakeDriver fake;
  CHECK(startDriver(fake.table()).ok());
  fake.initResult = result::noDevice;
  checkLine(startDriver(fake.table()), SINTER_DEVICE_FAILED, "sees no GPU");
  fake.initResult = result::systemDriverMismatch;
  checkLine(startDriver(fake.table()), SINTER_DEVICE_FAILED,
            "different versions");
  fake.initResult = result::unknown;
  checkLine(startDriver(fake.table()), SINTER_DEVICE_FAILED, "CUDA_ERROR_999");
  fake.knowsErrors = false;
  checkLine(startDriver(fake.table()), SINTER_DEVICE_FAILED, "CUDA error 999");
  fake.initResult = result::stubLibrary;
  checkLine(startDriver(fake.table()), SINTER_DEVICE_FAILED, "stub library");
  fake.initResult = result::success;
  fake.version = 12000; // reads PTX 8.0
  checkLine(startDriver(fake.table()), SINTER_DEVICE_FAILED,
            "supports CUDA 12.0; driver 12.1 or newer is needed");
  fake.version = 12010;
  CHECK(startDriver(fake.table()).ok());
  FakeDriver empty(std::vector<FakeDevice>{});
  checkLine(startDriver(empty.table()), SINTER_DEVICE_FAILED, "sees no GPU");
}

TEST_CASE("cuda: the driver of this machine works or says why not", "[cuda]") {
  Result<const DriverTable *> driver = openDriver();
  if (driver.ok()) {
    int count = 0;
    CHECK((*driver)->deviceGetCount(&count) == result::success);
    CHECK(count > 0);
  } else {
    checkLine(driver.status(), SINTER_DEVICE_FAILED, "NVIDIA driver");
  }
  // Twice: the answer is kept.
  CHECK(openDriver().ok() == driver.ok());
}

TEST_CASE("cuda: devices tell what they are", "[cuda]") {
  FakeDriver fake({FakeDevice(), {"Old GPU", 8, 6, 1 << 30}});
  auto device = makeDevice(fake, {}, 1);
  CHECK(device->name() == "cuda:1");
  CHECK(device->kind() == "cuda");
  std::string report;
  for (const std::string &line : device->report())
    report += line + "\n";
  CHECK(report.find("Old GPU, compute capability 8.6") != std::string::npos);
  CHECK(report.find("UUID: GPU-01112131-4151-6171-8191-a1b1c1d1e1f1") !=
        std::string::npos);
  CHECK(device->uniqueName() == "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1");
  CHECK(report.find("driver: CUDA 13.0") != std::string::npos);
  CHECK(report.find("64.0 MiB are taken by the context") != std::string::npos);
  checkLine(createCudaDevice(fake.table(), 2, {}).status(), SINTER_INVALID,
            "the driver shows 2");
  device.reset();
  CHECK(fake.numAlive() == 0);
  CHECK(fake.violations.empty());
}

TEST_CASE("cuda: the host program's context stays current", "[cuda]") {
  FakeDriver fake({FakeDevice(), FakeDevice()});
  ContextHandle other = nullptr, current = nullptr;
  fake.table().primaryCtxRetain(&other, 1);
  fake.table().ctxPushCurrent(other);
  {
    auto device = makeDevice(fake);
    auto memory = device->allocate(1000, "a test");
    REQUIRE(memory.ok());
    device->free(*memory);
    fake.table().ctxGetCurrent(&current);
    CHECK(current == other);
  }
  fake.table().ctxGetCurrent(&current);
  CHECK(current == other);
  CHECK(fake.violations.empty());
}

TEST_CASE("cuda: the image of the architecture, else the nearest older PTX",
          "[cuda]") {
  OneKernel one;
  one.image(SINTER_IMAGE_PTX, 90);
  one.image(SINTER_IMAGE_CUBIN, 90);
  one.image(SINTER_IMAGE_CUBIN, 80);
  auto usable = [&](unsigned arch) {
    std::vector<long> numbers;
    for (const sinter_image *image : usableImages(one.artifact, arch))
      numbers.push_back(image - one.images.data());
    return numbers;
  };
  CHECK(usable(75).empty());
  CHECK(usable(80) == std::vector<long>{3, 0});
  CHECK(usable(86) == std::vector<long>{0});
  CHECK(usable(90) == std::vector<long>{2, 1});
  CHECK(usable(100) == std::vector<long>{1});
  CHECK(usable(120) == std::vector<long>{1});

  FakeDriver fake({{"Turing", 7, 5, uint64_t(1) << 30}});
  auto device = makeDevice(fake);
  checkLine(device->checkCode(one.artifact), SINTER_DEVICE_FAILED,
            "sm_80 and newer, sm_90 and newer, sm_90, sm_80; cuda:0 (Turing) "
            "is sm_75");
}

TEST_CASE("cuda: PTX takes the place of a cubin that the driver refuses",
          "[cuda]") {
  FakeDriver fake;
  auto context = CudaContext::create(fake.table(), 0);
  REQUIRE(context.ok());
  CurrentContext current(fake.table(), (*context)->handle());
  OneKernel one;
  one.image(SINTER_IMAGE_CUBIN, 90);
  {
    auto module = CudaModule::load(**context, one.artifact);
    REQUIRE(module.ok());
    CHECK((*module)->image() == &one.images[1]);
    CHECK(fake.calls["moduleLoadDataEx"] == 1);
  }
  fake.failCall("moduleLoadDataEx", 1, result::noBinaryForGpu);
  {
    auto module = CudaModule::load(**context, one.artifact);
    REQUIRE(module.ok());
    CHECK((*module)->image() == &one.images[0]);
    CHECK(fake.calls["moduleLoadDataEx"] == 3);
  }
  // If the driver takes neither, both reasons are told.
  OneKernel broken;
  broken.text = "(";
  broken.image(SINTER_IMAGE_CUBIN, 90);
  fake.failCall("moduleLoadDataEx", 1, result::noBinaryForGpu);
  Status refused = CudaModule::load(**context, broken.artifact).status();
  checkLine(refused, SINTER_DEVICE_FAILED, "cubin for sm_90: CUDA_ERROR_209");
  checkLine(refused, SINTER_DEVICE_FAILED, "PTX for sm_80: CUDA_ERROR_218");
  // If memory is lacking, the PTX is not tried.
  fake.failCall("moduleLoadDataEx", 1, result::outOfMemory);
  checkLine(CudaModule::load(**context, one.artifact).status(),
            SINTER_OUT_OF_MEMORY, "cubin for sm_90");
  CHECK(fake.violations.empty());
}

TEST_CASE("cuda: kernels that wait begin early where the image waits",
          "[cuda]") {
  // Whether a launch in a graph of `device` is early.
  auto isEarly = [](OneKernel &one, FakeDevice properties, int version,
                    DeviceOptions options) {
    FakeDriver fake({properties});
    fake.version = version;
    fake.kernels["twice"] = [](void **) {};
    {
      auto device = makeDevice(fake, options);
      auto module = device->loadKernels(one.artifact);
      REQUIRE(module.ok());
      auto stream = device->createStream();
      void *buffers[] = {nullptr, nullptr};
      if (device->hasGraphs())
        REQUIRE(device->beginCapture(**stream).ok());
      REQUIRE(device->launch(**stream, **module, 0, buffers, 1).ok());
      if (device->hasGraphs()) {
        auto graph = device->endCapture(**stream);
        REQUIRE(graph.ok());
        REQUIRE(device->start(**stream, **graph).ok());
      }
      REQUIRE(device->synchronize(**stream).ok());
    }
    CHECK(fake.violations.empty());
    REQUIRE(fake.launches.size() == 1);
    CHECK(fake.launches[0].grid[0] == 8);
    CHECK(fake.launches[0].block[0] == 32);
    return fake.launches[0].isEarly;
  };
  const FakeDevice hopper, ampere{"A100", 8, 0, uint64_t(1) << 32};
  DeviceOptions sync;
  sync.syncLaunches = true;
  OneKernel plain, waiting, old;
  for (OneKernel *one : {&plain, &waiting})
    one->image(SINTER_IMAGE_PTX, 90);
  waiting.kernel.flags = old.kernel.flags = SINTER_KERNEL_WAITS;
  CHECK(isEarly(waiting, hopper, 13000, {}));
  CHECK_FALSE(isEarly(plain, hopper, 13000, {}));
  CHECK_FALSE(isEarly(old, hopper, 13000, {})); // runs PTX for sm_80
  CHECK_FALSE(isEarly(waiting, ampere, 13000, {}));
  CHECK_FALSE(isEarly(waiting, hopper, 12020, {}));
  CHECK_FALSE(isEarly(waiting, hopper, 13000, sync));
  setenv("SINTER_DEBUG", "serial-launches", 1);
  CHECK_FALSE(isEarly(waiting, hopper, 13000, {}));
  setenv("SINTER_DEBUG", "serial", 1);
  FakeDriver fake;
  checkLine(
      createCudaDevice(fake.table(), 0, {}).status(), SINTER_INVALID,
      "'serial' is not fresh-weights, separate-slices or serial-launches");
  unsetenv("SINTER_DEBUG");
}

TEST_CASE("cuda: kernels that cannot be loaded or launched are named",
          "[cuda]") {
  FakeDriver fake;
  auto device = makeDevice(fake);
  OneKernel good;
  CHECK(device->loadKernels(good.artifact).ok());
  CHECK(fake.numFunctionAttributes == 0);
  OneKernel large;
  large.kernel.sharedBytes = 100000;
  CHECK(device->loadKernels(large.artifact).ok());
  CHECK(fake.numFunctionAttributes == 1);
  // More than the device has beside 48 KiB of static memory: it gets less.
  large.kernel.sharedBytes = 300000;
  fake.kernels["twice"] = [](void **) {};
  {
    auto module = device->loadKernels(large.artifact);
    REQUIRE(module.ok());
    CHECK(fake.numFunctionAttributes == 2);
    auto stream = device->createStream();
    void *buffers[] = {nullptr, nullptr};
    REQUIRE(device->launch(**stream, **module, 0, buffers, 1).ok());
    REQUIRE(device->synchronize(**stream).ok());
    CHECK(fake.launches.back().sharedBytes == 232448 - 49152);
  }
  OneKernel wide;
  wide.kernel.block[1] = 64;
  checkLine(device->loadKernels(wide.artifact).status(), SINTER_DEVICE_FAILED,
            "at most 1024 threads");
  OneKernel high;
  high.kernel.grid[1] = 70000;
  checkLine(device->loadKernels(high.artifact).status(), SINTER_DEVICE_FAILED,
            "dimension 1 is too large");
  OneKernel absent;
  absent.kernel.name = "thrice";
  checkLine(device->loadKernels(absent.artifact).status(), SINTER_DEVICE_FAILED,
            "lack thrice");
  fake.jitLog = "\nptxas error : line 7: unknown symbol\nmore of it";
  fake.failCall("moduleLoadDataEx", 1, result::invalidPtx);
  Status refused = device->loadKernels(good.artifact).status();
  checkLine(refused, SINTER_DEVICE_FAILED, "PTX for sm_80: CUDA_ERROR_218");
  checkLine(refused, SINTER_DEVICE_FAILED, "line 7: unknown symbol");
  device.reset();
  CHECK(fake.numAlive() == 0);
  CHECK(fake.violations.empty());
}

TEST_CASE("cuda: a persistent kernel gets the blocks that run at once",
          "[cuda]") {
  FakeDriver fake;
  fake.kernels["twice"] = [](void **) {};
  auto device = makeDevice(fake);
  auto stream = std::move(*device->createStream());
  OneKernel one;
  one.kernel.flags = SINTER_KERNEL_PERSISTENT;
  void *buffers[2] = {};
  auto launch = [&](uint32_t grid, unsigned perMultiprocessor) {
    one.kernel.grid[0] = grid;
    fake.blocksPerMultiprocessor = perMultiprocessor;
    auto kernels = device->loadKernels(one.artifact);
    INFO(kernels.status().message());
    REQUIRE(kernels.ok());
    CHECK(device->launch(*stream, **kernels, 0, buffers, 1).ok());
    CHECK(device->synchronize(*stream).ok());
    CHECK(fake.launches.back().isCooperative);
    return fake.launches.back().grid[0];
  };
  CHECK(launch(1000, 1) == 132);
  CHECK(launch(1000, 4) == 264); // no more than two on a multiprocessor
  CHECK(launch(100, 4) == 100);  // no more than are useful
  fake.blocksPerMultiprocessor = 0;
  checkLine(device->loadKernels(one.artifact).status(), SINTER_DEVICE_FAILED,
            "kernel twice (grid 100x1x1, block 32x1x1, 0 bytes of shared "
            "memory): a multiprocessor cannot run one of its blocks");
}

TEST_CASE("cuda: a GPU without cooperative launches refuses persistent kernels",
          "[cuda]") {
  FakeDevice without;
  without.hasCooperativeLaunch = false;
  FakeDriver fake({without});
  auto device = makeDevice(fake);
  OneKernel one;
  one.kernel.flags = SINTER_KERNEL_PERSISTENT;
  checkLine(device->loadKernels(one.artifact).status(), SINTER_DEVICE_FAILED,
            "all blocks must run at once, and it has no such launches");
}

TEST_CASE("cuda: the arena gives apart, aligned pieces and takes them back",
          "[cuda]") {
  FakeDriver fake;
  ContextHandle context = nullptr;
  fake.table().primaryCtxRetain(&context, 0);
  CurrentContext current(fake.table(), context);
  DeviceArena arena(fake.table(), "cuda:0", uint64_t(64) << 20, 0);
  struct Piece {
    DeviceAddress begin;
    uint64_t bytes;
  };
  std::vector<Piece> pieces;
  uint32_t random = 1;
  uint64_t used = 0;
  for (int i = 0; i < 4000; ++i) {
    random = random * 1664525u + 1013904223u;
    if (pieces.size() < 30 || random >> 31) {
      uint64_t bytes = 1 + (random >> 8) % 1500000;
      auto address = arena.allocate(bytes, "a piece");
      if (!address.ok()) {
        checkLine(address.status(), SINTER_OUT_OF_MEMORY, "a piece needs");
        continue;
      }
      CHECK(*address % DeviceArena::alignmentBytes == 0);
      for (const Piece &piece : pieces)
        REQUIRE((*address + bytes <= piece.begin ||
                 piece.begin + piece.bytes <= *address));
      pieces.push_back({*address, bytes});
      used += (bytes + 255) / 256 * 256;
    } else {
      size_t which = random % pieces.size();
      arena.free(pieces[which].begin);
      used -= (pieces[which].bytes + 255) / 256 * 256;
      pieces.erase(pieces.begin() + static_cast<long>(which));
    }
    REQUIRE(arena.usedBytes() == used);
    REQUIRE(used <= arena.limitBytes());
    REQUIRE(arena.heldBytes() == fake.deviceBytesHeld());
  }
  for (const Piece &piece : pieces)
    arena.free(piece.begin);
  CHECK(arena.usedBytes() == 0);
  CHECK(fake.deviceBytesHeld() == 0);
  CHECK(*arena.allocate(0, "nothing") == 0);
}

TEST_CASE("cuda: memory is limited, cleared, and its lack is told", "[cuda]") {
  FakeDriver fake;
  DeviceOptions options;
  options.memoryLimitBytes = uint64_t(10) << 20;
  auto device = makeDevice(fake, options);
  CHECK(device->availableBytes() == uint64_t(10) << 20);
  auto memory = device->allocate(uint64_t(4) << 20, "the arena");
  REQUIRE(memory.ok());
  auto *bytes = static_cast<uint8_t *>(*memory);
  CHECK(std::all_of(bytes, bytes + (4 << 20), [](uint8_t b) { return !b; }));
  checkLine(device->allocate(uint64_t(7) << 20, "the state").status(),
            SINTER_OUT_OF_MEMORY,
            "the state needs 7.0 MiB of cuda:0's memory, 6.0 MiB are left of "
            "10.0 MiB (the memory limit)");
  checkLine(device->allocate(UINT64_MAX - 3, "the state").status(),
            SINTER_OUT_OF_MEMORY, "the state needs");
  CHECK(device->allocate(uint64_t(6) << 20, "the state").ok());

  auto whole = makeDevice(fake);
  checkLine(whole->allocate(uint64_t(5) << 30, "the arena").status(),
            SINTER_OUT_OF_MEMORY, "(95 % of what was free)");
  fake.failCall("memAlloc", 1, result::outOfMemory);
  checkLine(whole->allocate(uint64_t(1) << 20, "the arena").status(),
            SINTER_OUT_OF_MEMORY, "another process may hold it");
  fake.failCall("memHostAlloc", 1, result::outOfMemory);
  checkLine(whole->allocateHost(100, "the inputs").status(),
            SINTER_OUT_OF_MEMORY,
            "no 100 bytes of pinned host memory for the inputs");
}

TEST_CASE("cuda: streams wait for events and copies cross devices", "[cuda]") {
  FakeDriver fake({FakeDevice(), FakeDevice()});
  auto first = makeDevice(fake, {}, 0), second = makeDevice(fake, {}, 1);
  auto a = first->createStream(), b = second->createStream();
  auto event = first->createEvent(EventUse::Order);
  auto from = first->allocate(4096, "a"), to = second->allocate(4096, "b");
  auto host = first->allocateHost(4096, "c"),
       back = first->allocateHost(4096, "d");
  std::memset(*host, 7, 4096);
  REQUIRE(first->upload(**a, *from, *host, 4096).ok());
  REQUIRE(first->fill(**a, static_cast<uint8_t *>(*from) + 1, 9, 1).ok());
  REQUIRE(first
              ->copy(**a, static_cast<uint8_t *>(*from) + 3,
                     static_cast<uint8_t *>(*from) + 1, 1)
              .ok());
  REQUIRE(first->record(**event, **a).ok());
  REQUIRE(second->wait(**b, **event).ok());
  REQUIRE(second->copyFromPeer(**b, *to, *first, *from, 4096).ok());
  REQUIRE(second->download(**b, *back, *to, 4096).ok());
  REQUIRE(second->synchronize(**b).ok());
  CHECK(std::memcmp(*back, "\7\11\7\11\7", 5) == 0);
  CHECK(fake.calls["ctxEnablePeerAccess"] == 1);
  // A copy past the end of an allocation is refused; the device remains usable.
  CHECK(
      !second
           ->download(**b, *back, static_cast<uint8_t *>(*to) + (2 << 20), 4096)
           .ok());
  CHECK(second->synchronize().ok());
  CHECK(fake.violations.size() == 1);
  fake.violations.clear();
  first->freeHost(*host);
  first->freeHost(*back);
  event->reset();
  a->reset();
  b->reset();
  first.reset();
  second.reset();
  CHECK(fake.numAlive() == 0);
  CHECK(fake.violations.empty());
}

TEST_CASE("cuda: the library is made when it is needed first", "[cuda]") {
  struct Nothing : Library {
    std::string version() const override { return "nothing 1.0"; }
    Result<std::unique_ptr<LibraryCall>> prepare(const sinter_command &,
                                                 const CallMeans &) override {
      return Status::invalid("nothing");
    }
  };
  FakeDriver fake;
  int made = 0;
  bool isInstalled = false;
  auto factory =
      [&](const std::string &device) -> Result<std::unique_ptr<Library>> {
    ++made;
    // The properties on which a choice of the library depends.
    CHECK(device.find("Fake H200, sm_90, 132 multiprocessors, driver ") == 0);
    ContextHandle current = nullptr;
    fake.table().ctxGetCurrent(&current);
    CHECK(current != nullptr);
    if (!isInstalled)
      return Status(SINTER_DEVICE_FAILED, "libnothing.so.1 is not installed");
    return std::unique_ptr<Library>(std::make_unique<Nothing>());
  };
  auto device = createCudaDevice(fake.table(), 0, DeviceOptions(), factory);
  REQUIRE(device.ok());
  CHECK(made == 0);
  checkLine((*device)->library().status(), SINTER_DEVICE_FAILED,
            "libnothing.so.1");
  isInstalled = true;
  Result<Library *> library = (*device)->library();
  REQUIRE(library.ok());
  CHECK((*library)->version() == "nothing 1.0");
  CHECK(*(*device)->library() == *library);
  CHECK(made == 2);
  checkLine(makeDevice(fake)->library().status(), SINTER_UNSUPPORTED,
            "device 'cuda:0' has no contraction library");
}

namespace {

/// A group whose calls must find the device's context current.
class ContextChecker final : public Communicator {
public:
  ContextChecker(const DriverTable &driver, std::vector<std::string> &calls)
      : Communicator(1, 2), driver_(driver), calls_(calls) {}
  ~ContextChecker() override { note("leave"); }
  void abort() override { note("abort"); }
  Status run(Stream &stream, const Collective &what, void *const *) override {
    note(stream.native() ? "run" : "run without a stream");
    CHECK(what.op == SINTER_ALL_GATHER);
    CHECK(what.elements.size() == 1);
    return {};
  }

private:
  void note(const std::string &call) {
    ContextHandle current = nullptr;
    (void)driver_.ctxGetCurrent(&current);
    calls_.push_back(current ? call : call + " without a context");
  }
  const DriverTable &driver_;
  std::vector<std::string> &calls_;
};

} // namespace

TEST_CASE("a group's calls are made with the device's context", "[cuda]") {
  FakeDriver fake;
  std::vector<std::string> calls;
  GroupFactory groups;
  groups.join =
      [&](const sinter_rank &rank) -> Result<std::unique_ptr<Communicator>> {
    CHECK(rank.rank == 1);
    return std::unique_ptr<Communicator>(
        std::make_unique<ContextChecker>(fake.table(), calls));
  };
  sinter_rank rank = {};
  rank.rank = 1;
  rank.replicas = 2;
  {
    auto device = createCudaDevice(fake.table(), 0, {}, nullptr, groups);
    REQUIRE(device.ok());
    auto stream = (*device)->createStream();
    REQUIRE(stream.ok());
    auto group = (*device)->joinGroup(rank);
    REQUIRE(group.ok());
    CHECK((*group)->rank() == 1);
    const uint64_t elements[] = {4};
    CHECK(
        (*group)
            ->run(**stream, {SINTER_ALL_GATHER, SINTER_F32, elements}, nullptr)
            .ok());
    (*group)->abort();
  }
  CHECK(calls == std::vector<std::string>{"run", "abort", "leave"});
  CHECK(fake.violations == std::vector<std::string>());
  checkLine(makeDevice(fake)->joinGroup(rank).status(), SINTER_UNSUPPORTED,
            "device 'cuda:0' cannot work with other replicas");
}
