//===- ConvPlan.h - convolutions as operation graphs of cuDNN ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Pure arithmetic on a sinter_conv, for both towers. What must stay true: a
// graph depends on the sinter_conv alone.
//
// What may follow a convolution was asked of cuDNN 9.19 for an H200, in fp32
// (without tf32), bf16 and fp16; a test asks again where cuDNN is installed:
//   forward, any layout, rank and groups: [add] bias [relu | clip from 0 |
//   sigmoid | tanh], add and bias in either order;
//   forward and input gradient with one or two spatial dimensions, activations
//   and filter with channels last: any steps but hard swish and other clips.
//   forward, bf16 and fp16, activations with channels last: the sums of each
//   channel and of its squares, alone.
// fp64 convolves, and fuses nothing.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_CONVPLAN_H
#define SINTER_BACKENDS_CUDA_LIBRARY_CONVPLAN_H

#include "backends/cuda/library/DnnGraph.h"

namespace sinter::cuda {

/// The slices of `params` as the ABI orders them: two operands, those of
/// post-ops, the result (whose slice is `resultSlice`).
DnnGraph convGraph(const sinter_conv &params, uint32_t resultSlice);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_CONVPLAN_H
