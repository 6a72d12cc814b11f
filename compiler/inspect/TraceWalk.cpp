//===- TraceWalk.cpp - the steps of a trace and their changes -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/TraceWalk.h"

#include "compiler/inspect/JsonText.h"
#include "compiler/inspect/LocationText.h"
#include "ir/Provenance.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

bool compiler::matches(const TraceFilter &filter, const TraceStep &step,
                       size_t index) {
  StringRef pass = filter.pass;
  return pass.empty() || pass == step.pass ||
         "sinter-" + pass.str() == step.pass || pass == step.phase ||
         pass == std::to_string(index);
}

bool compiler::mentions(StringRef line, StringRef op) {
  if (line.contains(op) || (ir::isGradientName(op) && comesFrom(line, op)))
    return true;
  std::string escaped;
  llvm::raw_string_ostream os(escaped);
  llvm::printEscapedString(op, os);
  return line.contains(escaped);
}

llvm::SmallVector<StringRef> compiler::ownNodes(StringRef line) {
  llvm::SmallVector<StringRef> names;
  line = line.rtrim();
  if (line.consume_back("\""))
    line.substr(line.rfind('"') + 1).split(names, ',');
  return names;
}

// `text` without its string literals, which are names, mostly.
static std::string withoutStrings(StringRef text) {
  std::string rest;
  while (!text.empty()) {
    size_t begin = std::min(text.find('"'), text.size());
    rest += text.take_front(begin);
    text = begin < text.size() ? text.drop_front(endOfString(text, begin))
                               : StringRef();
  }
  return rest;
}

LineQuestion::LineQuestion(const Trace &trace, StringRef about)
    : about_(about.str()), literal_(stringLiteral(about)) {
  for (const TraceStep &step : trace.steps)
    for (const TraceChange &change : step.changes) {
      if (kind_ == Kind::Text && StringRef(change.text).contains(literal_))
        kind_ = Kind::Name;
      if (comesFrom(change.text, about)) {
        kind_ = Kind::Node;
        return;
      }
    }
}

bool LineQuestion::asksFor(StringRef lines) const {
  switch (kind_) {
  case Kind::Node:
    return comesFrom(lines, about_);
  case Kind::Name:
    return lines.contains(literal_);
  case Kind::Text:
    return StringRef(withoutStrings(lines)).contains(about_);
  }
  llvm_unreachable("an unknown kind of question");
}

bool LineQuestion::asksFor(const TraceRewrite &rewrite) const {
  if (kind_ == Kind::Name)
    return concerns(rewrite, literal_);
  if (kind_ == Kind::Text)
    return asksFor(rewrite.before) || asksFor(rewrite.after);
  return llvm::is_contained(rewrite.nodes, about_) ||
         llvm::any_of(llvm::split(rewrite.after, '\n'), [&](StringRef line) {
           return llvm::is_contained(ownNodes(line), about_);
         });
}

bool compiler::concerns(const TraceRewrite &rewrite, StringRef op) {
  return llvm::is_contained(rewrite.nodes, op) ||
         mentions(rewrite.before, op) || mentions(rewrite.after, op);
}

std::string compiler::unescaped(StringRef line) {
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

std::string compiler::title(size_t index, const TraceStep &step) {
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format("%3zu  ", index) << llvm::left_justify(step.phase, 10)
      << " " << llvm::left_justify(step.pass, 30)
      << llvm::format(" %9.2f ms", step.milliseconds);
  return text;
}

std::string compiler::withoutNumbers(StringRef text) {
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

std::vector<DiffLine> compiler::linesOf(const ChangedText &difference) {
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

llvm::json::Object compiler::jsonStep(const Trace &trace, size_t number) {
  const TraceStep &step = trace.steps[number];
  return llvm::json::Object{{"number", static_cast<int64_t>(number)},
                            {"phase", jsonText(step.phase)},
                            {"pass", jsonText(step.pass)}};
}

llvm::json::Object compiler::jsonRewrite(const TraceRewrite &rewrite) {
  return llvm::json::Object{{"name", jsonText(rewrite.name)},
                            {"function", jsonText(rewrite.symbol)},
                            {"nodes", jsonTexts(rewrite.nodes)},
                            {"before", jsonText(rewrite.before)},
                            {"after", jsonText(rewrite.after)}};
}
