//===- X86Code.h - the machine code of CPU kernels --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_X86CODE_H
#define SINTER_COMPILER_INSPECT_X86CODE_H

#include "llvm/ADT/StringRef.h"

#include <functional>
#include <map>
#include <string>

namespace sinter::compiler {

/// The sizes in bytes of the functions in the symbol table of an ELF file, by
/// name. Adds nothing if `elf` is damaged or has no table.
void addFunctionSizes(llvm::StringRef elf,
                      std::map<std::string, uint64_t> &sizes);

/// x86-64 code in Intel's syntax, with labels at the targets of branches
/// ("external" outside of it) and the constants that it reads as comments.
/// `code` is in memory, followed by what it refers to; `mayRead` says which
/// addresses can be read.
std::string disassembleX86(
    llvm::StringRef code,
    const std::function<bool(const void *address, uint64_t bytes)> &mayRead);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_X86CODE_H
