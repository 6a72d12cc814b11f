//===- CallScratchTest.cpp - scratch memory of library calls --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/OneCommand.h"

using namespace sinter;
using namespace sinter::test;

namespace {

/// A depthwise 5x5 convolution; its filter gradient sums parts in scratch
/// memory.
sinter_conv depthwise(uint32_t direction) {
  sinter_conv p{};
  p.direction = direction;
  p.dtype = SINTER_F32;
  p.layout = p.filterLayout = SINTER_CHANNELS_FIRST;
  p.spatialRank = 2;
  p.batch = 6;
  p.channels = p.filters = p.groups = 24;
  for (int i = 0; i < 2; ++i) {
    p.inputDims[i] = p.outputDims[i] = 14;
    p.kernel[i] = 5;
    p.strides[i] = p.dilations[i] = 1;
    p.padsLow[i] = p.padsHigh[i] = 2;
  }
  return p;
}

struct Ran {
  std::vector<float> result;
  std::string description;
  uint64_t scratchBytes;
  rt::Status status;
};

Ran runFilterGrad(int threads, uint64_t workspaceBytes) {
  sinter_conv p = depthwise(SINTER_CONV_FILTER_GRAD);
  const int64_t points = p.batch * p.channels * 14 * 14;
  OneCommand command(callOf(&p));
  command.operand(someValues(points, 1));
  command.operand(someValues(points, 2));
  command.workspaceBytes = workspaceBytes;
  std::vector<float> result(24 * 25, -1);
  command.run(threads, result);
  return {result, command.description, command.scratchBytes, command.status};
}

} // namespace

TEST_CASE("scratch: fewer threads run what takes too much on all",
          "[scratch]") {
  const uint64_t plenty = 64u << 20;
  Ran one = runFilterGrad(1, plenty), three = runFilterGrad(3, plenty);
  REQUIRE(one.status.ok());
  REQUIRE(three.scratchBytes > one.scratchBytes);
  CHECK(sameBits(one.result, three.result));
  CHECK(three.description.find("for want of scratch") == std::string::npos);
  const uint64_t perThread = (three.scratchBytes - one.scratchBytes) / 2;

  for (auto [workspaceBytes, taken, words] :
       {std::tuple{three.scratchBytes, three.scratchBytes, ""},
        {three.scratchBytes - 1, three.scratchBytes - perThread,
         ", 2 threads for want of scratch"},
        {one.scratchBytes + 1, one.scratchBytes,
         ", 1 thread for want of scratch"},
        {one.scratchBytes, one.scratchBytes,
         ", 1 thread for want of scratch"}}) {
    CAPTURE(workspaceBytes);
    Ran limited = runFilterGrad(3, workspaceBytes);
    REQUIRE(limited.status.ok());
    CHECK(limited.scratchBytes == taken);
    CHECK(limited.description == three.description + words);
    CHECK(sameBits(limited.result, one.result));
  }
}

TEST_CASE("scratch: a product whose panels do not fit is computed otherwise",
          "[scratch]") {
  sinter_matmul p{};
  p.dtype = p.outDtype = SINTER_F32;
  p.m = 256;
  p.n = 512;
  p.k = 320;
  p.aStrideM = p.k;
  p.bStrideK = p.cStrideM = p.n;
  p.aStrideK = p.bStrideN = p.cStrideN = 1;
  uint64_t taken = 0;
  auto run = [&](uint64_t workspaceBytes) {
    OneCommand command(callOf(&p));
    command.operand(someValues(p.m * p.k, 1));
    command.operand(someValues(p.k * p.n, 2));
    command.workspaceBytes = workspaceBytes;
    std::vector<float> result(static_cast<size_t>(p.m * p.n));
    command.run(2, result);
    INFO(command.status.message());
    REQUIRE(command.status.ok());
    taken = command.scratchBytes;
    return result;
  };
  const uint64_t panelBytes = 4 * static_cast<uint64_t>(p.k) * 32;
  std::vector<float> packed = run(64u << 20);
  CHECK(taken >= panelBytes);
  std::vector<float> direct = run(panelBytes - 1);
  CHECK(taken < panelBytes);
  double worst = 0;
  for (size_t i = 0; i < packed.size(); ++i)
    worst = std::max(worst, std::abs(double(packed[i]) - direct[i]));
  CHECK(worst <= 320 * 1e-7);
}

TEST_CASE("scratch: what takes too much on one thread is refused",
          "[scratch]") {
  const uint64_t least = runFilterGrad(1, 64u << 20).scratchBytes;
  for (uint64_t workspaceBytes : {least - 1, uint64_t(0)})
    for (int threads : {1, 3}) {
      CAPTURE(workspaceBytes, threads);
      Ran refused = runFilterGrad(threads, workspaceBytes);
      CHECK(refused.status.code() == SINTER_OUT_OF_MEMORY);
      CHECK(refused.status.message() ==
            "node: takes " + std::to_string(least) +
                " bytes of scratch on one thread, more than the " +
                std::to_string(workspaceBytes) +
                " that library calls were promised; compile the program with "
                "--workspace=" +
                std::to_string(least));
      CHECK(refused.result == std::vector<float>(24 * 25, -1));
    }
}
