//===- Pattern.cpp - an extended regular expression -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Pattern.h"

#include <regex.h>

using namespace sinter::rt;

struct Pattern::Compiled {
  regex_t regex;
  bool isValid = false;
  ~Compiled() {
    if (isValid)
      ::regfree(&regex);
  }
};

Result<Pattern> Pattern::create(const std::string &text) {
  auto compiled = std::make_shared<Compiled>();
  if (text.empty())
    return Status::invalid("expected a regular expression");
  if (int code = ::regcomp(&compiled->regex, text.c_str(), REG_EXTENDED)) {
    char reason[128];
    ::regerror(code, &compiled->regex, reason, sizeof(reason));
    return Status::invalid("is not a regular expression: " +
                           std::string(reason));
  }
  compiled->isValid = true;
  Pattern pattern;
  pattern.text_ = text;
  pattern.compiled_ = std::move(compiled);
  return pattern;
}

bool Pattern::matches(const std::string &name) const {
  return ::regexec(&compiled_->regex, name.c_str(), 0, nullptr, 0) == 0;
}

std::optional<std::string>
Pattern::replaced(const std::string &name,
                  const std::string &replacement) const {
  regmatch_t groups[10];
  if (::regexec(&compiled_->regex, name.c_str(), 10, groups, 0) != 0)
    return std::nullopt;
  std::string result = name.substr(0, groups[0].rm_so);
  for (size_t i = 0; i < replacement.size(); ++i) {
    const char next = i + 1 < replacement.size() ? replacement[i + 1] : '\0';
    if (replacement[i] != '\\' || next == '\0') {
      result += replacement[i];
      continue;
    }
    ++i;
    if (next < '0' || next > '9') {
      result += next;
      continue;
    }
    const regmatch_t &group = groups[next - '0'];
    if (group.rm_so >= 0)
      result += name.substr(group.rm_so, group.rm_eo - group.rm_so);
  }
  return result + name.substr(groups[0].rm_eo);
}
