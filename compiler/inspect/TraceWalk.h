//===- TraceWalk.h - the steps of a trace and their changes -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What the reports on traces share.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_TRACEWALK_H
#define SINTER_COMPILER_INSPECT_TRACEWALK_H

#include "compiler/inspect/LineDiff.h"
#include "compiler/inspect/TraceReport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <string>
#include <vector>

namespace sinter::compiler {

/// A change of a trace step, with the text that it replaces.
struct ChangedText {
  llvm::StringRef symbol, before, after;
};

/// Whether the step passes `filter.pass`.
bool matches(const TraceFilter &filter, const TraceStep &step, size_t index);

/// Whether lines of IR contain `op`, as it is or with the escapes that names
/// have there, or have an op that computes it, if it is "grad(NODE)".
bool mentions(llvm::StringRef line, llvm::StringRef op);

/// Which lines `blame` is asked for: those of ops that come from a node, that
/// have a whole name of something else (an initializer, an input, a state), or
/// that contain a text outside of names.
class LineQuestion {
public:
  LineQuestion(const Trace &trace, llvm::StringRef about);

  bool asksFor(llvm::StringRef lines) const;
  /// Whether the rewrite made, changed or erased such an op.
  bool asksFor(const TraceRewrite &rewrite) const;
  bool empty() const { return about_.empty(); }
  const std::string &about() const { return about_; }

private:
  enum class Kind { Node, Name, Text };

  std::string about_, literal_; // `literal_`: as a string in printed IR
  Kind kind_ = Kind::Text;
};

/// The nodes of the op that a line of a rewrite shows: "..., its type "a,b"".
llvm::SmallVector<llvm::StringRef> ownNodes(llvm::StringRef line);

/// Whether the rewrite is about `op`, a node or a part of a line.
bool concerns(const TraceRewrite &rewrite, llvm::StringRef op);

/// A line with its escaped names as they are.
std::string unescaped(llvm::StringRef line);

/// `text` without the numbers of values: "%12:2" is "%".
std::string withoutNumbers(llvm::StringRef text);

/// The line of a step in a log.
std::string title(size_t index, const TraceStep &step);

/// The changed and unchanged lines of a difference, the latter as they are
/// after it.
std::vector<DiffLine> linesOf(const ChangedText &difference);

/// {"number", "phase", "pass"} of a step.
llvm::json::Object jsonStep(const Trace &trace, size_t number);
/// {"name", "function", "nodes", "before", "after"}.
llvm::json::Object jsonRewrite(const TraceRewrite &rewrite);

/// Calls `visit` for each step that passes the filter.
class Walk {
public:
  Walk(const Trace &trace, const TraceFilter &filter)
      : trace_(trace), filter_(filter) {}

  template <typename Visit> void run(Visit visit) {
    std::map<std::string, std::string> texts;
    for (auto [i, step] : llvm::enumerate(trace_.steps)) {
      std::vector<ChangedText> differences;
      for (const TraceChange &change : step.changes) {
        llvm::StringRef before = texts[change.symbol];
        if (filter_.op.empty() || mentions(before, filter_.op) ||
            mentions(change.text, filter_.op))
          differences.push_back({change.symbol, before, change.text});
      }
      bool wanted = matches(filter_, step, i) &&
                    (!differences.empty() ||
                     (!filter_.onlyChanged && filter_.op.empty()));
      if (wanted)
        visit(i, step, differences);
      for (const TraceChange &change : step.changes)
        texts[change.symbol] = change.text;
    }
  }

private:
  const Trace &trace_;
  const TraceFilter &filter_;
};
} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_TRACEWALK_H
