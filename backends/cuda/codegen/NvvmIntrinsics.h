//===- NvvmIntrinsics.h - NVIDIA's instructions for kernels -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_CODEGEN_NVVMINTRINSICS_H
#define SINTER_BACKENDS_CUDA_CODEGEN_NVVMINTRINSICS_H

#include "backends/gpu/codegen/Intrinsics.h"

namespace sinter::cuda {

/// Emits ops of the NVVM dialect and calls of llvm.nvvm.*: those that
/// backends/sim/codegen/Intrinsics.h replaces for the simulated device.
const gpu::Intrinsics &nvvmIntrinsics();

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_CODEGEN_NVVMINTRINSICS_H
