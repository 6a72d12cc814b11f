//===- Text.h - names of a model inside messages ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Names in a model file can be any bytes of any length. Whatever a user sees of
// them, or becomes a symbol, passes through these functions.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_BASE_TEXT_H
#define SINTER_COMPILER_BASE_TEXT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace sinter::compiler {

/// `name` on one line: control characters and invalid UTF-8 as \xNN, cut after
/// `limit` bytes. Without quotes.
std::string shown(llvm::StringRef name, size_t limit = 96);
/// The same between single quotes.
std::string quoted(llvm::StringRef name, size_t limit = 96);
/// "[2, 3, 4]".
std::string shownShape(llvm::ArrayRef<int64_t> shape);
/// Three significant digits: "0.25", "1.53e-07", "0".
std::string shortNumber(double value);
/// `name` with everything but letters, digits and '_' replaced by '_', not
/// starting with a digit, at most 64 bytes; `fallback` if nothing is left.
std::string identifier(llvm::StringRef name, llvm::StringRef fallback);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_BASE_TEXT_H
