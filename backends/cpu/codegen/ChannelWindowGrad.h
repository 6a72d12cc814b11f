//===- ChannelWindowGrad.h - gradients of windows by channels ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_CODEGEN_CHANNELWINDOWGRAD_H
#define SINTER_BACKENDS_CPU_CODEGEN_CHANNELWINDOWGRAD_H

#include "backends/cpu/codegen/SoloKernels.h"
#include "ir/Dialect.h"

namespace sinter::cpu {

/// Whether the windows of `op` do not slide over its last dimension, as in
/// channels-last pooling, and its elements are float32.
bool hasChannelLanes(ir::ReduceWindowGradOp op);

/// The kernel for such an op; `lanes` is the number of float32 lanes of a
/// vector register.
std::unique_ptr<SoloKernel> createChannelWindowGrad(ir::ReduceWindowGradOp op,
                                                    int64_t lanes);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_CODEGEN_CHANNELWINDOWGRAD_H
