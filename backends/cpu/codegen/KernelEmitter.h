//===- KernelEmitter.h - one exec.kernel as a function ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_CODEGEN_KERNELEMITTER_H
#define SINTER_BACKENDS_CPU_CODEGEN_KERNELEMITTER_H

#include "ir/exec/Exec.h"

namespace sinter::cpu {

/// Emits `kernel` into the empty `module` as a function with the kernel's name
/// and the type of kernel.h, in scf, arith, math, vector and LLVM ops. `lanes`
/// is the number of float32 lanes of a vector register. Returns the number of
/// tiles.
mlir::FailureOr<int64_t> emitKernel(exec::KernelOp kernel,
                                    mlir::ModuleOp module, int64_t lanes);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_CODEGEN_KERNELEMITTER_H
