//===- DeviceDataTest.cpp - runs on data that is on the device ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "TinyProgram.h"
#include "backends/cpu/device/CpuDevice.h"
#include "backends/cuda/device/CudaDevice.h"
#include "backends/cuda/device/GatherModule.h"
#include "runtime/exec/Program.h"
#include "test/runtime/FakeDriver.h"
#include "test/runtime/GatherOnHost.h"

#include <catch2/catch.hpp>

#include <cstring>

using namespace sinter;
using namespace sinter::rt;
using sinter::test::FakeDriver;

namespace {

constexpr int64_t numRows = 20;

/// The tiny training program on the stand-in GPU, and rows for it.
struct Tiny {
  explicit Tiny(const DeviceOptions &options = {}) {
    fake.kernels["tiny_step"] = [](void **p) { tiny::stepKernel(p, 0, 1); };
    fake.kernels["tiny_eval"] = [](void **p) { tiny::evalKernel(p, 0, 1); };
    fake.kernels[cuda::gatherKernelName] = test::gatherRowsKernel;
    auto device = cuda::createCudaDevice(fake.table(), 0, options);
    REQUIRE(device.ok());
    auto made = Program::create(tiny::cudaArtifact(), std::move(*device));
    INFO(made.status().message());
    REQUIRE(made.ok());
    program = std::move(*made);
    for (int64_t i = 0; i < numRows; ++i) {
      labels.push_back(i % 3);
      for (int64_t f = 0; f < tiny::features; ++f)
        x.push_back(static_cast<float>((i * 7 + f * 3) % 11) / 11);
    }
  }
  ~Tiny() {
    program.reset();
    CHECK(fake.violations.empty());
    CHECK(fake.numAlive() == 0);
  }
  void place(uint32_t mostRuns) {
    auto made = program->allocateData("step", {numRows, mostRuns, 1});
    INFO(made.status().message());
    REQUIRE(made.ok());
    data = *made;
    // In two parts.
    for (int64_t first : {int64_t(0), int64_t(13)}) {
      const void *inputs[] = {&x[size_t(first * tiny::features)],
                              &labels[size_t(first)]};
      REQUIRE(data->upload(first, first ? numRows - 13 : 13, inputs).ok());
    }
    const void *padding[] = {nullptr, &paddingLabel};
    REQUIRE(data->uploadPadding(padding).ok());
    REQUIRE(
        program->device().synchronize(*program->places().front().stream).ok());
  }
  static sinter_control control(int64_t step) {
    sinter_control control{};
    control.lr = 0.1f / static_cast<float>(step + 1);
    control.step = step;
    control.seed = 3;
    return control;
  }
  /// The row at position i of the batch of a step.
  static int64_t rowOf(int64_t step, int64_t i) {
    return (step * 5 + i * 3) % numRows;
  }
  /// Steps one by one on batches from the host.
  std::vector<float> runSteps(int64_t begin, int64_t end) {
    std::vector<float> losses;
    for (int64_t step = begin; step < end; ++step) {
      std::vector<float> batch;
      std::vector<int64_t> classes;
      for (int64_t i = 0; i < tiny::batch; ++i) {
        const auto row = static_cast<size_t>(rowOf(step, i));
        batch.insert(batch.end(), &x[row * tiny::features],
                     &x[row * tiny::features] + tiny::features);
        classes.push_back(labels[row]);
      }
      const void *inputs[] = {batch.data(), classes.data()};
      void *outputs[] = {&losses.emplace_back()};
      sinter_control block = control(step);
      REQUIRE(program->run("step", &block, inputs, outputs).ok());
    }
    return losses;
  }
  /// Begins a series; its losses are valid when it has been waited for.
  RunNumber beginSeries(int64_t begin, int64_t end, float *losses) {
    std::vector<sinter_control> controls;
    std::vector<int64_t> rows;
    std::vector<void *> outputs;
    for (int64_t step = begin; step < end; ++step) {
      controls.push_back(control(step));
      outputs.push_back(losses++);
      for (int64_t i = 0; i < tiny::batch; ++i)
        rows.push_back(rowOf(step, i));
    }
    auto number = program->beginSeries(controls, rows.data(), outputs.data());
    INFO(number.status().message());
    REQUIRE(number.ok());
    return *number;
  }
  std::vector<uint8_t> states() {
    std::vector<uint8_t> all;
    for (uint32_t i = 0; i < tiny::artifact().numStates; ++i) {
      const size_t begin = all.size();
      all.resize(begin + tiny::artifact().states[i].tensor.sizeBytes);
      REQUIRE(program->readState(i, all.data() + begin).ok());
    }
    return all;
  }

  FakeDriver fake;
  std::unique_ptr<Program> program;
  DeviceData *data = nullptr;
  std::vector<float> x;
  std::vector<int64_t> labels;
  int64_t paddingLabel = 2;
};

/// What steps on batches from the host give. There is one stand-in at a time.
struct Expected {
  std::vector<float> losses;
  std::vector<uint8_t> states;

  explicit Expected(int64_t steps) {
    Tiny host;
    losses = host.runSteps(0, steps);
    states = host.states();
  }
};

} // namespace

TEST_CASE("data on the device: series end like single runs", "[cuda]") {
  if (!cuda::gatherPtx())
    return; // built without clang
  const Expected expected(33);
  for (bool syncLaunches : {false, true}) {
    CAPTURE(syncLaunches);
    DeviceOptions options;
    options.syncLaunches = syncLaunches;
    Tiny tiny(options);
    tiny.place(4);
    std::vector<float> losses(33, -1);
    // Whole series, a single step, and an evaluation between them.
    int64_t step = 0;
    for (int64_t runs : {4, 4, 1, 4, 4, 4, 1, 1, 1, 1, 4, 4}) {
      tiny.beginSeries(step, step + runs, &losses[size_t(step)]);
      step += runs;
      if (step == 17) {
        float sums[4];
        void *outputs[] = {&sums[0], &sums[1], &sums[2], &sums[3]};
        const void *inputs[] = {tiny.x.data(), tiny.labels.data()};
        REQUIRE(tiny.program->run("eval", nullptr, inputs, outputs).ok());
        CHECK(sums[1] == tiny::batch);
      }
    }
    REQUIRE(step == 33);
    CHECK(tiny.states() == expected.states);
    CHECK(losses == expected.losses);
  }
}

TEST_CASE("data on the device: a series is one copy in, one graph, one wait",
          "[cuda]") {
  if (!cuda::gatherPtx())
    return;
  Tiny tiny;
  tiny.place(8);
  std::vector<float> losses(64);
  for (int64_t series = 0; series < 3; ++series)
    REQUIRE(tiny.program
                ->wait(tiny.beginSeries(8 * series, 8 * series + 8,
                                        &losses[size_t(8 * series)]))
                .ok());
  FakeDriver &fake = tiny.fake;
  fake.calls.clear();
  fake.launches.clear();
  fake.uploadedBytes = 0;
  REQUIRE(tiny.program->wait(tiny.beginSeries(24, 32, &losses[24])).ok());
  CHECK(fake.calls["memcpyHtoDAsync"] == 1);
  CHECK(fake.calls["graphLaunch"] == 1);
  CHECK(fake.calls["eventRecord"] == 2);
  CHECK(fake.calls["streamWaitEvent"] == 1);
  CHECK(fake.calls["eventSynchronize"] == 1);
  CHECK(fake.calls["launchKernel"] + fake.calls["memcpyDtoHAsync"] == 0);
  CHECK(fake.calls["graphInstantiate"] == 0);
  // A control block and 8 row numbers for each step, 256 bytes each.
  CHECK(fake.uploadedBytes == 8 * 512);
  // A gather and the step's kernel.
  CHECK(fake.launches.size() == 16);
  // A single step takes the same calls, with its row numbers or with its batch.
  auto calls = [&] {
    int count = 0;
    for (const auto &[call, times] : fake.calls)
      count += call.starts_with("ctx") ? 0 : times;
    return count;
  };
  CHECK(calls() == 6);
  tiny.beginSeries(32, 33, &losses[32]); // records graphs
  tiny.beginSeries(33, 34, &losses[33]);
  tiny.runSteps(34, 36);
  fake.calls.clear();
  fake.uploadedBytes = 0;
  REQUIRE(tiny.program->wait(tiny.beginSeries(36, 37, &losses[36])).ok());
  CHECK(calls() == 6);
  CHECK(fake.uploadedBytes == 512);
  fake.calls.clear();
  fake.uploadedBytes = 0;
  tiny.runSteps(37, 38);
  CHECK(calls() == 6);
  // A control block and two inputs, each in multiples of 256 bytes.
  CHECK(fake.uploadedBytes == 3 * 256);
}

TEST_CASE("data on the device: rows that pad have a row of their own",
          "[cuda]") {
  if (!cuda::gatherPtx())
    return;
  sinter_control control = Tiny::control(0);
  float expected = 0;
  std::vector<uint8_t> states;
  {
    Tiny host;
    std::vector<int64_t> classes;
    std::vector<float> batch;
    for (int64_t i = 0; i < tiny::batch; ++i) {
      classes.push_back(i < 5 ? host.labels[size_t(i)] : host.paddingLabel);
      const float *row = &host.x[size_t(std::min<int64_t>(i, 4) * 4)];
      batch.insert(batch.end(), row, row + 4);
    }
    void *outputs[] = {&expected};
    const void *inputs[] = {batch.data(), classes.data()};
    REQUIRE(host.program->run("step", &control, inputs, outputs).ok());
    states = host.states();
  }
  Tiny tiny;
  tiny.place(1);
  int64_t rows[tiny::batch];
  for (int64_t i = 0; i < tiny::batch; ++i)
    rows[i] = i < 5 ? i : ~int64_t(4);
  float loss = 0;
  void *outputs[] = {&loss};
  auto number = tiny.program->beginSeries({&control, 1}, rows, outputs);
  REQUIRE(number.ok());
  REQUIRE(tiny.program->wait(*number).ok());
  CHECK(loss == expected);
  CHECK(tiny.states() == states);
}

TEST_CASE("data on the device: replaced, freed and refused", "[cuda]") {
  if (!cuda::gatherPtx())
    return;
  const Expected expected(9);
  Tiny tiny;
  const uint64_t before = tiny.program->device().availableBytes();
  tiny.place(4);
  float losses[4];
  REQUIRE(tiny.program->wait(tiny.beginSeries(0, 4, losses)).ok());
  tiny.place(2);
  REQUIRE(tiny.program->wait(tiny.beginSeries(4, 6, losses)).ok());
  tiny.program->freeData();
  CHECK(tiny.program->device().availableBytes() == before);
  tiny.runSteps(6, 9);
  CHECK(tiny.states() == expected.states);

  CHECK(tiny.program->allocateData("nothing", {1, 1, {}}).status().code() ==
        SINTER_INVALID);
  auto large =
      tiny.program->allocateData("step", {int64_t(1) << 40, 1, {}}).status();
  CHECK(large.code() == SINTER_OUT_OF_MEMORY);
  CHECK(large.message().find("the training data") != std::string::npos);
  auto onCpu =
      Program::create(tiny::artifact(), std::move(*cpu::createCpuDevice(1)));
  REQUIRE(onCpu.ok());
  auto refused = (*onCpu)->allocateData("step", {1, 1, {}}).status();
  CHECK(refused.code() == SINTER_UNSUPPORTED);
  CHECK(refused.message() == "device 'cpu' has no memory of its own");
  CHECK(DeviceData::bytesOf(tiny::artifact().entries[0], 20) == 20 * 24);
  CHECK(DeviceData::bytesOf(tiny::artifact().entries[0], INT64_MAX) ==
        UINT64_MAX);
}
