//===- Lowering.h - kernels to x86-64 objects -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_CODEGEN_LOWERING_H
#define SINTER_BACKENDS_CPU_CODEGEN_LOWERING_H

#include "passes/Target.h"

namespace sinter::cpu {

/// A level of the x86-64 psABI.
struct Machine {
  llvm::StringRef name;
  llvm::StringRef features; // in LLVM's syntax
  int64_t lanes;            // float32 lanes of a vector register
};

/// Emits every exec.kernel of `module`, sets its number of tiles, and compiles
/// it for `machine`.
mlir::FailureOr<passes::TargetCode>
lowerKernels(mlir::ModuleOp module, const Machine &machine,
             const passes::CodeGenOptions &options);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_CODEGEN_LOWERING_H
