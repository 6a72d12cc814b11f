//===- DebugWords.h - what SINTER_DEBUG asks for ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The environment variable is a list of words, separated by commas. They help
// to find defects and change no result.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_DEBUGWORDS_H
#define SINTER_RUNTIME_BASE_DEBUGWORDS_H

#include "runtime/base/Status.h"

#include <string_view>

namespace sinter::rt {

/// Each value of a program has an allocation of its own.
inline constexpr std::string_view separateSlicesWord = "separate-slices";
/// Every run begins by rounding the weights again that the program keeps in 16
/// bits.
inline constexpr std::string_view freshWeightsWord = "fresh-weights";
/// A kernel does not begin before the one before it has ended.
inline constexpr std::string_view serialLaunchesWord = "serial-launches";

/// Whether SINTER_DEBUG has `word`; SINTER_INVALID if it has an unknown one.
Result<bool> hasDebugWord(std::string_view word);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_DEBUGWORDS_H
