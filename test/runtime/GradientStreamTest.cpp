//===- GradientStreamTest.cpp - a second compute stream on CUDA -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/device/CudaDevice.h"
#include "runtime/exec/Program.h"
#include "test/runtime/FakeDriver.h"
#include "test/runtime/OneCommand.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <numeric>

using namespace sinter;
using namespace sinter::rt;
using namespace sinter::cuda;
using sinter::test::FakeDevice;
using sinter::test::FakeDriver;

namespace {

constexpr int n = 300;
constexpr uint64_t bytes = n * sizeof(float);

float *floats(void *parameter) { return static_cast<float *>(parameter); }

/// Notes the scratch that calls are bound to; they compute nothing.
class NotingCall final : public LibraryCall {
public:
  explicit NotingCall(std::vector<uint8_t *> &scratch) : scratch_(scratch) {}
  uint64_t sharedBytes() const override { return 4096; }
  uint64_t perWorkerBytes() const override { return 0; }
  Status bind(const Scratch &scratch, int) override {
    scratch_.push_back(scratch.shared);
    return {};
  }
  Status run(void *const *, const CallContext &context) override {
    CHECK(context.stream);
    return {};
  }
  std::string description() const override { return "noting"; }

private:
  std::vector<uint8_t *> &scratch_;
};

class NotingLibrary final : public Library {
public:
  explicit NotingLibrary(std::vector<uint8_t *> &scratch) : scratch_(scratch) {}
  std::string version() const override { return "noting 1.0"; }
  Result<std::unique_ptr<LibraryCall>> prepare(const sinter_command &,
                                               const CallMeans &) override {
    return std::unique_ptr<LibraryCall>(std::make_unique<NotingCall>(scratch_));
  }

private:
  std::vector<uint8_t *> &scratch_;
};

/// compute: a = 2 x;      b = a + 1;      b = b + 1;   | y = b
/// gradient:        [a] w = w + a[0]; w = w + 1;
struct Sample {
  int64_t dims[1] = {n}, one[1] = {1};
  sinter_tensor_desc input = {"x", dims, bytes, SINTER_F32, 1},
                     output = {"y", dims, bytes, SINTER_F32, 1};
  sinter_kernel_desc kernels[3] = {
      {"twice", nullptr, nullptr, {1, 1, 1}, {256, 1, 1}, 0, 2},
      {"more", nullptr, nullptr, {1, 1, 1}, {256, 1, 1}, 0, 2},
      {"sum", nullptr, nullptr, {1, 1, 1}, {32, 1, 1}, 0, 3}};
  std::string ptx = ".version 7.8\n"
                    ".entry twice(.param .u64 x, .param .u64 y)\n"
                    ".entry more(.param .u64 x, .param .u64 y)\n"
                    ".entry sum(.param .u64 x, .param .u64 w, .param .u64 v)\n";
  sinter_image image{SINTER_IMAGE_PTX, 90, nullptr, 0};
  sinter_state_desc state = {};
  sinter_slice twice[2] = {{SINTER_SPACE_INPUT, 0, 0, bytes},
                           {SINTER_SPACE_ARENA, 0, 0, bytes}};
  sinter_slice more[2] = {{SINTER_SPACE_ARENA, 0, 0, bytes},
                          {SINTER_SPACE_ARENA, 0, 1216, bytes}};
  sinter_slice again[2] = {{SINTER_SPACE_ARENA, 0, 1216, bytes},
                           {SINTER_SPACE_OUTPUT, 0, 0, bytes}};
  sinter_slice sum[3] = {{SINTER_SPACE_ARENA, 0, 0, bytes},
                         {SINTER_SPACE_STATE, 0, 0, 4},
                         {SINTER_SPACE_STATE, 0, 0, 4}};
  sinter_slice next[2] = {{SINTER_SPACE_STATE, 0, 0, 4},
                          {SINTER_SPACE_STATE, 0, 0, 4}};
  sinter_slice product[3] = {{SINTER_SPACE_INPUT, 0, 0, bytes},
                             {SINTER_SPACE_STATE, 0, 0, 4},
                             {SINTER_SPACE_ARENA, 0, 2432, bytes}};
  sinter_matmul params{};
  static constexpr uint32_t side = SINTER_STREAM_GRADIENT;
  sinter_command commands[8] = {
      {SINTER_CMD_LAUNCH, 0, 0, 2, 1, 0, twice, "a", {{1, 0, 0}}},
      {SINTER_CMD_RECORD, 0, 0, 0, 0, 0, nullptr, "", {}},
      {SINTER_CMD_WAIT, 0, side, 0, 0, 0, nullptr, "", {}},
      {SINTER_CMD_LAUNCH, 0, side, 3, 2, 0, sum, "w", {{1, 2, 0}}},
      {SINTER_CMD_LAUNCH, 0, 0, 2, 1, 0, more, "b", {{1, 1, 0}}},
      {SINTER_CMD_LAUNCH, 0, side, 2, 1, 0, next, "v", {{1, 1, 0}}},
      {SINTER_CMD_LAUNCH, 0, 0, 2, 1, 0, again, "y", {{1, 1, 0}}},
      {}};
  sinter_entry entry{"main", &input, &output, commands, 1, 1, 7, 0, 4096, 0, 0};
  sinter_artifact artifact = sinter::test::OneCommand::emptyArtifact();

  Sample() {
    for (sinter_kernel_desc &kernel : kernels)
      kernel.flags = SINTER_KERNEL_WAITS;
    state.tensor = {"w", one, 4, SINTER_F32, 1};
    state.role = SINTER_STATE_PARAM;
    state.initOffsetBytes = UINT64_MAX;
    image.bytes = reinterpret_cast<const uint8_t *>(ptx.c_str());
    image.sizeBytes = ptx.size() + 1;
    artifact.target = "cuda";
    artifact.states = &state;
    artifact.numStates = 1;
    artifact.stateBytes = 64;
    artifact.kernels = kernels;
    artifact.numKernels = 3;
    artifact.images = &image;
    artifact.numImages = 1;
    artifact.entries = &entry;
    artifact.numEntries = 1;
    params.dtype = params.outDtype = SINTER_F32;
    params.m = n;
    params.n = params.k = 1;
    params.aStrideM = params.aStrideK = 1;
    params.bStrideK = params.bStrideN = 1;
    params.cStrideM = params.cStrideN = 1;
  }

  void teach(FakeDriver &fake) const {
    fake.kernels["twice"] = [](void **p) {
      for (int i = 0; i < n; ++i)
        floats(p[1])[i] = 2 * floats(p[0])[i];
    };
    // Of the state, only one element.
    fake.kernels["more"] = [](void **p) {
      for (int i = 0; i < (floats(p[0]) == floats(p[1]) ? 1 : n); ++i)
        floats(p[1])[i] = floats(p[0])[i] + 1;
    };
    fake.kernels["sum"] = [](void **p) {
      floats(p[2])[0] = floats(p[1])[0] + floats(p[0])[0];
    };
  }
};

FakeDevice hopper() {
  FakeDevice device;
  device.major = 9;
  return device;
}

} // namespace

TEST_CASE("gradient stream: a step is one graph, with a branch", "[cuda]") {
  FakeDriver fake({hopper()});
  fake.version = 13000;
  Sample sample;
  sample.teach(fake);
  auto device = createCudaDevice(fake.table(), 0, {});
  REQUIRE(device.ok());
  auto program = Program::create(sample.artifact, std::move(*device));
  INFO(program.status().message());
  REQUIRE(program.ok());
  float x[n], y[n];
  std::iota(x, x + n, 1.0f);
  const void *inputs[] = {x};
  void *outputs[] = {y};
  for (int step = 0; step < 5; ++step) {
    fake.launches.clear();
    REQUIRE((*program)->run("main", nullptr, inputs, outputs).ok());
    CHECK(y[0] == 4);
    CHECK(y[n - 1] == 2 * n + 2);
    float w = 0;
    REQUIRE((*program)->readState(0, &w).ok());
    CHECK(w == 3.0f * static_cast<float>(step + 1));
    REQUIRE(fake.launches.size() == 5);
    for (const FakeDriver::LaunchRecord &launch : fake.launches) {
      CHECK(launch.fromGraph == (step > 0));
      // What follows a wait for the other stream begins after all of it.
      if (launch.kernel == "sum")
        CHECK_FALSE(launch.isEarly);
      if (launch.kernel == "more")
        CHECK(launch.isEarly);
    }
  }
  program->reset();
  CHECK(fake.numAlive() == 0);
  CHECK(fake.violations == std::vector<std::string>());
}

TEST_CASE("gradient stream: calls on two streams share no scratch", "[cuda]") {
  FakeDriver fake({hopper()});
  Sample sample;
  sample.teach(fake);
  sinter_command call = test::callOf(&sample.params);
  call.slices = sample.product;
  call.numSlices = 3;
  call.numReads = 2;
  // Two on the compute stream, and one on the other.
  sample.commands[4] = sample.commands[6] = call;
  // Commands with the same parameters may share a call.
  const sinter_matmul other = sample.params;
  sample.commands[6].matmul.params = &other;
  call.stream = Sample::side;
  sample.commands[5] = call;
  std::vector<uint8_t *> scratch;
  auto device = createCudaDevice(
      fake.table(), 0, {},
      [&](const std::string &) -> Result<std::unique_ptr<Library>> {
        return std::unique_ptr<Library>(
            std::make_unique<NotingLibrary>(scratch));
      });
  REQUIRE(device.ok());
  auto program = Program::create(sample.artifact, std::move(*device));
  INFO(program.status().message());
  REQUIRE(program.ok());
  REQUIRE(scratch.size() == 3);
  CHECK(scratch[0] == scratch[1]);
  CHECK(std::abs(scratch[2] - scratch[0]) >= 4096);
  program->reset();
  CHECK(fake.violations == std::vector<std::string>());
}

TEST_CASE("gradient stream: a profile runs all on one stream", "[cuda]") {
  FakeDriver fake({hopper()});
  Sample sample;
  sample.teach(fake);
  auto device = createCudaDevice(fake.table(), 0, {});
  REQUIRE(device.ok());
  auto program = Program::create(sample.artifact, std::move(*device));
  REQUIRE(program.ok());
  float x[n] = {}, y[n];
  const void *inputs[] = {x};
  void *outputs[] = {y};
  struct Times final : ProfileSink {
    uint64_t totalNs = 0;
    uint32_t commands = 0;
    void record(const sinter_entry &, uint32_t, uint64_t,
                uint64_t ns) override {
      totalNs += ns;
      ++commands;
    }
  } times;
  (*program)->setProfileSink(&times);
  REQUIRE((*program)->run("main", nullptr, inputs, outputs).ok());
  CHECK(times.commands == 7);
  CHECK(times.totalNs > 0);
  program->reset();
  CHECK(fake.violations == std::vector<std::string>());
}
