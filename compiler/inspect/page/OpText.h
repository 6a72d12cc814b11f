//===- OpText.h - the ops of printed IR -------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A trace holds the IR as text. The page needs its ops and the edges between
// them. Printed ops take one line each; regions are indented and end with "}".
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_PAGE_OPTEXT_H
#define SINTER_COMPILER_INSPECT_PAGE_OPTEXT_H

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace sinter::compiler {

/// A use of a value: result `number` of op `op`, or, with a negative number,
/// its block argument -1 - `number`.
struct ValueUse {
  unsigned op;
  int number;
  bool operator==(const ValueUse &) const = default;
};

/// One line of printed IR: an op, or the head of a block ("^bb0(...)").
struct OpText {
  /// Without the results and locations, each value being just "%". The text of
  /// an op with regions ends with "{".
  std::string text;
  /// The nodes of the model that it comes from. A part of the training step
  /// that comes from none is in angle brackets: "<loss>". The ops of a gradient
  /// have that of the op that they differentiate: "grad(/c1/Conv)".
  std::vector<std::string> nodes;
  unsigned depth = 0; // how many ops it is nested in
  unsigned numResults = 0;
  /// One for each "%" of `text`, in order. `op` is a place in the list. Values
  /// that the op defines for its regions are uses of itself.
  std::vector<ValueUse> operands;
};

/// The ops in `text`, in order, outer ops before those of their regions.
std::vector<OpText> readOps(llvm::StringRef text);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_PAGE_OPTEXT_H
