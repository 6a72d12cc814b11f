//===- OptimizeModule.h - LLVM's pipeline for kernels -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// For the machines of all targets. Thread-safe for modules of different
// contexts.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_CODEGEN_OPTIMIZEMODULE_H
#define SINTER_BACKENDS_COMMON_CODEGEN_OPTIMIZEMODULE_H

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace sinter::codegen {

/// The code generator's level for `optLevel` 0 to 2.
llvm::CodeGenOptLevel codeGenLevel(unsigned optLevel);

/// LLVM's pipeline at `optLevel` 0 (nothing) to 2.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine,
                    unsigned optLevel);

} // namespace sinter::codegen

#endif // SINTER_BACKENDS_COMMON_CODEGEN_OPTIMIZEMODULE_H
