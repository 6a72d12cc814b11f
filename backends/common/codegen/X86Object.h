//===- X86Object.h - LLVM modules to x86-64 objects -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Shared by kernels of the CPU and of the simulated device: one machine
// description, one pipeline, and no fusing of floating-point operations
// (contraction). Thread-safe for modules of different contexts.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_CODEGEN_X86OBJECT_H
#define SINTER_BACKENDS_COMMON_CODEGEN_X86OBJECT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <optional>
#include <string>

namespace sinter::codegen {

inline constexpr llvm::StringLiteral kX86Triple = "x86_64-unknown-linux-gnu";

/// A machine with `features` ("+avx2,+fma"; "": the baseline); null if this
/// build has no x86-64 code generator.
std::unique_ptr<llvm::TargetMachine> createX86Machine(llvm::StringRef features,
                                                      unsigned optLevel);

/// Sets the triple, the data layout and the functions' features. Kernels call
/// no functions, so loops that clear memory must not become calls of memset.
void prepareForX86(llvm::Module &module, const llvm::TargetMachine &machine,
                   llvm::StringRef features);

/// A relocatable ELF file; nothing on failure.
std::optional<std::string> emitX86Object(llvm::Module &module,
                                         llvm::TargetMachine &machine);

} // namespace sinter::codegen

#endif // SINTER_BACKENDS_COMMON_CODEGEN_X86OBJECT_H
