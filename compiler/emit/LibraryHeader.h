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

/// The text of the header that goes with a library of the planned `module`,
/// whose functions are called sinter_<symbol>_*. C11 and C++11; includes
/// <stdint.h> only.
std::string libraryHeader(mlir::ModuleOp module, llvm::StringRef symbol,
                          llvm::StringRef libraryPath);

/// Where it belongs: `output` with ".so" replaced by ".h", which is appended if
/// there is none.
std::string headerPath(llvm::StringRef output);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_EMIT_LIBRARYHEADER_H
