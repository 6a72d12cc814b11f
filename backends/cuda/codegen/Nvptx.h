//===- Nvptx.h - LLVM's code generator for NVIDIA GPUs ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Architectures are numbers: 80 is compute capability 8.0.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_CODEGEN_NVPTX_H
#define SINTER_BACKENDS_CUDA_CODEGEN_NVPTX_H

#include "backends/gpu/codegen/Lowering.h"

namespace sinter::cuda {

/// NVVM intrinsics and the NVPTX machine. Modules lowered for it become PTX, or
/// code of the simulated device.
const gpu::Vendor &nvidia();

/// Compiles one kernel's module to PTX.
std::optional<std::string> toPtx(llvm::Module &module, unsigned arch,
                                 unsigned optLevel);

/// Joins the PTX modules of all kernels for one architecture into one module.
std::string joinPtx(llvm::ArrayRef<std::string> kernels, unsigned arch);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_CODEGEN_NVPTX_H
