//===- TraceReport.cpp - the history of a module, like git log ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/TraceReport.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/LineDiff.h"

#include "llvm/Support/Format.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

namespace {
// A change of a trace step, with the text that it replaces.
struct Difference {
  StringRef symbol, before, after;
};

// Calls `visit` for each step that passes the filter.
class Walk {
public:
  Walk(const Trace &trace, const TraceFilter &filter)
      : trace_(trace), filter_(filter) {}

  template <typename Visit> void run(Visit visit) {
    std::map<std::string, std::string> texts;
    for (auto [i, step] : llvm::enumerate(trace_.steps)) {
      std::vector<Difference> differences;
      for (const TraceChange &change : step.changes) {
        StringRef before = texts[change.symbol];
        if (filter_.op.empty() || before.contains(filter_.op) ||
            StringRef(change.text).contains(filter_.op))
          differences.push_back({change.symbol, before, change.text});
      }
      bool wanted =
          matches(step, i) && (!differences.empty() ||
                               (!filter_.onlyChanged && filter_.op.empty()));
      if (wanted)
        visit(i, step, differences);
      for (const TraceChange &change : step.changes)
        texts[change.symbol] = change.text;
    }
  }

private:
  bool matches(const TraceStep &step, size_t index) const {
    StringRef pass = filter_.pass;
    return pass.empty() || pass == step.pass ||
           "sinter-" + pass.str() == step.pass || pass == step.phase ||
           pass == std::to_string(index);
  }

  const Trace &trace_;
  const TraceFilter &filter_;
};
} // namespace

static std::string title(size_t index, const TraceStep &step) {
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format("%3zu  ", index) << llvm::left_justify(step.phase, 10)
      << " " << llvm::left_justify(step.pass, 30)
      << llvm::format(" %9.2f ms", step.milliseconds);
  return text;
}

// The changed and unchanged lines of a difference.
static std::vector<DiffLine> linesOf(const Difference &difference) {
  return diffLines(difference.before, difference.after);
}

void compiler::printTraceLog(const Trace &trace, const TraceFilter &filter,
                             llvm::raw_ostream &os) {
  Walk(trace, filter)
      .run([&](size_t i, const TraceStep &step,
               const std::vector<Difference> &differences) {
        os << title(i, step);
        for (const Difference &difference : differences) {
          size_t gone = 0, added = 0;
          for (const DiffLine &line : linesOf(difference)) {
            gone += line.mark == '-';
            added += line.mark == '+';
          }
          os << "  @" << shown(difference.symbol, 40) << " -" << gone << " +"
             << added;
        }
        os << "\n";
      });
}

void compiler::printTraceShow(const Trace &trace, const TraceFilter &filter,
                              llvm::raw_ostream &os) {
  Walk(trace, filter)
      .run([&](size_t i, const TraceStep &step,
               const std::vector<Difference> &differences) {
        os << "// " << title(i, step) << "\n";
        for (const Difference &difference : differences)
          os << (difference.after.empty()
                     ? "// removed: @" + shown(difference.symbol)
                     : difference.after.str())
             << "\n";
      });
}

void compiler::printTraceDiff(const Trace &trace, const TraceFilter &filter,
                              llvm::raw_ostream &os) {
  Walk(trace, filter)
      .run([&](size_t i, const TraceStep &step,
               const std::vector<Difference> &differences) {
        os << "pass " << title(i, step) << "\n";
        for (const Difference &difference : differences) {
          std::string name = shown(difference.symbol);
          os << "--- " << (difference.before.empty() ? "/dev/null" : "@" + name)
             << "\n+++ "
             << (difference.after.empty() ? "/dev/null" : "@" + name) << "\n";
          printDiff(linesOf(difference), 3, os);
        }
      });
}
