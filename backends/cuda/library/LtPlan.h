//===- LtPlan.h - matrix products as cuBLASLt problems ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Pure arithmetic on a sinter_matmul, for both towers: the compiler asks what
// fits, the device what to call. cuBLASLt is column-major, so a row-major C = A
// B becomes the column-major C' = B' A' on the same bytes; its "A" is our B.
// What must stay true: a plan depends only on the sinter_matmul.
//
// The epilogue menu (alpha, C, bias, activation, in this order):
//   [scale] [add] [bias] [relu | gelu_tanh], add and bias in either order;
//   a clip to [0, inf] is a relu; erf GELU, sigmoid, tanh and swish do not
//   exist. Gradients: [store] gelu_tanh stores the GELU's operand, and
//   relu_bits a mask. relu_grad or gelu_tanh_grad, optionally with a bias_grad,
//   allow besides only the scale and the add. a_sum or b_sum allows no other
//   epilogue. The bias runs along the rows of the column-major result, our n.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_LTPLAN_H
#define SINTER_BACKENDS_CUDA_LIBRARY_LTPLAN_H

#include "backends/cuda/library/LtApi.h"
#include "sinter/abi.h"

#include <cstdint>
#include <string>

namespace sinter::cuda {

/// A column-major matrix, or several matrices `batchStride` elements apart.
struct LtLayout {
  int32_t type = lt::f32; // lt::DataType
  int64_t rows = 0, cols = 0, ld = 0, batchStride = 0;
};

inline constexpr uint32_t noSlice = SINTER_NONE;

/// Calls of cublasLtMatmul that compute D = epilogue(alpha op(A) op(B) + beta
/// C), one for each index of the loops. Their operands are `loopStrides`
/// elements apart.
struct LtPlan {
  /// If not empty: why the product cannot be expressed, in a few words.
  std::string refusal;
  /// The result has no elements, so there is nothing to call.
  bool empty = false;
  /// A scale after an addition or another scale is part of alpha and beta, so
  /// that steps are rounded in another order than the post-ops say.
  bool reorders = false;
  /// A GELU or its gradient in float32. The library's is an approximation: on
  /// an H100, cuBLASLt 13.1 gave -0.1588062 for the GELU of -1, which is
  /// -0.1588080.
  bool approximates = false;

  int computeType = 0;
  int32_t scaleType = 0; // of alpha and beta
  int32_t transA = lt::opN, transB = lt::opN;
  LtLayout a, b, d; // C has D's layout
  int64_t m = 0, n = 0, k = 0;
  int32_t batch = 1;
  double alpha = 1, beta = 0;

  uint32_t epilogue = lt::epilogueDefault;
  /// A, B and D are the operands; C is D if nothing is added.
  uint32_t aSlice = 0, bSlice = 1;
  uint32_t cSlice = noSlice, biasSlice = noSlice, auxSlice = noSlice;
  int64_t biasBatchStride = 0;
  int64_t auxLd = 0, auxBatchStride = 0; // elements; bits for relu

  /// Indices of operands in loopStrides.
  enum Operand { A, B, D, Bias, Aux, numOperands };
  int loopRank = 0;
  int64_t loop[SINTER_MAX_BATCH_DIMS + 2] = {};
  int64_t loopStrides[SINTER_MAX_BATCH_DIMS + 2][numOperands] = {};

  int64_t calls() const {
    int64_t count = 1;
    for (int i = 0; i < loopRank; ++i)
      count *= loop[i];
    return count;
  }

  static LtPlan make(const sinter_matmul &params);
};

/// Whether one call computes the product with all of its post-ops, in their
/// order and to the precision of its types. A target asks this before it fuses
/// another one. Does not allocate if the answer is yes.
inline bool productFits(const sinter_matmul &params) {
  LtPlan plan = LtPlan::make(params);
  return plan.refusal.empty() && !plan.reorders && !plan.approximates;
}

/// The number of bits per line of the mask that SINTER_POST_RELU_BITS writes.
inline int64_t reluBitsPerLine(int64_t n) { return (n + 127) / 128 * 128; }

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_LTPLAN_H
