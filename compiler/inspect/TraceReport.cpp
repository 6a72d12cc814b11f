//===- TraceReport.cpp - the history of a module, like git log ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/TraceReport.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/JsonText.h"
#include "compiler/inspect/LineDiff.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <optional>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

namespace {
// A change of a trace step, with the text that it replaces.
struct Difference {
  StringRef symbol, before, after;
};

bool matches(const TraceFilter &filter, const TraceStep &step, size_t index) {
  StringRef pass = filter.pass;
  return pass.empty() || pass == step.pass ||
         "sinter-" + pass.str() == step.pass || pass == step.phase ||
         pass == std::to_string(index);
}

// Whether a line of IR contains `op`, as it is or with the escapes that names
// have there.
bool mentions(StringRef line, StringRef op) {
  if (line.contains(op))
    return true;
  std::string escaped;
  llvm::raw_string_ostream os(escaped);
  llvm::printEscapedString(op, os);
  return line.contains(escaped);
}

// A line with its escaped names as they are.
std::string unescaped(StringRef line) {
  std::string text;
  while (!line.empty()) {
    auto [head, tail] = line.split('\\');
    text += head;
    unsigned value = 0;
    if (tail.size() > 1 && !tail.take_front(2).getAsInteger(16, value)) {
      text += static_cast<char>(value);
      tail = tail.drop_front(2);
    } else if (head.size() < line.size()) {
      text += '\\';
    }
    line = tail;
  }
  return text;
}

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
} // namespace

static std::string title(size_t index, const TraceStep &step) {
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format("%3zu  ", index) << llvm::left_justify(step.phase, 10)
      << " " << llvm::left_justify(step.pass, 30)
      << llvm::format(" %9.2f ms", step.milliseconds);
  return text;
}

// `text` without the numbers of values: "%12:2" is "%".
static std::string withoutNumbers(StringRef text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    auto [head, tail] = text.split('%');
    result += head;
    if (head.size() == text.size())
      break;
    result += '%';
    text = tail.drop_while(llvm::isDigit);
    if (text.size() < tail.size() && text.size() > 1 &&
        (text[0] == ':' || text[0] == '#') && llvm::isDigit(text[1]))
      text = text.drop_front().drop_while(llvm::isDigit);
  }
  return result;
}

// The changed and unchanged lines of a difference, the latter as they are after
// it.
static std::vector<DiffLine> linesOf(const Difference &difference) {
  std::string before = withoutNumbers(difference.before),
              after = withoutNumbers(difference.after);
  std::vector<DiffLine> lines = diffLines(before, after);
  StringRef restBefore = difference.before, restAfter = difference.after;
  auto next = [](StringRef &rest) {
    auto [line, tail] = rest.split('\n');
    rest = tail;
    return line;
  };
  for (DiffLine &line : lines) {
    if (line.mark != '+')
      line.text = next(restBefore);
    if (line.mark != '-')
      line.text = next(restAfter);
  }
  return lines;
}

void compiler::printTraceLog(const Trace &trace, const TraceFilter &filter,
                             llvm::raw_ostream &os) {
  Walk(trace, filter)
      .run([&](size_t i, const TraceStep &step,
               const std::vector<Difference> &differences) {
        // The import adds all parameters.
        constexpr size_t kMostNamed = 4;
        os << title(i, step);
        for (const Difference &difference : differences) {
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
               const std::vector<Difference> &differences) {
        os << "// " << title(i, step) << "\n";
        for (const Difference &difference : differences)
          os << (difference.after.empty()
                     ? "// removed: @" + shown(difference.symbol)
                     : difference.after.str())
             << "\n";
      });
}

// The hunks of one function, below its name.
static void printChange(const Difference &difference, llvm::raw_ostream &os) {
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
               const std::vector<Difference> &differences) {
        os << "pass " << title(i, step) << "\n";
        for (const Difference &difference : differences)
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

static bool concerns(const TraceRewrite &rewrite, StringRef op) {
  return llvm::is_contained(rewrite.nodes, op) ||
         mentions(rewrite.before, op) || mentions(rewrite.after, op);
}

static void printLines(StringRef text, char mark, llvm::raw_ostream &os) {
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n', -1, false);
  for (StringRef line : lines)
    os << "       " << mark << " " << line << "\n";
}

size_t compiler::printTraceRewrites(const Trace &trace,
                                    const TraceFilter &filter,
                                    llvm::raw_ostream &os) {
  size_t count = 0;
  for (auto [i, step] : llvm::enumerate(trace.steps)) {
    if (!matches(filter, step, i))
      continue;
    bool isTitled = false;
    for (const TraceRewrite &rewrite : step.rewrites) {
      if (!filter.op.empty() && !concerns(rewrite, filter.op))
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

static llvm::json::Array jsonTexts(llvm::ArrayRef<std::string> texts) {
  llvm::json::Array list;
  for (const std::string &text : texts)
    list.push_back(jsonText(text));
  return list;
}

static llvm::json::Object jsonChange(const Difference &difference, bool text) {
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
    list.push_back(llvm::json::Object{{"name", jsonText(rewrite.name)},
                                      {"function", jsonText(rewrite.symbol)},
                                      {"nodes", jsonTexts(rewrite.nodes)},
                                      {"before", jsonText(rewrite.before)},
                                      {"after", jsonText(rewrite.after)}});
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
               const std::vector<Difference> &differences) {
        llvm::json::Array changes;
        for (const Difference &difference : differences)
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

// What a line says whatever values and kernel it is in: an op that is moved
// into a kernel, or a kernel into a program, has the same.
static std::string essenceOf(StringRef line) {
  std::string text = line.trim().str();
  for (size_t at = 0; (at = text.find("%arg", at)) != std::string::npos;)
    text.erase(at + 1, 3);
  return withoutNumbers(text);
}

size_t compiler::printTraceBlame(const Trace &trace, const TraceFilter &filter,
                                 llvm::raw_ostream &os) {
  struct Line {
    StringRef text;
    size_t step;
  };
  std::map<std::string, std::vector<Line>> last;
  std::optional<size_t> removed; // the step that removed a line with filter.op
  Walk(trace, TraceFilter())
      .run([&](size_t i, const TraceStep &,
               const std::vector<Difference> &changes) {
        // Where moved lines come from: who made the lines that are gone.
        std::map<std::string, size_t> makers;
        std::vector<std::vector<DiffLine>> diffs;
        for (const Difference &difference : changes) {
          auto at = last[difference.symbol.str()].begin();
          for (const DiffLine &line : diffs.emplace_back(linesOf(difference))) {
            if (line.mark == '-') {
              makers.emplace(essenceOf(line.text), at->step);
              if (!filter.op.empty() && mentions(line.text, filter.op))
                removed = i;
            }
            if (line.mark != '+')
              ++at;
          }
        }
        for (auto [difference, diff] : llvm::zip_equal(changes, diffs)) {
          std::vector<Line> &old = last[difference.symbol.str()], lines;
          auto at = old.begin();
          for (const DiffLine &line : diff) {
            if (line.mark == '+') {
              auto maker = makers.find(essenceOf(line.text));
              lines.push_back(
                  {line.text, maker == makers.end() ? i : maker->second});
              continue;
            }
            if (line.mark == ' ')
              lines.push_back({line.text, at->step});
            ++at;
          }
          old = std::move(lines);
        }
      });
  size_t printed = 0;
  for (const auto &[symbol, lines] : last)
    for (const Line &line : lines) {
      const TraceStep &step = trace.steps[line.step];
      if (!matches(filter, step, line.step) ||
          (!filter.op.empty() && !mentions(line.text, filter.op)))
        continue;
      os << llvm::format("%3zu  ", line.step)
         << llvm::left_justify(step.phase, 10) << " "
         << llvm::left_justify(step.pass, 30) << "  " << line.text << "\n";
      ++printed;
    }
  if (!printed && removed && filter.pass.empty()) {
    os << "no line of the last IR has '" << shown(filter.op)
       << "'; the last one that had it was removed by\n"
       << title(*removed, trace.steps[*removed]) << "\n";
    ++printed;
  }
  if (filter.op.empty())
    return printed;
  std::string rewrites;
  llvm::raw_string_ostream text(rewrites);
  size_t numRewrites = printTraceRewrites(trace, filter, text);
  if (numRewrites)
    os << (printed ? "" : "no line of the last IR has it\n") << "rewrites:\n"
       << rewrites;
  return printed + numRewrites;
}

size_t compiler::printTraceGrep(const Trace &trace, const TraceFilter &filter,
                                const llvm::Regex &pattern,
                                llvm::raw_ostream &os) {
  size_t count = 0;
  Walk(trace, filter)
      .run([&](size_t i, const TraceStep &step,
               const std::vector<Difference> &differences) {
        bool isTitled = false;
        for (const Difference &difference : differences)
          for (const DiffLine &line : linesOf(difference)) {
            if (line.mark == ' ' || !(pattern.match(line.text) ||
                                      pattern.match(unescaped(line.text))))
              continue;
            if (!isTitled)
              os << title(i, step) << "\n";
            isTitled = true;
            os << line.mark << " @" << shown(difference.symbol, 40) << ": "
               << line.text.ltrim() << "\n";
            ++count;
          }
      });
  return count;
}
