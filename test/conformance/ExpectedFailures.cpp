//===- ExpectedFailures.cpp - the tests that fail, and why ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/conformance/ExpectedFailures.h"

#include <fstream>

namespace sinter::conformance {

std::optional<std::map<std::string, std::string>>
readExpectedFailures(const std::string &path, std::string &why) {
  std::ifstream file(path);
  if (!file) {
    why = path + ": cannot be read";
    return std::nullopt;
  }
  std::map<std::string, std::string> expected;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line.front() == '#')
      continue;
    size_t colon = line.find(": ");
    bool isNew =
        colon != std::string::npos && colon > 0 && colon + 2 < line.size() &&
        expected.emplace(line.substr(0, colon), line.substr(colon + 2)).second;
    if (!isNew) {
      why = path + ":" + std::to_string(number) +
            ": not of the form 'test_name: reason', or there twice";
      return std::nullopt;
    }
  }
  return expected;
}

} // namespace sinter::conformance
