//===- ExecutorTest.cpp - hand-written programs through the C interface ---===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/OneCommand.h"

#include "sinter/kernel.h"
#include "sinter/sinter.h"

#include <atomic>
#include <thread>

using namespace sinter;
using namespace sinter::rt;

namespace {

/// Tile t: y[t] = 2 * x[t] + step, for rows of 4.
void scaleKernel(void *const *buffers, int64_t begin, int64_t end) {
  const auto *x = static_cast<const float *>(buffers[0]);
  const auto *step = static_cast<const int64_t *>(buffers[1]);
  auto *y = static_cast<float *>(buffers[2]);
  for (int64_t i = 4 * begin; i < 4 * end; ++i)
    y[i] = 2 * x[i] + static_cast<float>(*step);
}

/// One tile: count += 1, in place.
void countKernel(void *const *buffers, int64_t, int64_t) {
  static_cast<float *>(buffers[1])[0] =
      static_cast<const float *>(buffers[0])[0] + 1;
}

void rowsKernel(void *const *buffers, int64_t, int64_t) {
  *static_cast<int64_t *>(buffers[1]) =
      *static_cast<const int64_t *>(buffers[0]);
}

std::atomic<bool> isInKernel{false}, mayGoOn{false};

/// countKernel that waits in between; only the first call does.
void waitingKernel(void *const *buffers, int64_t begin, int64_t end) {
  bool isFirst = !isInKernel.exchange(true);
  while (isFirst && !mayGoOn)
    std::this_thread::yield();
  countKernel(buffers, begin, end);
}

/// main: arena = 2 x + step; y = arena * W + b; count += 1; copy = count;
/// rows = control.validRows.
struct Sample {
  int64_t xDims[2] = {3, 4}, yDims[2] = {3, 2}, wDims[2] = {4, 2}, one = 1;
  sinter_tensor_desc input{"x", xDims, 48, SINTER_F32, 2};
  sinter_tensor_desc outputs[3] = {{"y", yDims, 24, SINTER_F32, 2},
                                   {"copy", nullptr, 4, SINTER_F32, 0},
                                   {"rows", &one, 8, SINTER_I64, 1}};
  sinter_kernel_desc kernels[3] = {
      {"scale", scaleKernel, nullptr, {}, {}, 0, 3},
      {"count", countKernel, nullptr, {}, {}, 0, 2},
      {"rows", rowsKernel, nullptr, {}, {}, 0, 2}};
  sinter_state_desc states[2] = {};
  sinter_slice scale[3] = {{SINTER_SPACE_INPUT, 0, 0, 48},
                           {SINTER_SPACE_CONTROL, 0, 16, 8},
                           {SINTER_SPACE_ARENA, 0, 64, 48}};
  sinter_slice product[4] = {{SINTER_SPACE_ARENA, 0, 64, 48},
                             {SINTER_SPACE_STATE, 0, 0, 32},
                             {SINTER_SPACE_CONSTANT, 0, 64, 8},
                             {SINTER_SPACE_OUTPUT, 0, 0, 24}};
  sinter_slice count[2] = {{SINTER_SPACE_STATE, 1, 0, 4},
                           {SINTER_SPACE_STATE, 1, 0, 4}};
  sinter_slice copy[2] = {{SINTER_SPACE_STATE, 1, 0, 4},
                          {SINTER_SPACE_OUTPUT, 1, 0, 4}};
  sinter_slice fill{SINTER_SPACE_ARENA, 0, 0, 112};
  sinter_slice rows[2] = {{SINTER_SPACE_CONTROL, 0, 32, 8},
                          {SINTER_SPACE_OUTPUT, 2, 0, 8}};
  sinter_matmul matmul{};
  sinter_command commands[6] = {};
  sinter_entry entry{};
  struct alignas(64) {
    float weights[16] = {1, 2, 3, 4, 5, 6, 7, 8};
    float bias[2] = {100, 200};
  } constants;
  sinter_artifact artifact = test::OneCommand::emptyArtifact();

  Sample() {
    states[0].tensor = {"w", wDims, 32, SINTER_F32, 2};
    states[0].role = SINTER_STATE_PARAM;
    states[1].tensor = {"count", nullptr, 4, SINTER_F32, 0};
    states[1].role = SINTER_STATE_BUFFER;
    states[1].offsetBytes = 64;
    states[1].initOffsetBytes = UINT64_MAX;
    matmul.dtype = matmul.outDtype = SINTER_F32;
    matmul.m = 3;
    matmul.n = 2;
    matmul.k = 4;
    matmul.aStrideM = 4;
    matmul.bStrideK = matmul.cStrideM = 2;
    matmul.aStrideK = matmul.bStrideN = matmul.cStrideN = 1;
    matmul.numPostOps = 1;
    matmul.postOps[0] = {SINTER_POST_BIAS, 2, 0, 0};
    command(0, SINTER_CMD_FILL, &fill, 1, 0);
    command(1, SINTER_CMD_LAUNCH, scale, 3, 2);
    commands[1].launch.tiles = 3;
    command(2, SINTER_CMD_MATMUL, product, 4, 3);
    commands[2].matmul.params = &matmul;
    command(3, SINTER_CMD_LAUNCH, count, 2, 1);
    commands[3].launch = {1, 1, 0};
    command(4, SINTER_CMD_COPY, copy, 2, 1);
    command(5, SINTER_CMD_LAUNCH, rows, 2, 1);
    commands[5].launch = {1, 2, 0};
    entry.name = "main";
    entry.inputs = &input;
    entry.outputs = outputs;
    entry.commands = commands;
    entry.numInputs = 1;
    entry.numOutputs = 3;
    entry.numCommands = 6;
    entry.arenaBytes = 112;
    artifact.states = states;
    artifact.numStates = 2;
    artifact.stateBytes = 128;
    artifact.kernels = kernels;
    artifact.numKernels = 3;
    artifact.entries = &entry;
    artifact.numEntries = 1;
    artifact.constants = reinterpret_cast<const uint8_t *>(&constants);
    artifact.constantsBytes = sizeof(constants);
  }

  void command(int i, uint32_t kind, const sinter_slice *slices, uint32_t count,
               uint32_t reads) {
    commands[i].kind = kind;
    commands[i].slices = slices;
    commands[i].numSlices = count;
    commands[i].numReads = reads;
    commands[i].label = "node";
  }
};

struct Handle {
  sinter_program *program = nullptr;
  ~Handle() { sinter_program_destroy(program); }
};

} // namespace

TEST_CASE("program: a hand-written artifact runs", "[program]") {
  Sample sample;
  for (int threads : {0, 1, 2, 3}) {
    Handle handle;
    REQUIRE(sinter_program_create(&sample.artifact, nullptr, threads,
                                  &handle.program) == SINTER_OK);
    REQUIRE(sinter_program_artifact(handle.program) == &sample.artifact);
    auto *weights =
        static_cast<float *>(sinter_program_state(handle.program, 0));
    auto *count = static_cast<float *>(sinter_program_state(handle.program, 1));
    REQUIRE(weights[7] == 8);
    REQUIRE(count[0] == 0);
    REQUIRE(sinter_program_state(handle.program, 2) == nullptr);

    float x[12], y[6], copy;
    int64_t rows;
    for (int i = 0; i < 12; ++i)
      x[i] = static_cast<float>(i);
    const void *inputs[] = {x};
    void *outputs[] = {y, &copy, &rows};
    for (int run = 1; run <= 3; ++run) {
      sinter_control control{};
      control.step = run;
      control.validRows = 7;
      weights[0] = static_cast<float>(run); // the host may change states
      REQUIRE(sinter_program_run(handle.program, "main",
                                 run == 3 ? nullptr : &control, inputs,
                                 outputs) == SINTER_OK);
      float step = run == 3 ? 0.0f : static_cast<float>(run);
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 2; ++j) {
          float expected = sample.constants.bias[j];
          for (int k = 0; k < 4; ++k)
            expected += (2 * x[4 * i + k] + step) * weights[2 * k + j];
          REQUIRE(y[2 * i + j] == expected);
        }
      REQUIRE(copy == static_cast<float>(run));
      REQUIRE(count[0] == copy);
      REQUIRE(rows == (run == 3 ? INT64_MAX : 7));
    }
  }
}

TEST_CASE("program: a second thread is told to wait", "[program]") {
  Sample sample;
  sample.kernels[1].cpu = waitingKernel;
  Handle handle;
  REQUIRE(sinter_program_create(&sample.artifact, nullptr, 1,
                                &handle.program) == SINTER_OK);
  float x[12] = {}, y[6], copy = 0, weights[8];
  int64_t rows;
  const void *inputs[] = {x};
  void *outputs[] = {y, &copy, &rows};
  sinter_status first = SINTER_FAILED;
  std::thread other([&] {
    first =
        sinter_program_run(handle.program, "main", nullptr, inputs, outputs);
  });
  while (!isInKernel)
    std::this_thread::yield();
  CHECK(sinter_program_run(handle.program, "main", nullptr, inputs, outputs) ==
        SINTER_BUSY);
  CHECK(std::string(sinter_last_error()).find("another thread is using") == 0);
  CHECK(sinter_program_read_state(handle.program, 0, weights) == SINTER_BUSY);
  CHECK(sinter_program_write_state(handle.program, 0, weights) == SINTER_BUSY);
  CHECK(sinter_program_join(handle.program, nullptr) == SINTER_INVALID);
  mayGoOn = true;
  other.join();
  CHECK(first == SINTER_OK);
  CHECK(copy == 1);
  REQUIRE(sinter_program_run(handle.program, "main", nullptr, inputs,
                             outputs) == SINTER_OK);
  CHECK(copy == 2);
}

TEST_CASE("program: wrong calls are refused in one line", "[program]") {
  Sample sample;
  Handle handle;
  auto create = [&](const sinter_artifact *artifact, const char *device,
                    int32_t threads) {
    sinter_program *program = nullptr;
    sinter_status status =
        sinter_program_create(artifact, device, threads, &program);
    REQUIRE(program == nullptr);
    REQUIRE(std::string(sinter_last_error()).find('\n') == std::string::npos);
    return status;
  };
  REQUIRE(create(nullptr, "cpu", 1) == SINTER_INVALID);
  REQUIRE(create(&sample.artifact, "abacus", 1) == SINTER_INVALID);
  REQUIRE(std::string(sinter_last_error()) ==
          "there is no device 'abacus'; this binary has cpu, cuda:N");
  REQUIRE(create(&sample.artifact, "cuda:0", 1) == SINTER_INVALID);
  REQUIRE(std::string(sinter_last_error()) ==
          "the program was compiled for cpu; it cannot run on cuda:0");
  REQUIRE(create(&sample.artifact, "cpu:1", 1) == SINTER_INVALID);
  REQUIRE(create(&sample.artifact, "cpu", -1) == SINTER_INVALID);
  REQUIRE(create(&sample.artifact, "cpu", 1 << 20) == SINTER_INVALID);
  REQUIRE(sinter_program_create(&sample.artifact, "cpu", 1, nullptr) ==
          SINTER_INVALID);

  Sample foreign;
  foreign.artifact.magic = 7;
  REQUIRE(create(&foreign.artifact, "cpu", 1) == SINTER_INVALID);
  Sample newer;
  newer.artifact.major += 1;
  REQUIRE(create(&newer.artifact, "cpu", 1) == SINTER_INVALID);
  Sample outOfBounds;
  outOfBounds.scale[2].sizeBytes = 49;
  REQUIRE(create(&outOfBounds.artifact, "cpu", 1) == SINTER_INVALID);
  REQUIRE(std::string(sinter_last_error()).find("command 1 (node): slice 2") !=
          std::string::npos);
  Sample strange;
  strange.artifact.cpuFeatures = "+warp-drive";
  REQUIRE(create(&strange.artifact, "cpu", 1) == SINTER_DEVICE_FAILED);
  REQUIRE(std::string(sinter_last_error()).find("warp-drive") !=
          std::string::npos);
  Sample huge;
  huge.entry.arenaBytes = uint64_t(1) << 60;
  REQUIRE(create(&huge.artifact, "cpu", 1) == SINTER_OUT_OF_MEMORY);
  REQUIRE(std::string(sinter_last_error()).find("the arena") !=
          std::string::npos);
  Sample half;
  half.matmul.dtype = SINTER_F32;
  half.matmul.outDtype = SINTER_BF16;
  REQUIRE(create(&half.artifact, "cpu", 1) == SINTER_UNSUPPORTED);
  REQUIRE(std::string(sinter_last_error()).find("node: no CPU") == 0);

  REQUIRE(sinter_program_create(&sample.artifact, "cpu", 1, &handle.program) ==
          SINTER_OK);
  float x[12] = {}, y[6], copy;
  int64_t rows;
  const void *inputs[] = {x}, *noInputs[] = {nullptr};
  void *outputs[] = {y, &copy, &rows}, *fewOutputs[] = {y, nullptr, &rows};
  auto run = [&](const char *entry, const void *const *in, void *const *out) {
    return sinter_program_run(handle.program, entry, nullptr, in, out);
  };
  REQUIRE(run("step", inputs, outputs) == SINTER_INVALID);
  REQUIRE(std::string(sinter_last_error()) ==
          "the program has no entry 'step'; it has main");
  REQUIRE(run(nullptr, inputs, outputs) == SINTER_INVALID);
  REQUIRE(run("main", nullptr, outputs) == SINTER_INVALID);
  REQUIRE(run("main", noInputs, outputs) == SINTER_INVALID);
  REQUIRE(std::string(sinter_last_error()) ==
          "entry 'main': input 'x' has no address");
  REQUIRE(run("main", inputs, fewOutputs) == SINTER_INVALID);
  REQUIRE(sinter_program_run(nullptr, "main", nullptr, inputs, outputs) ==
          SINTER_INVALID);
  sinter_program_destroy(nullptr);
  REQUIRE(sinter_program_artifact(nullptr) == nullptr);
  REQUIRE(sinter_program_state(nullptr, 0) == nullptr);
}

TEST_CASE("program: the profile names every command", "[program]") {
  struct Sink : ProfileSink {
    void record(const sinter_entry &entry, uint32_t index, uint64_t beginNs,
                uint64_t durationNs) override {
      REQUIRE(index == next++);
      REQUIRE(std::string(entry.name) == "main");
      REQUIRE(beginNs >= end);
      end = beginNs + durationNs;
    }
    uint32_t next = 0;
    uint64_t end = 0;
  };
  Sample sample;
  Handle handle;
  REQUIRE(sinter_program_create(&sample.artifact, "cpu", 2, &handle.program) ==
          SINTER_OK);
  Sink sink;
  handle.program->program->setProfileSink(&sink);
  float x[12] = {}, y[6], copy;
  int64_t rows;
  const void *inputs[] = {x};
  void *outputs[] = {y, &copy, &rows};
  REQUIRE(sinter_program_run(handle.program, "main", nullptr, inputs,
                             outputs) == SINTER_OK);
  REQUIRE(sink.next == 6);
  handle.program->program->setProfileSink(nullptr);
  REQUIRE(sinter_program_run(handle.program, "main", nullptr, inputs,
                             outputs) == SINTER_OK);
  REQUIRE(sink.next == 6);
}

TEST_CASE("program: an artifact without work", "[program]") {
  sinter_entry entry{};
  entry.name = "main";
  sinter_artifact artifact = test::OneCommand::emptyArtifact();
  artifact.entries = &entry;
  artifact.numEntries = 1;
  Handle handle;
  REQUIRE(sinter_program_create(&artifact, "cpu", 1, &handle.program) ==
          SINTER_OK);
  REQUIRE(sinter_program_run(handle.program, "main", nullptr, nullptr,
                             nullptr) == SINTER_OK);
}
