//===- OneAttention.h - one attention and its gradients ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_BACKENDS_CUDA_ONEATTENTION_H
#define SINTER_TEST_BACKENDS_CUDA_ONEATTENTION_H

#include "backends/cuda/library/SdpaPlan.h"
#include "test/backends/cuda/Operand.h"

namespace sinter::test {

/// Attention and its gradients in double, for dense operands.
struct AttentionReference {
  std::vector<double> o, stats, dq, dk, dv;

  AttentionReference(const cuda::SdpaShape &shape, const std::vector<double> &q,
                     const std::vector<double> &k, const std::vector<double> &v,
                     const std::vector<double> &dO,
                     const std::vector<double> &mask);
};

/// Probabilities are rounded to 16 bits between the two products.
void compareAttention(const Operand &found, const std::vector<double> &expected,
                      const char *what, Comparison &comparison);

/// The two ATTENTION commands of a training step, of dense operands.
class OneAttention {
public:
  explicit OneAttention(const cuda::SdpaShape &shape);

  /// Query, key, value, the mask if there is one, statistics, output.
  std::vector<Operand> forward;
  /// Query, key, value, output, output's gradient, statistics, the mask; then
  /// the gradients of query, key and value. Made by runForward().
  std::vector<Operand> backward;

  Ran runForward(const CommandRunner &runner);
  void compareForward(Comparison &comparison) const;
  /// On what runForward() computed.
  Ran runBackward(const CommandRunner &runner);
  void compareBackward(Comparison &comparison) const;

private:
  AttentionReference reference() const;

  cuda::SdpaShape shape_;
  sinter_attention forwardParams_{}, backwardParams_{};
  Operand outputGrad_;
};

} // namespace sinter::test

#endif // SINTER_TEST_BACKENDS_CUDA_ONEATTENTION_H
