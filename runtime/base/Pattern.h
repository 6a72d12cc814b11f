//===- Pattern.h - an extended regular expression ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A POSIX extended regular expression, as in the compiler's flags. It matches a
// name if it matches any part of it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_PATTERN_H
#define SINTER_RUNTIME_BASE_PATTERN_H

#include "runtime/base/Status.h"

#include <memory>
#include <optional>
#include <string>

namespace sinter::rt {

class Pattern {
public:
  /// SINTER_INVALID when `text` is not an expression.
  static Result<Pattern> create(const std::string &text);

  const std::string &text() const { return text_; }
  bool matches(const std::string &name) const;
  /// `name` with its first match replaced, where \1 to \9 are the groups and \0
  /// is the match; nothing if there is none.
  std::optional<std::string> replaced(const std::string &name,
                                      const std::string &replacement) const;

private:
  struct Compiled;
  std::string text_;
  std::shared_ptr<const Compiled> compiled_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_PATTERN_H
