//===- FloatFunctionsTest.cpp ---------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/PostOps.h"
#include "runtime/base/Gelu.h"

#include "catch2/catch.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

using namespace sinter;

namespace {

/// What the post-op makes of `x`, with the widest registers of this CPU.
std::vector<float> applied(uint32_t kind, std::vector<float> x) {
  sinter_post_op op = {};
  op.kind = kind;
  const cpu::PostOpOperand none;
  const auto count = static_cast<int64_t>(x.size());
  cpu::applyPostOps({&op, 1}, {x.data(), 1, count, count, 1}, &none);
  return x;
}

/// Numbers of both signs from 2^-126 to 2^7, and zeros.
std::vector<float> numbers() {
  std::vector<float> x{0.0F, -0.0F};
  for (float size = 0x1p-126F; size < 128.0F; size *= 1.0009F)
    x.insert(x.end(), {size, -size});
  return x;
}

/// The largest |error| / max(|wanted|, leastSize(x)).
double largestError(uint32_t kind, const std::function<double(double)> &wanted,
                    const std::function<double(double)> &leastSize) {
  const std::vector<float> x = numbers(), y = applied(kind, x);
  double largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = wanted(x[i]);
    const double error =
        std::fabs(y[i] - exact) / std::max(std::fabs(exact), leastSize(x[i]));
    INFO("x = " << x[i] << ", result " << y[i] << ", wanted " << exact);
    REQUIRE(std::isfinite(error));
    largest = std::max(largest, error);
  }
  return largest;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

} // namespace

TEST_CASE("functions of post-ops are near float64", "[float-functions]") {
  // Results near the least normal number may be 0.
  auto normal = [](double) { return 0x1p-90; };
  CHECK(largestError(SINTER_POST_SIGMOID, sigmoid, normal) < 0x1p-21);
  CHECK(largestError(
            SINTER_POST_SWISH, [](double x) { return x * sigmoid(x); },
            normal) < 0x1p-21);
  CHECK(largestError(
            SINTER_POST_HARD_SWISH,
            [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); },
            [](double x) { return std::max(std::fabs(x), 0x1p-126); }) <
        0x1p-22);
  // The error is relative to x where the gate is rounded.
  auto size = [](double x) { return std::max(std::fabs(x), 0x1p-126); };
  CHECK(largestError(
            SINTER_POST_GELU_ERF,
            [](double x) { return x / 2 * std::erfc(-x * std::sqrt(0.5)); },
            size) < 0x1p-22);
  CHECK(largestError(
            SINTER_POST_GELU_TANH,
            [](double x) {
              return x / 2 * (1 + std::tanh(rt::gelu::tanhArgument(x)));
            },
            size) < 0x1p-21);
}

TEST_CASE("functions of post-ops at special values", "[float-functions]") {
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  for (uint32_t kind : {SINTER_POST_SIGMOID, SINTER_POST_SWISH,
                        SINTER_POST_GELU_ERF, SINTER_POST_GELU_TANH}) {
    INFO("post-op " << kind);
    const std::vector<float> y = applied(
        kind, {nan, infinity, -infinity, 3e38F, -3e38F, 1e-40F, -20.0F});
    const bool isGate = kind == SINTER_POST_SIGMOID;
    CHECK(std::isnan(y[0]));
    CHECK(y[1] == (isGate ? 1.0F : infinity));
    if (isGate)
      CHECK(y[2] == 0.0F);
    else
      CHECK(std::isnan(y[2])); // -inf times 0, as PyTorch
    CHECK(y[3] == (isGate ? 1.0F : 3e38F));
    CHECK(y[4] == 0.0F);
    CHECK(y[5] == (Approx(isGate ? 0.5F : 0.5e-40F)));
    CHECK(std::fabs(y[6]) < 1e-7F);
  }
}
