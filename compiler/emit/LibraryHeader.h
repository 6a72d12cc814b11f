//===- LibraryHeader.h - the C header of an inference library ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_EMIT_LIBRARYHEADER_H
#define SINTER_COMPILER_EMIT_LIBRARYHEADER_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace sinter::compiler {

/// The text of the header for a library of the planned `module`, whose
/// functions are called sinter_<symbol>_*. C11 and C++11; includes only
/// <stdint.h>.
std::string libraryHeader(mlir::ModuleOp module, llvm::StringRef symbol,
                          llvm::StringRef libraryPath);

/// The path of the header: `output` with ".so" replaced by ".h", or with ".h"
/// appended if there is no ".so".
std::string headerPath(llvm::StringRef output);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_EMIT_LIBRARYHEADER_H
