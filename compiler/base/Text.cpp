//===- Text.cpp - names of a model inside messages ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace sinter::compiler {

/// Bytes of the valid, printable UTF-8 character at the start of `text`, or 0.
static unsigned printableLength(llvm::StringRef text) {
  unsigned char first = text.front();
  if (first < 0x80)
    return first >= 0x20 && first != 0x7f;
  unsigned length = llvm::getNumBytesForUTF8(first);
  if (length < 2 || length > text.size())
    return 0;
  const auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.data());
  if (!llvm::isLegalUTF8Sequence(begin, begin + length))
    return 0;
  // U+0080..U+009F are control characters that terminals also obey.
  if (first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0)
    return 0;
  return length;
}

std::string shown(llvm::StringRef name, size_t limit) {
  std::string text;
  size_t at = 0;
  while (at < name.size() && text.size() < limit) {
    unsigned length = printableLength(name.substr(at));
    if (length) {
      text += name.substr(at, length);
      at += length;
    } else {
      unsigned char byte = name[at++];
      text += "\\x";
      text += llvm::hexdigit(byte >> 4);
      text += llvm::hexdigit(byte & 15);
    }
  }
  if (at < name.size())
    text += "... (" + std::to_string(name.size()) + " bytes)";
  return text;
}

std::string quoted(llvm::StringRef name, size_t limit) {
  return "'" + shown(name, limit) + "'";
}

std::string shortNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3g", value);
  return text;
}

std::string shownShape(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i == 16) {
      text += ", ...";
      break;
    }
    text += (i ? ", " : "") + std::to_string(shape[i]);
  }
  return text + "]";
}

std::string identifier(llvm::StringRef name, llvm::StringRef fallback) {
  std::string text;
  for (char c : name.take_front(64))
    text += llvm::isAlnum(c) ? c : '_';
  if (text.find_first_not_of('_') == std::string::npos)
    text = fallback.str();
  if (llvm::isDigit(text.front()))
    text = "_" + text;
  return text;
}

} // namespace sinter::compiler
