//===- RelativeNumbers.h - SSA numbers relative to lines --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// MLIR numbers the values of a function in order. An op that a pass adds or
// drops changes every number below it, though the text says the same. Numbers
// that count back from the last result do not change, and the layers of a
// network have the same ones: such texts compress better.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_TRACE_RELATIVENUMBERS_H
#define SINTER_COMPILER_TRACE_RELATIVENUMBERS_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace sinter::compiler {

/// `text`, printed by MLIR, with each "%N" as the byte 1 and the decimal number
/// `last` - N. `last` is the result that the last line before defined, or 0: a
/// line defines N when it begins with blanks and "%N". Nullopt if `text` has a
/// byte 1 itself.
std::optional<std::string> relativeNumbers(llvm::StringRef text);

/// The text that `relativeNumbers` was given. Nullopt if no text leads to
/// `relative`.
std::optional<std::string> absoluteNumbers(llvm::StringRef relative);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_TRACE_RELATIVENUMBERS_H
