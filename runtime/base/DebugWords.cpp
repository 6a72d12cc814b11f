//===- DebugWords.cpp - what SINTER_DEBUG asks for ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/DebugWords.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace sinter::rt {

Result<bool> hasDebugWord(std::string_view word) {
  const char *words = std::getenv("SINTER_DEBUG");
  std::string_view rest = words ? words : "";
  bool isFound = false;
  while (!rest.empty()) {
    std::string_view each = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(each.size() + 1, rest.size()));
    if (each != freshWeightsWord && each != separateSlicesWord &&
        each != serialLaunchesWord)
      return Status::invalid(
          "SINTER_DEBUG: '" + std::string(each) +
          "' is not fresh-weights, separate-slices or serial-launches");
    isFound |= each == word;
  }
  return isFound;
}

} // namespace sinter::rt
