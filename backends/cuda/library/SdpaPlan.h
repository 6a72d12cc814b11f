//===- SdpaPlan.h - attention as operation graphs of cuDNN ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Scaled dot-product attention, forward and backward, as composites whose
// pattern cuDNN 9's flash engines recognise (finalizeMode SDPA_FWD, SDPA_BWD).
// Pure arithmetic, only for 16-bit floats. Tensor sizes are {batch, heads,
// rows, columns}.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_SDPAPLAN_H
#define SINTER_BACKENDS_CUDA_LIBRARY_SDPAPLAN_H

#include "backends/cuda/library/DnnGraph.h"

#include <array>

namespace sinter::cuda {

/// Strides of batch, head and row, in elements; columns are adjacent.
using SdpaStrides = std::array<int64_t, 3>;

struct SdpaShape {
  uint32_t dtype = SINTER_BF16;
  int64_t batch = 1, heads = 1;
  int64_t queries = 1, keys = 1; // rows
  int64_t depth = 1;             // columns of query, key and value
  bool causal = false;
  /// fp32 numbers are added to the scores. They must be finite but may be as
  /// low as desired. `mask` has a stride of 0 where it repeats; keys are
  /// adjacent.
  bool masked = false;
  float scale = 1;
  SdpaStrides mask{};
  SdpaStrides query{}, key{}, value{}, result{};
  SdpaStrides queryGrad{}, keyGrad{}, valueGrad{}, resultGrad{}; // backward

  /// Makes all operands dense {batch, heads, rows, depth}.
  void setDense();
};

/// Slices of the forward graph: Q, K, V, the mask if there is one, then Stats
/// if `stats` (fp32 {batch, heads, queries}: the logarithm of each row's sum),
/// and O last.
DnnGraph sdpaForward(const SdpaShape &shape, bool stats);

/// Slices of the backward graph: Q, K, V, O, dO, Stats, the mask if there is
/// one; then, provided by the caller, the sums of dO * O (fp32, like Stats) and
/// dQ's accumulator (fp32, dense {batch, heads, queries, depth}); then dQ, dK,
/// dV. With `deterministic`, the product writes dQ directly and the accumulator
/// is unused.
DnnGraph sdpaBackward(const SdpaShape &shape, bool deterministic);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_SDPAPLAN_H
