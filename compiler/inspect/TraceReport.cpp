//===- TraceReport.cpp - the history of a module, like git log ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/TraceWalk.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/JsonText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <optional>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

void compiler::printTraceLog(const Trace &trace, const TraceFilter &filter,
                             llvm::raw_ostream &os) {
  Walk(trace, filter)
      .run([&](size_t i, const TraceStep &step,
               const std::vector<ChangedText> &differences) {
        // The import adds all parameters.
        constexpr size_t kMostNamed = 4;
        os << title(i, step);
        for (const ChangedText &difference : differences) {
          if (&difference - differences.data() == kMostNamed) {
            os << "  and " << differences.size() - kMostNamed << " more";
            break;
          }
          size_t gone = 0, added = 0;
          for (const DiffLine &line : linesOf(difference)) {
            gone += line.mark == '-';
            added += line.mark == '+';
          }
          os << "  @" << shown(difference.symbol, 40) << " -" << gone << " +"
             << added;
        }
        if (!step.rewrites.empty())
          os << "  " << step.rewrites.size() << " rewrites";
        os << "\n";
      });
}

void compiler::printTraceShow(const Trace &trace, const TraceFilter &filter,
                              llvm::raw_ostream &os) {
  Walk(trace, filter)
      .run([&](size_t i, const TraceStep &step,
               const std::vector<ChangedText> &differences) {
        os << "// " << title(i, step) << "\n";
        for (const ChangedText &difference : differences)
          os << (difference.after.empty()
                     ? "// removed: @" + shown(difference.symbol)
                     : difference.after.str())
             << "\n";
      });
}

// The hunks of one function, below its name.
static void printChange(const ChangedText &difference, llvm::raw_ostream &os) {
  std::string name = shown(difference.symbol);
  os << "--- " << (difference.before.empty() ? "/dev/null" : "@" + name)
     << "\n+++ " << (difference.after.empty() ? "/dev/null" : "@" + name)
     << "\n";
  printDiff(linesOf(difference), 3, os);
}

void compiler::printTraceDiff(const Trace &trace, const TraceFilter &filter,
                              llvm::raw_ostream &os) {
  Walk(trace, filter)
      .run([&](size_t i, const TraceStep &step,
               const std::vector<ChangedText> &differences) {
        os << "pass " << title(i, step) << "\n";
        for (const ChangedText &difference : differences)
          printChange(difference, os);
      });
}

std::string compiler::printTraceBetween(const Trace &trace, StringRef from,
                                        StringRef to, llvm::raw_ostream &os) {
  auto after = [&](StringRef name) {
    size_t found = 0; // steps up to it
    for (auto [i, step] : llvm::enumerate(trace.steps))
      if (matches({name.str(), "", false}, step, i))
        found = i + 1;
    return found;
  };
  for (StringRef name : {from, to}) {
    std::string numbers;
    unsigned count = 0;
    for (auto [i, step] : llvm::enumerate(trace.steps))
      if (matches({name.str(), "", false}, step, i) && name != step.phase) {
        numbers += (count++ ? ", " : "") + std::to_string(i);
      }
    if (count > 1)
      return quoted(name.str()) + " names " + std::to_string(count) +
             " passes; give the number of one: " + numbers;
  }
  size_t first = after(from), last = after(to);
  for (auto [name, found] : {std::pair(from, first), std::pair(to, last)})
    if (!found)
      return quoted(name) + ": the trace has no such pass, phase or number; "
                            "'sinter-inspect log' lists them";
  std::map<std::string, std::string> before = trace.before(first),
                                     now = trace.before(last);
  os << "from " << title(first - 1, trace.steps[first - 1]) << "\nto   "
     << title(last - 1, trace.steps[last - 1]) << "\n";
  for (auto &[symbol, text] : before)
    if (std::string &after = now[symbol]; after != text)
      printChange({symbol, text, after}, os);
  for (auto &[symbol, text] : now)
    if (!before.count(symbol))
      printChange({symbol, "", text}, os);
  return "";
}

static void printLines(StringRef text, char mark, llvm::raw_ostream &os) {
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n', -1, false);
  for (StringRef line : lines)
    os << "       " << mark << " " << line << "\n";
}

size_t compiler::printTraceRewrites(const Trace &trace,
                                    const TraceFilter &filter,
                                    llvm::raw_ostream &os,
                                    IsWantedRewrite isWanted) {
  size_t count = 0;
  for (auto [i, step] : llvm::enumerate(trace.steps)) {
    if (!matches(filter, step, i))
      continue;
    bool isTitled = false;
    for (const TraceRewrite &rewrite : step.rewrites) {
      if (isWanted ? !isWanted(rewrite)
                   : !filter.op.empty() && !concerns(rewrite, filter.op))
        continue;
      if (!isTitled)
        os << title(i, step) << "\n";
      isTitled = true;
      os << "     @" << shown(rewrite.symbol, 40) << ": "
         << shown(rewrite.name, 200) << "\n";
      printLines(rewrite.before, '-', os);
      printLines(rewrite.after, '+', os);
      ++count;
    }
  }
  return count;
}

static llvm::json::Object jsonChange(const ChangedText &difference, bool text) {
  llvm::json::Array removed, added;
  int64_t gone = 0, came = 0;
  for (const DiffLine &line : linesOf(difference)) {
    gone += line.mark == '-';
    came += line.mark == '+';
    if (text && line.mark != ' ')
      (line.mark == '-' ? removed : added).push_back(jsonText(line.text));
  }
  llvm::json::Object object{{"function", jsonText(difference.symbol)},
                            {"lines_removed", gone},
                            {"lines_added", came}};
  if (text) {
    object["removed"] = std::move(removed);
    object["added"] = std::move(added);
  }
  return object;
}

static llvm::json::Array jsonRewrites(const TraceStep &step) {
  llvm::json::Array list;
  for (const TraceRewrite &rewrite : step.rewrites)
    list.push_back(jsonRewrite(rewrite));
  return list;
}

static llvm::json::Array jsonRemarks(const TraceStep &step) {
  llvm::json::Array list;
  for (const TraceRemark &remark : step.remarks)
    list.push_back(llvm::json::Object{{"pass", jsonText(remark.pass)},
                                      {"kind", jsonText(remark.kind)},
                                      {"nodes", jsonTexts(remark.nodes)},
                                      {"with", jsonTexts(remark.with)},
                                      {"text", jsonText(remark.text)},
                                      {"count", remark.count}});
  return list;
}

void compiler::printTraceJson(const Trace &trace, const TraceFilter &filter,
                              bool text, llvm::raw_ostream &os) {
  llvm::json::Array steps;
  Walk(trace, filter)
      .run([&](size_t i, const TraceStep &step,
               const std::vector<ChangedText> &differences) {
        llvm::json::Array changes;
        for (const ChangedText &difference : differences)
          changes.push_back(jsonChange(difference, text));
        llvm::json::Object object{{"number", i},
                                  {"phase", jsonText(step.phase)},
                                  {"pass", jsonText(step.pass)},
                                  {"milliseconds", step.milliseconds},
                                  {"changes", std::move(changes)},
                                  {"num_rewrites", step.rewrites.size()}};
        if (text) {
          object["rewrites"] = jsonRewrites(step);
          object["remarks"] = jsonRemarks(step);
        }
        steps.push_back(std::move(object));
      });
  os << llvm::json::Value(std::move(steps)) << "\n";
}

bool compiler::hasOp(const Trace &trace, StringRef op) {
  return llvm::any_of(trace.steps, [&](const TraceStep &step) {
    return llvm::any_of(step.changes, [&](const TraceChange &change) {
      return mentions(change.text, op);
    });
  });
}

bool compiler::hasPass(const Trace &trace, const TraceFilter &filter) {
  for (auto [i, step] : llvm::enumerate(trace.steps))
    if (matches(filter, step, i))
      return true;
  return false;
}
