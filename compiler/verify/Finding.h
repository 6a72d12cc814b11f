//===- Finding.h - what a check found, field by field -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_FINDING_H
#define SINTER_COMPILER_VERIFY_FINDING_H

#include "compiler/base/Text.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <utility>
#include <vector>

namespace sinter::compiler {

/// Names of fields with their values. Those that are not known are empty.
using FindingFields = std::vector<std::pair<const char *, std::string>>;

/// One line for each field that is known.
inline std::string linesOf(const FindingFields &fields) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const auto &[name, value] : fields)
    if (!value.empty())
      os << llvm::left_justify(name, 9) << shown(value, 400) << "\n";
  return text;
}

/// The fields that are known.
inline llvm::json::Object jsonOf(const FindingFields &fields) {
  llvm::json::Object object;
  for (const auto &[name, value] : fields)
    if (!value.empty())
      object[name] = llvm::json::fixUTF8(value);
  return object;
}

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_FINDING_H
