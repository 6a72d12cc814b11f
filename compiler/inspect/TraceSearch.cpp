//===- TraceSearch.cpp - who made a line of a trace, and when -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/inspect/JsonText.h"
#include "compiler/inspect/LocationText.h"
#include "compiler/inspect/TraceWalk.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <optional>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

// What a line says whatever values and kernel it is in: an op that is moved
// into a kernel, or a kernel into a program, has the same.
static std::string essenceOf(StringRef line) {
  std::string text = line.trim().str();
  for (size_t at = 0; (at = text.find("%arg", at)) != std::string::npos;)
    text.erase(at + 1, 3);
  return withoutNumbers(text);
}

namespace {
struct BlamedLine {
  StringRef text;
  size_t step; // that made it what it is
};
/// Who made the lines of the last IR.
struct Blame {
  std::map<std::string, std::vector<BlamedLine>> last; // by function
  std::optional<size_t> removed; // the step that removed a line with filter.op
};
} // namespace

// Why the importer made no op of the node `op`; null if it made one.
static const TraceRemark *fateAtImport(const Trace &trace, StringRef op) {
  for (const TraceStep &step : trace.steps)
    for (const TraceRemark &remark : step.remarks)
      if (remark.pass == "import" && llvm::is_contained(remark.nodes, op))
        return &remark;
  return nullptr;
}

// Whether a line of `lines` shows an op of the node `op` alone (`isAlone`), or
// of this and others.
static bool showsOpOf(StringRef lines, StringRef op, bool isAlone) {
  llvm::SmallVector<StringRef> list;
  lines.split(list, '\n', -1, false);
  return llvm::any_of(list, [&](StringRef line) {
    llvm::SmallVector<StringRef> names = ownNodes(line);
    return llvm::is_contained(names, op) && (names.size() == 1) == isAlone;
  });
}

namespace {
/// A rewrite that made the op of a node a part of the op of several.
struct Absorption {
  size_t step;
  const TraceRewrite *rewrite;
};
} // namespace

static std::vector<Absorption> absorptionsOf(const Trace &trace,
                                             const TraceFilter &filter) {
  std::vector<Absorption> found;
  if (filter.op.empty())
    return found;
  for (auto [i, step] : llvm::enumerate(trace.steps)) {
    if (!matches(filter, step, i))
      continue;
    for (const TraceRewrite &rewrite : step.rewrites)
      if (showsOpOf(rewrite.after, filter.op, false) &&
          !showsOpOf(rewrite.after, filter.op, true) &&
          !showsOpOf(rewrite.before, filter.op, false))
        found.push_back({i, &rewrite});
  }
  return found;
}

static Blame blameOf(const Trace &trace, const TraceFilter &filter,
                     const LineQuestion &question) {
  Blame blame;
  Walk(trace, TraceFilter())
      .run([&](size_t i, const TraceStep &,
               const std::vector<ChangedText> &changes) {
        // Where moved lines come from: who made the lines that are gone.
        std::map<std::string, size_t> makers;
        std::vector<std::vector<DiffLine>> diffs;
        for (const ChangedText &difference : changes) {
          auto at = blame.last[difference.symbol.str()].begin();
          for (const DiffLine &line : diffs.emplace_back(linesOf(difference))) {
            if (line.mark == '-') {
              makers.emplace(essenceOf(line.text), at->step);
              if (!question.empty() && question.asksFor(line.text))
                blame.removed = i;
            }
            if (line.mark != '+')
              ++at;
          }
        }
        for (auto [difference, diff] : llvm::zip_equal(changes, diffs)) {
          std::vector<BlamedLine> &old = blame.last[difference.symbol.str()],
                                  lines;
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
  // Only the lines that were asked for.
  for (auto &[symbol, lines] : blame.last)
    llvm::erase_if(lines, [&](const BlamedLine &line) {
      return !matches(filter, trace.steps[line.step], line.step) ||
             (!question.empty() && !question.asksFor(line.text));
    });
  return blame;
}

size_t compiler::printTraceBlame(const Trace &trace, const TraceFilter &filter,
                                 llvm::raw_ostream &os) {
  const LineQuestion question(trace, filter.op);
  Blame blame = blameOf(trace, filter, question);
  size_t printed = 0;
  // The answer to who removed a node comes before all that has its name.
  for (const Absorption &each : absorptionsOf(trace, filter)) {
    const TraceStep &step = trace.steps[each.step];
    os << shown(filter.op) << " was absorbed by " << shown(each.rewrite->name)
       << " in " << each.step << " " << shown(step.phase) << " "
       << shown(step.pass) << "\n";
    ++printed;
  }
  const size_t absorbed = printed;
  for (const auto &[symbol, lines] : blame.last)
    for (const BlamedLine &line : lines) {
      const TraceStep &step = trace.steps[line.step];
      os << llvm::format("%3zu  ", line.step)
         << llvm::left_justify(step.phase, 10) << " "
         << llvm::left_justify(step.pass, 30) << "  " << line.text << "\n";
      ++printed;
    }
  if (printed == absorbed && blame.removed && filter.pass.empty()) {
    os << "no line of the last IR has '" << shown(filter.op)
       << "'; the last one that had it was removed by\n"
       << title(*blame.removed, trace.steps[*blame.removed]) << "\n";
    ++printed;
  }
  if (filter.op.empty())
    return printed;
  if (const TraceRemark *fate = fateAtImport(trace, filter.op);
      fate && printed == absorbed && filter.pass.empty()) {
    os << "no line of the IR has '" << shown(filter.op) << "': " << fate->text
       << "\n";
    ++printed;
  }
  std::string rewrites;
  llvm::raw_string_ostream text(rewrites);
  size_t numRewrites =
      printTraceRewrites(trace, filter, text, [&](const TraceRewrite &rewrite) {
        return question.asksFor(rewrite);
      });
  if (numRewrites)
    os << (printed > absorbed ? "" : "no line of the last IR has it\n")
       << "rewrites:\n"
       << rewrites;
  return printed + numRewrites;
}

size_t compiler::printTraceBlameJson(const Trace &trace,
                                     const TraceFilter &filter,
                                     llvm::raw_ostream &os) {
  const LineQuestion question(trace, filter.op);
  Blame blame = blameOf(trace, filter, question);
  llvm::json::Array lines, rewrites, absorbed;
  for (const Absorption &each : absorptionsOf(trace, filter))
    absorbed.push_back(
        llvm::json::Object{{"step", jsonStep(trace, each.step)},
                           {"rewrite", jsonText(each.rewrite->name)}});
  for (const auto &[symbol, blamed] : blame.last)
    for (const BlamedLine &line : blamed)
      lines.push_back(llvm::json::Object{{"step", jsonStep(trace, line.step)},
                                         {"function", jsonText(symbol)},
                                         {"line", jsonText(line.text)}});
  if (!filter.op.empty())
    for (auto [i, step] : llvm::enumerate(trace.steps)) {
      if (!matches(filter, step, i))
        continue;
      for (const TraceRewrite &rewrite : step.rewrites)
        if (question.asksFor(rewrite)) {
          llvm::json::Object object = jsonRewrite(rewrite);
          object["step"] = jsonStep(trace, i);
          rewrites.push_back(std::move(object));
        }
    }
  const TraceRemark *fate =
      lines.empty() && !filter.op.empty() && filter.pass.empty()
          ? fateAtImport(trace, filter.op)
          : nullptr;
  bool isRemoved = lines.empty() && blame.removed && filter.pass.empty();
  size_t count = lines.size() + rewrites.size() + isRemoved + !!fate;
  llvm::json::Object report{{"lines", std::move(lines)},
                            {"rewrites", std::move(rewrites)},
                            {"absorbed_by", std::move(absorbed)}};
  if (fate)
    report["import"] = jsonText(fate->text);
  if (isRemoved)
    report["removed_by"] = jsonStep(trace, *blame.removed);
  os << llvm::formatv("{0:2}", llvm::json::Value(std::move(report))) << "\n";
  return count;
}

// A line is searched as it is, with its names unescaped, and by the gradients
// that it computes.
static bool matches(const llvm::Regex &pattern, StringRef line) {
  if (pattern.match(line) || pattern.match(unescaped(line)))
    return true;
  return llvm::any_of(
      namesInLocation(opLocation(line)), [&](const LocationName &name) {
        return name.isGradient && pattern.match(name.provenance());
      });
}

/// Calls `found` for each line that a selected pass added or removed and that
/// matches.
static void grepLines(const Trace &trace, const TraceFilter &filter,
                      const llvm::Regex &pattern,
                      llvm::function_ref<void(size_t step, StringRef function,
                                              const DiffLine &line)>
                          found) {
  Walk(trace, filter)
      .run([&](size_t i, const TraceStep &,
               const std::vector<ChangedText> &differences) {
        for (const ChangedText &difference : differences)
          for (const DiffLine &line : linesOf(difference))
            if (line.mark != ' ' && matches(pattern, line.text))
              found(i, difference.symbol, line);
      });
}

size_t compiler::printTraceGrep(const Trace &trace, const TraceFilter &filter,
                                const llvm::Regex &pattern,
                                llvm::raw_ostream &os) {
  size_t count = 0;
  std::optional<size_t> titled;
  grepLines(trace, filter, pattern,
            [&](size_t step, StringRef function, const DiffLine &line) {
              if (titled != step)
                os << title(step, trace.steps[step]) << "\n";
              titled = step;
              os << line.mark << " @" << shown(function, 40) << ": "
                 << line.text.ltrim() << "\n";
              ++count;
            });
  return count;
}

size_t compiler::printTraceGrepJson(const Trace &trace,
                                    const TraceFilter &filter,
                                    const llvm::Regex &pattern,
                                    llvm::raw_ostream &os) {
  llvm::json::Array lines;
  grepLines(trace, filter, pattern,
            [&](size_t step, StringRef function, const DiffLine &line) {
              lines.push_back(llvm::json::Object{
                  {"step", jsonStep(trace, step)},
                  {"function", jsonText(function)},
                  {"change", line.mark == '+' ? "added" : "removed"},
                  {"line", jsonText(line.text.ltrim())}});
            });
  size_t count = lines.size();
  os << llvm::formatv("{0:2}", llvm::json::Value(std::move(lines))) << "\n";
  return count;
}
