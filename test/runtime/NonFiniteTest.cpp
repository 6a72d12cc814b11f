//===- NonFiniteTest.cpp - summaries and injections -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "runtime/harness/NonFinite.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

using namespace sinter::rt;

TEST_CASE("summaries of floats", "[nonfinite]") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float values[] = {1, -2.5f, -infinity, NAN, 7};
  FloatSummary summary = summarize(SINTER_F32, values, sizeof(values));
  CHECK(summary.kinds == (FloatSummary::NaN | FloatSummary::MinusInfinity));
  CHECK(summary.count == 5);
  CHECK(summary.numBad == 2);
  CHECK(summary.firstBad == 2);
  CHECK(rangeText(summary) == "2 of 5 not finite, the others from -2.5 to 7");
  CHECK(kindText(summary.kinds) == std::string("NaN"));

  // 1, the largest, infinity, the least above 0.
  const uint16_t halves[] = {0x3c00, 0x7bff, 0x7c00, 0x0001};
  summary = summarize(SINTER_F16, halves, sizeof(halves));
  CHECK(summary.kinds == FloatSummary::Infinity);
  CHECK(summary.firstBad == 2);
  CHECK(summary.greatest == 65504);
  CHECK(summary.least == std::ldexp(1.0, -24));

  const uint16_t bfloats[] = {0x3f80, 0xff80, 0x7fc0};
  summary = summarize(SINTER_BF16, bfloats, sizeof(bfloats));
  CHECK(summary.kinds == (FloatSummary::NaN | FloatSummary::MinusInfinity));
  CHECK(summary.greatest == 1);

  const double large = 1e300;
  CHECK(summarize(SINTER_F64, &large, sizeof(large)).kinds == 0);
  CHECK(summarize(SINTER_F32, nullptr, 0).count == 0);
}

TEST_CASE("where to inject", "[nonfinite]") {
  Result<Injection> node = parseInjection("/block/mlp:0/Gemm@12");
  REQUIRE(node.ok());
  CHECK(node->node == "/block/mlp:0/Gemm");
  CHECK(node->step == 11);
  Result<Injection> command = parseInjection("grad:7@1");
  REQUIRE(command.ok());
  CHECK(command->node.empty());
  CHECK(command->entry == "grad");
  CHECK(command->command.number() == "7");
  CHECK(command->step == 0);
  CHECK(parseInjection("step:6.1@2")->command.number() == "6.1, trip 0");
  CHECK(parseInjection("step:6.1, trip 2@2")->command.number() ==
        "6.1, trip 2");
  CHECK(parseInjection("step:6.x@2")->node == "step:6.x");
  CHECK(parseInjection("step:6.1, trip@2")->node == "step:6.1, trip");
  for (const char *text :
       {"", "@", "@1", "conv1", "conv1@", "conv1@0", "conv1@-1", "conv1@1x",
        "conv1@99999999999999999999"})
    CHECK(parseInjection(text).status().code() == SINTER_INVALID);
}
