//===- ExportMode.h - the mode that a node was exported in ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_EXPORTMODE_H
#define SINTER_COMPILER_IMPORT_ONNX_EXPORTMODE_H

#include "llvm/ADT/StringRef.h"

namespace sinter::compiler {

/// Marks an imported op that was exported in its inference form and behaves
/// differently in training. The driver removes the attribute.
inline constexpr llvm::StringLiteral kInferenceAttr = "sinter.inference";

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_EXPORTMODE_H
