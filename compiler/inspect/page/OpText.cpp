//===- OpText.cpp - the ops of printed IR ---------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/page/OpText.h"

#include "compiler/inspect/LocationText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

static bool isNameChar(char c) {
  return llvm::isAlnum(c) || StringRef("_$.-").contains(c);
}

namespace {

class Reader {
public:
  std::vector<OpText> ops;

  void read(StringRef line);

private:
  struct Scope {
    unsigned owner;
    llvm::StringMap<ValueUse> values;
  };

  void close(StringRef rest);
  StringRef defineResults(StringRef line, unsigned self);
  void readBody(StringRef body, unsigned self);
  size_t readValue(StringRef body, size_t at, unsigned self);

  std::vector<Scope> scopes_ = std::vector<Scope>(1);
  llvm::StringMap<ValueUse> arguments_; // of the regions of the current line
};

} // namespace

// A line that begins with "}": the end of a region, the location of its op, and
// perhaps the beginning of the next region.
void Reader::close(StringRef rest) {
  if (scopes_.size() == 1)
    return;
  unsigned owner = scopes_.back().owner;
  scopes_.pop_back();
  OpText tail;
  std::swap(tail.text, ops[owner].text);
  std::swap(tail.nodes, ops[owner].nodes);
  readBody(rest, owner);
  std::string after = StringRef(ops[owner].text).trim().str();
  ops[owner].nodes.insert(ops[owner].nodes.begin(), tail.nodes.begin(),
                          tail.nodes.end());
  bool hasNext = StringRef(after).ends_with("{");
  ops[owner].text = tail.text + (after.empty() ? "" : "} " + after);
  if (hasNext)
    scopes_.push_back({owner, {}});
}

// Drops "%a, %b:2 = ", whose values `self` defines.
StringRef Reader::defineResults(StringRef line, unsigned self) {
  unsigned number = 0;
  while (line.consume_front("%")) {
    StringRef name = line.take_while(isNameChar);
    line = line.drop_front(name.size());
    unsigned count = 1;
    if (line.consume_front(":") && line.consumeInteger(10, count))
      count = 1;
    scopes_.back().values[name] = {self, static_cast<int>(number)};
    number += count;
    if (!line.consume_front(", "))
      break;
  }
  ops[self].numResults = number;
  line.consume_front(" = ");
  return line;
}

// Reads the value that begins at `at`; returns where it ends.
size_t Reader::readValue(StringRef body, size_t at, unsigned self) {
  StringRef name = body.substr(at + 1).take_while(isNameChar);
  size_t end = at + 1 + name.size();
  unsigned part = 0;
  if (end < body.size() && body[end] == '#') {
    StringRef digits = body.substr(end + 1).take_while(llvm::isDigit);
    if (!digits.getAsInteger(10, part))
      end += 1 + digits.size();
  }
  // The innermost definition counts.
  for (const Scope &scope : llvm::reverse(scopes_))
    if (auto found = scope.values.find(name); found != scope.values.end()) {
      ValueUse use = found->second;
      if (use.number >= 0)
        use.number += part;
      ops[self].operands.push_back(use);
      return end;
    }
  auto [argument, isNew] = arguments_.try_emplace(
      name, ValueUse{self, -1 - static_cast<int>(arguments_.size())});
  ops[self].operands.push_back(argument->second);
  return end;
}

// Fills the text, the operands and the nodes of `self`.
void Reader::readBody(StringRef body, unsigned self) {
  std::string text;
  size_t lastLocation = StringRef::npos;
  for (size_t i = 0; i < body.size();) {
    if (body[i] == '"') {
      size_t end = endOfString(body, i);
      text += body.slice(i, end);
      i = end;
    } else if (body.substr(i).starts_with(" loc(")) {
      lastLocation = i;
      i = endOfParenthesis(body, i + 4);
    } else if (body[i] == '%') {
      text += '%';
      i = readValue(body, i, self);
    } else {
      size_t end = std::min(body.find_first_of("\"% ", i + 1), body.size());
      text += body.slice(i, end);
      i = end;
      // Not the location of the op, but of an argument in the line.
      lastLocation = StringRef::npos;
    }
  }
  llvm::StringSet<> known;
  if (lastLocation != StringRef::npos)
    for (const LocationName &name :
         namesInLocation(body.substr(lastLocation))) {
      std::string text = name.provenance();
      if (known.insert(text).second)
        ops[self].nodes.push_back(std::move(text));
    }
  ops[self].text = std::move(text);
}

void Reader::read(StringRef line) {
  line = line.trim();
  arguments_.clear();
  if (line.empty())
    return;
  if (line.consume_front("}"))
    return close(line);
  unsigned self = ops.size();
  ops.emplace_back();
  ops[self].depth = scopes_.size() - 1;
  readBody(defineResults(line, self), self);
  StringRef text = ops[self].text;
  if (text.starts_with("^")) {
    for (auto &argument : arguments_)
      scopes_.back().values[argument.getKey()] = argument.getValue();
  } else if (text.ends_with("{")) {
    scopes_.push_back({self, {}});
    scopes_.back().values = arguments_;
  }
}

std::vector<OpText> compiler::readOps(StringRef text) {
  Reader reader;
  while (!text.empty()) {
    StringRef line;
    std::tie(line, text) = text.split('\n');
    reader.read(line);
  }
  return std::move(reader.ops);
}
