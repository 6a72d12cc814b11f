//===- ElfSymbols.h - what a library exports --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TOOLS_LIB_ELFSYMBOLS_H
#define SINTER_TOOLS_LIB_ELFSYMBOLS_H

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace sinter::tools {

/// The names in the dynamic symbol table of the ELF file `path`. Runs no code
/// of the file.
rt::Result<std::vector<std::string>> exportedSymbols(const std::string &path);

/// Whether `path` is an ELF file.
bool isElfFile(const std::string &path);

} // namespace sinter::tools

#endif // SINTER_TOOLS_LIB_ELFSYMBOLS_H
