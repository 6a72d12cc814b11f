//===- ScheduleTest.cpp ---------------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The expected values of step, linear, cosine and one-cycle are those of
// PyTorch's StepLR, LinearLR, CosineAnnealingLR and OneCycleLR.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Schedule.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace sinter::rt;

static std::vector<float> rates(const char *text, Schedule::Options options,
                                int64_t count) {
  Result<Schedule> schedule = Schedule::create(text, options);
  INFO(schedule.status().message());
  REQUIRE(schedule.ok());
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(schedule->learningRate(i));
  return values;
}

static void checkRates(const std::vector<float> &got,
                       const std::vector<double> &expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    CHECK(got[i] == Approx(expected[i]).epsilon(1e-5));
}

TEST_CASE("constant is the same float at every step", "[schedule]") {
  Schedule::Options options;
  options.lr = 0.1f;
  for (float lr : rates("constant", options, 5))
    CHECK(lr == 0.1f);
}

TEST_CASE("step, linear and cosine", "[schedule]") {
  Schedule::Options options;
  options.lr = 0.1;
  options.totalSteps = 4;
  checkRates(rates("step:2,0.5", options, 6),
             {0.1, 0.1, 0.05, 0.05, 0.025, 0.025});
  options.totalSteps = 5; // the last one has the final rate
  checkRates(rates("linear", options, 5), {0.1, 0.075, 0.05, 0.025, 0.0});
  checkRates(rates("cosine", options, 5),
             {0.1, 0.0853553391, 0.05, 0.0146446609, 0.0});
  options.lrFinal = 0.02;
  checkRates(rates("linear", options, 6), {0.1, 0.08, 0.06, 0.04, 0.02, 0.02});
  checkRates(rates("cosine", options, 3), {0.1, 0.0882842712, 0.06});
  options.totalSteps = 1;
  checkRates(rates("linear", options, 1), {0.1});
  checkRates(rates("cosine", options, 1), {0.1});
}

TEST_CASE("one-cycle", "[schedule]") {
  Schedule::Options options;
  options.lr = 1.0;
  options.totalSteps = 10;
  checkRates(rates("one-cycle", options, 10),
             {0.04, 0.52, 1.0, 0.9504846320, 0.8117456539, 0.6112620219,
              0.3887419781, 0.1882583461, 0.0495193680, 4e-06});
  options.totalSteps = 1;
  CHECK(std::isfinite(rates("one-cycle", options, 1)[0]));
  options.warmupSteps = 1;
  options.totalSteps = 3;
  checkRates(rates("one-cycle", options, 2), {1.0, 0.500002});
}

TEST_CASE("warm-up rises to the rate and the schedule starts after it",
          "[schedule]") {
  Schedule::Options options;
  options.lr = 0.4;
  options.warmupSteps = 4;
  options.totalSteps = 9;
  checkRates(rates("linear", options, 9),
             {0.1, 0.2, 0.3, 0.4, 0.4, 0.3, 0.2, 0.1, 0.0});
}

TEST_CASE("schedules that make no sense are refused", "[schedule]") {
  Schedule::Options options;
  for (const char *text : {"", "cos", "step", "step:", "step:0,1", "step:5",
                           "step:5,", "step:5,-1", "step:5,nan", "step:5,1x"})
    CHECK(!Schedule::create(text, options).ok());
  options.lrFinal = 0.1;
  CHECK(!Schedule::create("constant", options).ok());
}
