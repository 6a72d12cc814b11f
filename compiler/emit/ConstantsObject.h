//===- ConstantsObject.h - weights as an object file ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Weights never pass through LLVM IR or the assembler: their bytes are copied
// from the module's blobs to one page-aligned section of an ELF file.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_EMIT_CONSTANTSOBJECT_H
#define SINTER_COMPILER_EMIT_CONSTANTSOBJECT_H

#include "compiler/emit/Artifact.h"

#include "llvm/Support/raw_ostream.h"

namespace sinter::compiler {

/// Constants begin at multiples of this many bytes.
inline constexpr uint64_t kConstantsAlignment = 4096;

/// Writes a relocatable x86-64 ELF file that defines
/// `sinter_constants_<symbol>`. Above 1 GiB the section is a "large" one, which
/// code must not address relatively; the artifact has a 64-bit pointer to it.
void writeConstantsObject(const CompiledProgram &program,
                          llvm::raw_ostream &os);

/// Copies the constants to `memory`, which has at least `constantsBytes` bytes
/// and is zeroed.
void copyConstants(const CompiledProgram &program, char *memory);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_EMIT_CONSTANTSOBJECT_H
