//===- LocationText.cpp - the locations in printed IR ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/LocationText.h"

#include "ir/Provenance.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

std::string compiler::stringLiteral(StringRef name) {
  std::string literal = "\"";
  llvm::raw_string_ostream os(literal);
  llvm::printEscapedString(name, os);
  os << '"';
  return literal;
}

size_t compiler::endOfString(StringRef line, size_t at) {
  for (size_t i = at + 1; i < line.size(); ++i) {
    if (line[i] == '\\')
      ++i;
    else if (line[i] == '"')
      return i + 1;
  }
  return line.size();
}

size_t compiler::endOfParenthesis(StringRef line, size_t at) {
  int depth = 0;
  for (size_t i = at; i < line.size(); ++i) {
    if (line[i] == '"') {
      i = endOfString(line, i) - 1;
      continue;
    }
    depth += line[i] == '(' ? 1 : line[i] == ')' ? -1 : 0;
    if (depth == 0)
      return i + 1;
  }
  return line.size();
}

// A string literal without its quotes and escapes: \\, \" and \XX.
static std::string unescaped(StringRef literal) {
  literal.consume_front("\"");
  literal.consume_back("\"");
  std::string text;
  for (size_t i = 0; i < literal.size(); ++i) {
    uint8_t value = 0;
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      text += literal[i];
    } else if (i + 2 < literal.size() &&
               !literal.substr(i + 1, 2).getAsInteger(16, value)) {
      text += static_cast<char>(value);
      i += 2;
    } else {
      text += literal[++i];
    }
  }
  return text;
}

std::string LocationName::provenance() const {
  std::string text = isPart ? ir::partName(name) : ir::nodeName(name);
  return isGradient ? ir::gradientName(text) : text;
}

std::vector<LocationName> compiler::namesInLocation(StringRef location) {
  std::vector<LocationName> names;
  llvm::SmallVector<LocationName> around = {LocationName()}; // of the brackets
  LocationName next; // of the bracket that begins after its metadata
  for (size_t i = 0; i < location.size(); ++i) {
    if (location[i] == '[') {
      around.push_back(next);
    } else if (location[i] == ']' && around.size() > 1) {
      around.pop_back();
    }
    if (location[i] == '[' || location[i] == ']')
      next = around.back();
    if (location[i] != '"')
      continue;
    size_t end = endOfString(location, i);
    std::string text = unescaped(location.slice(i, end));
    if (i && location[i - 1] == '<') {
      next.isPart |= text == ir::kStep;
      next.isGradient |= text == "gradient";
      next.isInitializer |= text == ir::kInitializer;
    } else {
      names.push_back(around.back());
      names.back().name = std::move(text);
    }
    i = end - 1;
  }
  return names;
}

StringRef compiler::opLocation(StringRef line) {
  size_t last = StringRef::npos, end = 0;
  for (size_t i = 0; i < line.size();) {
    if (line[i] == '"') {
      i = endOfString(line, i);
    } else if (line.substr(i).starts_with(" loc(")) {
      last = i + 1;
      i = end = endOfParenthesis(line, i + 4);
    } else {
      ++i;
    }
  }
  // What follows belongs to the op: the location is that of an argument.
  return last != StringRef::npos && line.substr(end).trim().empty()
             ? line.slice(last, end)
             : StringRef();
}

bool compiler::comesFrom(StringRef text, StringRef name) {
  // A node may be called "grad(x)" or "<loss>".
  llvm::SmallSetVector<StringRef, 4> literals;
  for (StringRef own : {ir::nodeOfName(name), name}) {
    literals.insert(own);
    if (StringRef part = own;
        part.consume_front("\\") ||
        (part.consume_front("<") && part.consume_back(">")))
      literals.insert(part);
  }
  for (StringRef node : literals) {
    const std::string literal = stringLiteral(node);
    for (size_t at = 0; (at = text.find(literal, at)) != StringRef::npos;) {
      size_t begin = text.rfind('\n', at) + 1, end = text.find('\n', at);
      StringRef line = text.slice(begin, end).ltrim();
      if (!line.starts_with("sinter.state "))
        for (const LocationName &each : namesInLocation(opLocation(line)))
          if (!each.isInitializer && each.provenance() == name)
            return true;
      if (end == StringRef::npos)
        break;
      at = end;
    }
  }
  return false;
}
