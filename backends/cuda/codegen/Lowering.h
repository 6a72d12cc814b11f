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

/// Compiles one kernel's LLVM module for `arch` (80: compute capability 8.0);
/// nothing on failure. The module is optimised and has NVPTX's data layout.
/// Called from several threads, for a module each.
using KernelBackend =
    std::function<std::optional<std::string>(llvm::Module &, unsigned arch)>;

/// Emits every exec.kernel of `module`, sets its launch shape, and passes its
/// code to `backend` once per architecture. Returns the results of `backend`,
/// by architecture and then by kernel.
mlir::FailureOr<std::vector<std::vector<std::string>>>
lowerKernels(mlir::ModuleOp module, llvm::ArrayRef<unsigned> archs,
             const passes::CodeGenOptions &options,
             const KernelBackend &backend);

/// Compiles one kernel's module to PTX.
std::optional<std::string> toPtx(llvm::Module &module, unsigned arch,
                                 unsigned optLevel);

/// Joins the PTX modules of all kernels for one architecture into one module.
std::string joinPtx(llvm::ArrayRef<std::string> kernels, unsigned arch);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_CODEGEN_LOWERING_H
