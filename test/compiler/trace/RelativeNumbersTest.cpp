//===- RelativeNumbersTest.cpp - texts survive relative numbers -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/trace/RelativeNumbers.h"

#include <catch2/catch.hpp>

using namespace sinter;
using namespace sinter::compiler;

TEST_CASE("numbers count back from the last result") {
  CHECK(*relativeNumbers("  %7 = op %arg0, %3\n"
                         "  %8:2 = op %7#1, %6 {x = \"%\"}\n"
                         "  return %8#0, %12\n") ==
        "  \1-7 = op %arg0, \0014\n"
        "  \1-1:2 = op \0011#1, \0012 {x = \"%\"}\n"
        "  return \0010#0, \1-4\n");
}

TEST_CASE("an op more above leaves the lines below as they were") {
  std::string before = *relativeNumbers("%0 = a\n%1 = b %0\n%2 = c %1, %0\n");
  std::string after =
      *relativeNumbers("%0 = x\n%1 = a\n%2 = b %1\n%3 = c %2, %1\n");
  auto tail = [](const std::string &text) {
    return text.substr(text.find("b"));
  };
  CHECK(tail(before) == tail(after));
}

TEST_CASE("the text comes back") {
  for (std::string text :
       {"", "%", "%%", "%0", "%007 = a", "100%", "%1234567890 = a %1",
        "\"%-5d %5\"", "%arg0 = %1\n%1", "^bb3(%2: i1):\n %0_1 = a", "%5",
        "%999999999 = a\n%0 = b %999999999\n", "\n\n  \n%3 = a\n    %2 = b"}) {
    CAPTURE(text);
    std::optional<std::string> relative = relativeNumbers(text);
    REQUIRE(relative);
    CHECK(absoluteNumbers(*relative) == text);
  }
}

TEST_CASE("no text is taken that would not come back") {
  CHECK(!relativeNumbers("a \1 b"));
  for (std::string text : {"\1", "\1x", "\1-", "\0015", "\1--5", "\00100",
                           "\1-1234567890", "\1-2 = a\n\0013"}) {
    CAPTURE(text);
    CHECK(!absoluteNumbers(text));
  }
}
