//===- Trace.h - what each pass did -----------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A trace is the history of a module: after each pass, the text of every
// top-level op that it changed, the rewrites that led there, and the remarks of
// the pass. A file has the line "sinter-trace 5", a line with the size of the
// rest in bytes, and the rest compressed by zstd. The rest is text:
//
//   model BYTES               then a newline and BYTES bytes, here and below
//   device NAME               of each device, if the program has several
//   pass PHASE NAME MILLISECONDS
//   rewrite NAME SYMBOL NODES OPS BYTES BYTES      the ops before and after
//   remark PASS KIND COUNT NODES NODES FUNCTION OPS OPS BYTES
//   op SYMBOL BYTES           the new text of a function, program, kernel, ...
//                             with relative numbers (RelativeNumbers.h)
//   plain SYMBOL BYTES        the same with the numbers that MLIR printed
//   gone SYMBOL
//
// NODES are names with commas between them: "NODE", or "grad(NODE)" for a
// gradient. OPS are numbers of ops (OpNumbers.h), such as "3,7-9". The first
// pass is "import import": the module as the importer left
// it.
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

/// One application of a pattern, one fold, or one transformation of a pass that
/// works without patterns.
struct TraceRewrite {
  std::string name;               // of the pattern; "fold"
  std::string symbol;             // the top-level op that it is in
  std::vector<std::string> nodes; // of the model, which it concerns
  std::string before, after;      // the ops, one in each line
  std::vector<unsigned> ops = {}; // the numbers of those before (OpNumbers.h)
};

/// A decision of a pass: what it did or declined to do, and why (ir/Remarks.h).
struct TraceRemark {
  std::string pass, kind;
  std::vector<std::string> nodes, with; // `with`: of a pair, the other's nodes
  std::string text;
  int64_t count = 1;
  std::string function; // that the pass ran on; "": on the module
  /// The numbers of the ops (OpNumbers.h) that it is about, ascending; `others`
  /// are those of `with`. Empty in phases where ops have none.
  std::vector<unsigned> ops = {}, others = {};
};

struct TraceStep {
  std::string phase, pass;
  double milliseconds = 0;
  std::vector<TraceChange> changes;
  std::vector<TraceRewrite> rewrites; // in order
  std::vector<TraceRemark> remarks;   // in order
};

struct Trace {
  /// Every trace begins with this line.
  static constexpr llvm::StringLiteral kMagic = "sinter-trace 5\n";
  /// How traces of other versions begin, too.
  static constexpr llvm::StringLiteral kAnyVersion = "sinter-trace ";

  std::string model;
  /// The names of the program's devices, if it has several.
  std::vector<std::string> devices;
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
