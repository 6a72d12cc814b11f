//===- RelativeNumbers.cpp - SSA numbers relative to lines ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/trace/RelativeNumbers.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

static constexpr char kRelative = '\1';

/// Copies `text`. Where it has `mark`, `rewrite` gets what follows it and
/// whether the line begins there. It returns how many characters it consumed,
/// after it appended their replacement; 0 if there is none. Nullopt: the text
/// is wrong.
static std::optional<std::string> replaceMarks(
    StringRef text, char mark,
    llvm::function_ref<std::optional<size_t>(StringRef, bool, std::string &)>
        rewrite) {
  std::string result;
  result.reserve(text.size() + text.size() / 8);
  size_t copied = 0; // of `text`
  for (size_t at = 0; (at = text.find(mark, at)) != StringRef::npos;) {
    size_t begin = at;
    while (begin > 0 && text[begin - 1] == ' ')
      --begin;
    const bool isLineStart = begin == 0 || text[begin - 1] == '\n';
    result.append(text.data() + copied, at - copied);
    std::optional<size_t> consumed =
        rewrite(text.drop_front(at + 1), isLineStart, result);
    if (!consumed)
      return std::nullopt;
    copied = *consumed ? at + 1 + *consumed : at;
    at += 1 + *consumed;
  }
  result.append(text.data() + copied, text.size() - copied);
  return result;
}

// A number as MLIR prints it: of few digits, without zeros in front.
static std::optional<int64_t> leadingNumber(StringRef digits) {
  int64_t number = 0;
  if (digits.empty() || digits.size() > 9 ||
      (digits.size() > 1 && digits.front() == '0') ||
      digits.getAsInteger(10, number))
    return std::nullopt;
  return number;
}

std::optional<std::string> compiler::relativeNumbers(StringRef text) {
  if (text.contains(kRelative))
    return std::nullopt;
  int64_t last = 0;
  return replaceMarks(text, '%',
                      [&](StringRef rest, bool isLineStart,
                          std::string &result) -> std::optional<size_t> {
                        StringRef digits = rest.take_while(llvm::isDigit);
                        std::optional<int64_t> number = leadingNumber(digits);
                        if (!number)
                          return 0;
                        result += kRelative + std::to_string(last - *number);
                        if (isLineStart)
                          last = *number;
                        return digits.size();
                      });
}

std::optional<std::string> compiler::absoluteNumbers(StringRef relative) {
  int64_t last = 0;
  return replaceMarks(
      relative, kRelative,
      [&](StringRef rest, bool isLineStart,
          std::string &result) -> std::optional<size_t> {
        StringRef sign = rest.take_front(rest.starts_with("-") ? 1 : 0);
        StringRef digits =
            rest.drop_front(sign.size()).take_while(llvm::isDigit);
        std::optional<int64_t> distance = leadingNumber(digits);
        if (!distance)
          return std::nullopt;
        int64_t number = sign.empty() ? last - *distance : last + *distance;
        if (number < 0)
          return std::nullopt;
        result += "%" + std::to_string(number);
        if (isLineStart)
          last = number;
        return sign.size() + digits.size();
      });
}
