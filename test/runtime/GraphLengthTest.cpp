//===- GraphLengthTest.cpp - how many steps are one graph -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/GraphLength.h"

#include <catch2/catch.hpp>

using namespace sinter::rt;

TEST_CASE("graphs take the fewest launches", "[harness][graph]") {
  CHECK(graphLength(16, 12) == 12);
  CHECK(graphLength(16, 32) == 16);
  CHECK(graphLength(16, 40) == 13); // 3 and a step; 16 leave 8
  CHECK(graphLength(16, 1) == 1);
  CHECK(graphLength(1, 100) == 1);
  for (int64_t most = 1; most <= 16; ++most)
    for (int64_t span = 1; span <= 100; ++span) {
      auto launches = [&](int64_t length) {
        return span / length + span % length;
      };
      const int64_t length = graphLength(most, span);
      CHECK(length >= 1);
      CHECK(length <= most);
      for (int64_t other = 1; other <= most; ++other)
        CHECK(launches(length) <= launches(other));
    }
}

TEST_CASE("graphs of slow steps are short", "[harness][graph]") {
  CHECK(mostStepsWithin(1e-6, 16) == 16);
  CHECK(mostStepsWithin(0.0625, 16) == 16);
  CHECK(mostStepsWithin(0.07, 16) == 14);
  CHECK(mostStepsWithin(0.3, 16) == 3);
  CHECK(mostStepsWithin(0.3, 2) == 2);
  CHECK(mostStepsWithin(60, 16) == 1);
  CHECK(mostStepsWithin(0, 16) == 16);
}
