//===- ExpectedFailures.h - the tests that fail, and why --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_CONFORMANCE_EXPECTEDFAILURES_H
#define SINTER_TEST_CONFORMANCE_EXPECTEDFAILURES_H

#include <map>
#include <optional>
#include <string>

namespace sinter::conformance {

/// Test -> reason, from lines "test_name: reason"; '#' begins a comment.
/// Nothing, and the bad line in `why`, when the file cannot be read or a line
/// has no reason.
std::optional<std::map<std::string, std::string>>
readExpectedFailures(const std::string &path, std::string &why);

} // namespace sinter::conformance

#endif // SINTER_TEST_CONFORMANCE_EXPECTEDFAILURES_H
