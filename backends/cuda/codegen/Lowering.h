//===- Lowering.h - kernels to PTX ------------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_CODEGEN_LOWERING_H
#define SINTER_BACKENDS_CUDA_CODEGEN_LOWERING_H

#include "passes/Target.h"

#include "llvm/IR/Module.h"

#include <functional>

namespace sinter::cuda {

/// What becomes of one kernel's LLVM module for `arch` (80: compute capability
/// 8.0), optimised and with NVPTX's data layout; nothing on failure. Called
/// from several threads, for a module each.
using KernelBackend =
    std::function<std::optional<std::string>(llvm::Module &, unsigned arch)>;

/// Emits every exec.kernel of `module`, sets its launch shape, and hands its
/// code to `backend` once per architecture. The result has, by architecture and
/// then by kernel, what that made of them.
mlir::FailureOr<std::vector<std::vector<std::string>>>
lowerKernels(mlir::ModuleOp module, llvm::ArrayRef<unsigned> archs,
             const passes::CodeGenOptions &options,
             const KernelBackend &backend);

/// The PTX of one kernel's module.
std::optional<std::string> toPtx(llvm::Module &module, unsigned arch,
                                 unsigned optLevel);

/// One PTX module of the modules of all kernels, for the same architecture.
std::string joinPtx(llvm::ArrayRef<std::string> kernels, unsigned arch);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_CODEGEN_LOWERING_H
