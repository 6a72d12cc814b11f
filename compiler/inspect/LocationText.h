//===- LocationText.h - the locations in printed IR -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A trace holds the IR as text, in which every op ends with its location. These
// functions read the names of a location, as ir/Provenance.h does for ops.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_LOCATIONTEXT_H
#define SINTER_COMPILER_INSPECT_LOCATIONTEXT_H

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace sinter::compiler {

/// `name` as a string literal of printed IR, with quotes and escapes.
std::string stringLiteral(llvm::StringRef name);
/// The end of the string literal that begins at `at`: behind its last quote.
size_t endOfString(llvm::StringRef line, size_t at);
/// The end of the parenthesis that begins at `at`: behind its closing one.
size_t endOfParenthesis(llvm::StringRef line, size_t at);

/// A name in a location, and what the metadata of the fused locations around it
/// say about it.
struct LocationName {
  std::string name;           // as printed, without quotes and escapes
  bool isPart = false;        // fused<"step">["loss"]: a part of the step
  bool isGradient = false;    // fused<"gradient">["/c1/Conv"]
  bool isInitializer = false; // fused<"initializer">["c1.weight"]

  /// As kernels are named (ir/Provenance.h): "NODE", "grad(NODE)", "<loss>".
  std::string provenance() const;
};

/// The names in the text of one location, "loc(...)", in order.
std::vector<LocationName> namesInLocation(llvm::StringRef location);

/// The location of the op in a line of printed IR: "" if there is none, such as
/// at the beginning of a region.
llvm::StringRef opLocation(llvm::StringRef line);

/// Whether an op in `text` comes from `name`, which is "NODE" or "grad(NODE)".
/// Names of initializers, states and arguments do not count.
bool comesFrom(llvm::StringRef text, llvm::StringRef name);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_LOCATIONTEXT_H
