//===- LineDiff.h - what changed between two texts --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_LINEDIFF_H
#define SINTER_COMPILER_INSPECT_LINEDIFF_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

namespace sinter::compiler {

struct DiffLine {
  char mark; // ' ' in both, '-' only before, '+' only after
  llvm::StringRef text;
};

/// Returns a shortest edit script of lines (Myers, An O(ND) Difference
/// Algorithm, 1986). For texts that differ in thousands of places, it is all
/// lines of `before`, then all lines of `after`.
std::vector<DiffLine> diffLines(llvm::StringRef before, llvm::StringRef after);

/// Prints hunks with `context` equal lines around each change, like `diff -u`.
void printDiff(const std::vector<DiffLine> &lines, unsigned context,
               llvm::raw_ostream &os);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_LINEDIFF_H
