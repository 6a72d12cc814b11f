//===- Trace.cpp - what each pass did -------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/trace/Trace.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

// Symbols may contain any character, but spaces separate the words of the file.
static std::string encoded(StringRef name) {
  std::string text;
  for (char c : name) {
    if (llvm::isAlnum(c) || StringRef("_.-@/:").contains(c))
      text += c;
    else
      text += "%" + llvm::toHex(StringRef(&c, 1));
  }
  return text.empty() ? "%" : text;
}

static std::string decoded(StringRef text) {
  std::string name;
  for (size_t i = 0; i < text.size(); ++i) {
    uint8_t value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        !text.substr(i + 1, 2).getAsInteger(16, value)) {
      name += static_cast<char>(value);
      i += 2;
    } else if (text[i] != '%') {
      name += text[i];
    }
  }
  return name;
}

void Trace::write(llvm::raw_ostream &os) const {
  os << kMagic << "model " << model.size() << "\n" << model << "\n";
  for (const TraceStep &step : steps) {
    os << "pass " << encoded(step.phase) << " " << encoded(step.pass) << " "
       << llvm::format("%.3f", step.milliseconds) << "\n";
    for (const TraceChange &change : step.changes) {
      if (change.text.empty())
        os << "gone " << encoded(change.symbol) << "\n";
      else
        os << "op " << encoded(change.symbol) << " " << change.text.size()
           << "\n"
           << change.text << "\n";
    }
  }
}

// Consumes `count` bytes and the newline after them.
static bool takeBytes(StringRef &rest, StringRef count, std::string &bytes) {
  uint64_t size = 0;
  if (count.getAsInteger(10, size) || size >= rest.size())
    return false;
  bytes = rest.take_front(size).str();
  rest = rest.drop_front(size);
  return rest.consume_front("\n");
}

std::string Trace::read(StringRef bytes) {
  StringRef rest = bytes;
  if (!rest.consume_front(kMagic))
    return "is not a trace of this version of Sinter";
  size_t line = 1;
  while (!rest.empty()) {
    ++line;
    StringRef head;
    std::tie(head, rest) = rest.split('\n');
    llvm::SmallVector<StringRef> words;
    head.split(words, ' ');
    bool good = false;
    if (words[0] == "model" && words.size() == 2) {
      good = takeBytes(rest, words[1], model);
    } else if (words[0] == "pass" && words.size() == 4) {
      TraceStep step{decoded(words[1]), decoded(words[2]), 0, {}};
      good = !words[3].getAsDouble(step.milliseconds);
      steps.push_back(std::move(step));
    } else if (words[0] == "gone" && words.size() == 2 && !steps.empty()) {
      steps.back().changes.push_back({decoded(words[1]), ""});
      good = true;
    } else if (words[0] == "op" && words.size() == 3 && !steps.empty()) {
      TraceChange change{decoded(words[1]), ""};
      good = takeBytes(rest, words[2], change.text);
      steps.back().changes.push_back(std::move(change));
    }
    if (!good)
      return "is damaged: record " + std::to_string(line) + " is malformed";
  }
  return "";
}

std::map<std::string, std::string> Trace::before(size_t index) const {
  std::map<std::string, std::string> texts;
  for (size_t i = 0; i < index && i < steps.size(); ++i)
    for (const TraceChange &change : steps[i].changes) {
      if (change.text.empty())
        texts.erase(change.symbol);
      else
        texts[change.symbol] = change.text;
    }
  return texts;
}
