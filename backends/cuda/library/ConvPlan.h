//===- ConvPlan.h - convolutions as operation graphs of cuDNN ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Pure arithmetic on a sinter_conv, for both towers. What must stay true: a
// graph depends only on the sinter_conv.
//
// The supported post-ops of a convolution, as reported by cuDNN 9.19 for an
// H200 in fp32 (without tf32), bf16 and fp16. Where cuDNN is installed, a test
// checks them:
//   forward, any layout, rank and groups: [add] bias [relu | clip from 0 |
//   sigmoid | tanh], add and bias in either order;
//   forward and input gradient with one or two spatial dimensions, activations
//   and filter with channels last: any steps except hard swish and other clips.
//   forward, bf16 and fp16, activations with channels last: the sums of each
//   channel and of its squares, alone.
// fp64 convolutions are supported, without post-ops.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_CONVPLAN_H
#define SINTER_BACKENDS_CUDA_LIBRARY_CONVPLAN_H

#include "backends/cuda/library/DnnGraph.h"

namespace sinter::cuda {

/// Slices are numbered in the ABI's order: two operands, those of post-ops, and
/// the result, which is slice `resultSlice`.
DnnGraph convGraph(const sinter_conv &params, uint32_t resultSlice);

/// Whether one call computes the convolution with all of its post-ops. A target
/// asks this before it fuses another one.
bool convFits(const sinter_conv &params);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_CONVPLAN_H
