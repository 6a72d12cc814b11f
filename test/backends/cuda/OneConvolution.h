//===- OneConvolution.h - one convolution, for tests ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_BACKENDS_CUDA_ONECONVOLUTION_H
#define SINTER_TEST_BACKENDS_CUDA_ONECONVOLUTION_H

#include "test/backends/cuda/Operand.h"

namespace sinter::test {

struct ConvAxis {
  int64_t in, kernel, stride = 1, padLow = 0, padHigh = 0, dilation = 1;
};

/// A CONV command with its operands; channels first by default.
class OneConvolution {
public:
  OneConvolution(uint32_t dtype, uint32_t direction, int64_t batch,
                 int64_t channels, int64_t filters, int64_t groups,
                 const std::vector<ConvAxis> &axes);

  sinter_conv params{};

  OneConvolution &layout(uint32_t activations, uint32_t filter);
  OneConvolution &post(uint32_t kind, float alpha = 0, float beta = 0);

  /// Makes the operands. run() does so if it was not called.
  OneConvolution &build();
  std::vector<Operand> &operands() { return operands_; }
  Ran run(const CommandRunner &runner, bool onlyPrepare = false);
  /// Compares every element with sums in double, after run().
  void compare(Comparison &comparison) const;

  /// For tests: runs it on the simulated device's library and requires that
  /// every element is right. Returns what was chosen.
  std::string check();
  /// The failure of preparing it; empty when there is none.
  std::string refusal();

private:
  void compareSums(const sinter_post_op &op, Comparison &comparison) const;

  std::vector<Operand> operands_;
  uint32_t numReads_ = 0;
};

} // namespace sinter::test

#endif // SINTER_TEST_BACKENDS_CUDA_ONECONVOLUTION_H
