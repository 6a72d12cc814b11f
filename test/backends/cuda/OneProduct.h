//===- OneProduct.h - one matrix product, for tests -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_BACKENDS_CUDA_ONEPRODUCT_H
#define SINTER_TEST_BACKENDS_CUDA_ONEPRODUCT_H

#include "test/backends/cuda/Operand.h"

namespace sinter::test {

/// A MATMUL command with its operands. Values are kept in double; the command
/// gets them rounded to its dtypes.
class OneProduct {
public:
  /// Dense row-major operands: A m x k, B k x n, C m x n.
  OneProduct(uint32_t dtype, uint32_t outDtype, int64_t m, int64_t n,
             int64_t k);

  sinter_matmul params{};

  OneProduct &transposeA();
  OneProduct &transposeB();
  OneProduct &transposeC();
  /// One more outer batch dimension; strides in elements.
  OneProduct &batch(int64_t size, int64_t a, int64_t b, int64_t c);
  OneProduct &post(uint32_t kind, float alpha = 0, float beta = 0);

  /// The scratch that calls may use on the simulated device's library.
  OneProduct &workspace(uint64_t bytes);
  /// NaN must stay NaN (CallMeans), on the simulated device's library.
  OneProduct &keepNan();
  /// Puts NaN, infinity and huge numbers into A.
  OneProduct &poison();

  /// Makes the operands. run() does so if it was not called.
  OneProduct &build();
  /// In the order of the slices; the first numReads() are only read.
  std::vector<Operand> &operands() { return operands_; }
  const std::vector<Operand> &operands() const { return operands_; }
  uint32_t numReads() const { return numReads_; }
  Ran run(const CommandRunner &runner, bool onlyPrepare = false);
  /// Compares every element with sums in double, after run().
  void compare(Comparison &comparison) const;

  /// For tests: runs it on the simulated device's library and requires that
  /// every element is right. Returns what was chosen.
  std::string check();
  /// The same without the comparison.
  std::string run();
  /// The failure of preparing it; empty when there is none.
  std::string refusal();

private:
  int64_t extent(const int64_t *batchStrides, int64_t rows, int64_t rowStride,
                 int64_t cols, int64_t colStride) const;
  void compareSums(Comparison &comparison) const;

  std::vector<Operand> operands_; // in the order of the slices
  uint32_t numReads_ = 0;
  uint64_t workspaceBytes_ = 32u << 20;
  bool isPoisoned_ = false, keepsNan_ = false;
};

} // namespace sinter::test

#endif // SINTER_TEST_BACKENDS_CUDA_ONEPRODUCT_H
