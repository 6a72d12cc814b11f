//===- Arithmetic.cpp - PTX arithmetic that x86 lacks ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/Arithmetic.h"
#include "runtime/base/Float16.h"

#include "sinter/sim.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

namespace sinter::sim {
namespace {

// Sets the rounding mode of x86 for one computation. Operands and results go
// through volatile variables, so that the compiler does not move the
// computation out of the scope.
class Rounding {
public:
  explicit Rounding(uint32_t rounding)
      : isSet_(rounding != SINTER_SIM_NEAREST) {
    if (isSet_)
      std::fesetround(rounding == SINTER_SIM_TO_ZERO ? FE_TOWARDZERO
                      : rounding == SINTER_SIM_DOWN  ? FE_DOWNWARD
                                                     : FE_UPWARD);
  }
  ~Rounding() {
    if (isSet_)
      std::fesetround(FE_TONEAREST);
  }

private:
  bool isSet_;
};

template <typename T> T compute(uint32_t op, uint32_t rounding, T a, T b, T c) {
  volatile T x = a, y = b, z = c, result = 0;
  {
    Rounding scope(rounding);
    switch (op) {
    case SINTER_SIM_FADD:
      result = x + y;
      break;
    case SINTER_SIM_FMUL:
      result = x * y;
      break;
    case SINTER_SIM_FDIV:
      result = x / y;
      break;
    case SINTER_SIM_FMA:
      result = std::fma(T(x), T(y), T(z));
      break;
    case SINTER_SIM_SQRT:
      result = std::sqrt(T(x));
      break;
    default:
      break;
    }
  }
  return result;
}

double approximate(uint32_t op, double x) {
  switch (op) {
  case SINTER_SIM_EXP2:
    return std::exp2(x);
  case SINTER_SIM_LOG2:
    return std::log2(x);
  case SINTER_SIM_SIN:
    return std::sin(x);
  case SINTER_SIM_COS:
    return std::cos(x);
  case SINTER_SIM_TANH:
    return std::tanh(x);
  case SINTER_SIM_RSQRT:
    return 1 / std::sqrt(x);
  default:
    return 1 / x;
  }
}

template <typename T> T math(uint32_t op, uint32_t rounding, T a, T b, T c) {
  switch (op) {
  case SINTER_SIM_FLOOR:
    return std::floor(a);
  case SINTER_SIM_CEIL:
    return std::ceil(a);
  case SINTER_SIM_TRUNC:
    return std::trunc(a);
  case SINTER_SIM_ROUND_AWAY:
    return std::round(a);
  case SINTER_SIM_ROUND_EVEN:
    return std::nearbyint(a);
  case SINTER_SIM_FADD:
  case SINTER_SIM_FMUL:
  case SINTER_SIM_FDIV:
  case SINTER_SIM_FMA:
  case SINTER_SIM_SQRT:
    return compute(op, rounding, a, b, c);
  default:
    return T(approximate(op, double(a)));
  }
}

struct Format {
  int digits;   // of the mantissa, including the hidden one
  int lowest;   // exponent of the smallest normal number
  int greatest; // exponent of the largest finite numbers
};

Format formatOf(uint32_t format) {
  return format == SINTER_SIM_F16 ? Format{11, -14, 15} : Format{8, -126, 127};
}

// Rounds `value` to an integer.
double roundInteger(double value, uint32_t rounding) {
  switch (rounding) {
  case SINTER_SIM_TO_ZERO:
    return std::trunc(value);
  case SINTER_SIM_DOWN:
    return std::floor(value);
  case SINTER_SIM_UP:
    return std::ceil(value);
  default:
    return std::nearbyint(value);
  }
}

} // namespace

float mathF32(uint32_t op, uint32_t rounding, float a, float b, float c) {
  return math(op, rounding, a, b, c);
}

double mathF64(uint32_t op, uint32_t rounding, double a, double b, double c) {
  return math(op, rounding, a, b, c);
}

float widen(uint32_t format, uint32_t bits) {
  auto word = static_cast<uint16_t>(bits);
  return format == SINTER_SIM_BF16 ? rt::toFloat(rt::Bfloat{word})
                                   : rt::toFloat(rt::Half{word});
}

uint32_t narrow(uint32_t format, uint32_t rounding, double value) {
  if (std::isnan(value))
    return 0x7fff;
  auto [digits, lowest, greatest] = formatOf(format);
  uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  uint32_t infinity = uint32_t(2 * greatest + 1) << (digits - 1);
  if (std::isinf(value))
    return sign | infinity;
  if (value == 0)
    return sign;
  int exponent = std::max(std::ilogb(value), lowest);
  // In units of the last digit.
  double scaled =
      roundInteger(std::ldexp(value, digits - 1 - exponent), rounding);
  auto units = uint32_t(std::fabs(scaled));
  // A carry out of the digits increments the exponent by itself.
  uint32_t bits = (uint32_t(exponent - lowest) << (digits - 1)) + units;
  if (bits < infinity)
    return sign | bits;
  bool staysFinite = rounding == SINTER_SIM_TO_ZERO ||
                     (rounding == SINTER_SIM_DOWN && !sign) ||
                     (rounding == SINTER_SIM_UP && sign);
  return sign | (staysFinite ? infinity - 1 : infinity);
}

// The product has at most 22 digits and is exact. The sum is rounded to odd in
// fp64, so that the second rounding cannot mistake it for a tie.
uint32_t fmaHalf(uint32_t format, uint32_t a, uint32_t b, uint32_t c) {
  double product = double(widen(format, a)) * double(widen(format, b));
  double addend = widen(format, c);
  volatile double sum = product + addend;
  if (std::isfinite(sum)) {
    volatile double shifted = sum - product;
    volatile double lost = (product - (sum - shifted)) + (addend - shifted);
    auto bits = std::bit_cast<uint64_t>(double(sum));
    if (lost != 0 && (bits & 1) == 0)
      sum = std::nextafter(sum, lost > 0
                                    ? std::numeric_limits<double>::infinity()
                                    : -std::numeric_limits<double>::infinity());
  }
  return narrow(format, SINTER_SIM_NEAREST, sum);
}

} // namespace sinter::sim
