//===- SaveTimesTest.cpp - when checkpoints are due -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/SaveTimes.h"

#include <catch2/catch.hpp>

using sinter::rt::SaveTimes;
using std::chrono::seconds;

static SaveTimes::Clock::time_point at(int64_t second) {
  return SaveTimes::Clock::time_point(seconds(second));
}

TEST_CASE("save times: a save by time that failed is tried again sooner",
          "[harness][save]") {
  SaveTimes times(0, 600, at(0));
  CHECK(!times.isDue(1, at(599)));
  CHECK(times.isDue(1, at(600)));
  CHECK(times.failed(1, at(600)) == "in 60 s");
  CHECK(!times.isDue(2, at(659)));
  CHECK(times.isDue(2, at(660)));
  // Each further failure doubles the time, up to the interval.
  CHECK(times.failed(2, at(660)) == "in 120 s");
  CHECK(times.failed(3, at(780)) == "in 240 s");
  CHECK(times.failed(4, at(1020)) == "in 480 s");
  CHECK(times.failed(5, at(1500)) == "in 600 s");
  CHECK(!times.isDue(6, at(2099)));
  CHECK(times.isDue(6, at(2100)));
  times.saved(at(2100));
  CHECK(!times.isDue(7, at(2699)));
  CHECK(times.failed(7, at(2700)) == "in 60 s");
}

TEST_CASE("save times: short and long intervals", "[harness][save]") {
  CHECK(SaveTimes(0, 1, at(0)).failed(1, at(1)) == "in 1 s");
  CHECK(SaveTimes(0, 5, at(0)).failed(1, at(5)) == "in 1 s");
  CHECK(SaveTimes(0, 90, at(0)).failed(1, at(90)) == "in 9 s");
  CHECK(SaveTimes(0, 7200, at(0)).failed(1, at(7200)) == "in 60 s");
}

TEST_CASE("save times: a save by steps that failed is tried again by time",
          "[harness][save]") {
  SaveTimes times(100, 0, at(0));
  CHECK(!times.isDue(99, at(5000)));
  CHECK(times.isDue(100, at(5000)));
  CHECK(times.failed(100, at(5000)) ==
        "in 60 s, or after step 200 if that is sooner");
  CHECK(!times.isDue(150, at(5059)));
  CHECK(times.isDue(150, at(5060)));
  CHECK(times.isDue(200, at(5001)));
  CHECK(times.failed(150, at(5060)) ==
        "in 120 s, or after step 200 if that is sooner");
  times.saved(at(5100));
  CHECK(!times.isDue(250, at(9000)));
  // Only what was asked for by a signal.
  SaveTimes never(0, 0, at(0));
  CHECK(!never.isDue(1, at(100000)));
  CHECK(never.failed(1, at(0)) == "in 60 s");
  CHECK(never.isDue(2, at(60)));
  for (int i = 0; i < 9; ++i)
    (void)never.failed(1, at(0));
  CHECK(never.failed(1, at(0)) == "in 600 s");
}
