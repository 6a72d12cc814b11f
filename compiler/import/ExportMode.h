//===- ExportMode.h - the mode that a node was exported in ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_EXPORTMODE_H
#define SINTER_COMPILER_IMPORT_EXPORTMODE_H

#include "llvm/ADT/StringRef.h"

namespace sinter::compiler {

/// An importer sets it on an op that the file holds in its inference form and
/// that behaves differently in training, such as Dropout. The warnings of -W
/// read it; the driver removes it after the import.
inline constexpr llvm::StringLiteral kInferenceAttr = "sinter.inference";

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_EXPORTMODE_H
