//===- KernelEmitter.h - one exec.kernel as a GPU kernel --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_GPU_CODEGEN_KERNELEMITTER_H
#define SINTER_BACKENDS_GPU_CODEGEN_KERNELEMITTER_H

#include "ir/exec/Exec.h"

namespace sinter::gpu {

class Intrinsics;

/// Emits `kernel` into `module` as a function with its name and a pointer per
/// argument and result (abi.h), and sets its grid, block and shared memory.
/// `hasWideCounts`: as in passes::CodeGenOptions.
mlir::LogicalResult emitKernel(exec::KernelOp kernel, mlir::ModuleOp module,
                               const Intrinsics &intrinsics,
                               bool hasWideCounts);

} // namespace sinter::gpu

#endif // SINTER_BACKENDS_GPU_CODEGEN_KERNELEMITTER_H
