//===- Trace.h - what each pass did -----------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A trace is the history of a module: after each pass, the text of every
// top-level op that it changed. One file, plain text:
//
//   sinter-trace 1
//   model NAME BYTES          then a newline and BYTES bytes, here and below
//   pass PHASE NAME MILLISECONDS
//   op SYMBOL BYTES           the new text of a function, program, kernel, ...
//   gone SYMBOL
//
// The first pass is "import import": the module as the importer left it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_TRACE_TRACE_H
#define SINTER_COMPILER_TRACE_TRACE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <string>
#include <vector>

namespace sinter::compiler {

/// A top-level op after a pass; `text` is empty when the pass removed it.
struct TraceChange {
  std::string symbol;
  std::string text;
};

struct TraceStep {
  std::string phase, pass;
  double milliseconds = 0;
  std::vector<TraceChange> changes;
};

struct Trace {
  /// Every trace begins with this line.
  static constexpr llvm::StringLiteral kMagic = "sinter-trace 1\n";

  std::string model;
  std::vector<TraceStep> steps;

  void write(llvm::raw_ostream &os) const;
  /// Reads what `write` wrote. Returns "" on success, else what is wrong with
  /// `bytes`.
  std::string read(llvm::StringRef bytes);

  /// The texts of all ops before step `index`, by symbol.
  std::map<std::string, std::string> before(size_t index) const;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_TRACE_TRACE_H
