//===- MathFunctions.cpp - elementary functions as arithmetic -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/MathFunctions.h"
#include "passes/kernels/Constants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

using namespace mlir;

namespace sinter::passes {

// log(2) and pi/2 as sums of parts. All but the last part have trailing zeros,
// so that their products with small integers are exact.
static constexpr double kLn2High = 0x1.62e42fee00000p-1,
                        kLn2Low = 0x1.a39ef35793c76p-33;
static constexpr double kHalfPi1 = 0x1.921fb54400000p+0,
                        kHalfPi2 = 0x1.0b4611a600000p-34,
                        kHalfPi3 = 0x1.3198a2e037073p-69;
static constexpr double kInfinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Small builders
//===----------------------------------------------------------------------===//

Value MathFunctions::number(double value) {
  return constantOf(b, type, b.getF64FloatAttr(value));
}
Value MathFunctions::integer(int64_t value) {
  Type integers = b.getI64Type();
  if (auto vector = dyn_cast<VectorType>(type))
    integers = vector.clone(integers);
  return constantOf(b, integers, b.getI64IntegerAttr(value));
}
Value MathFunctions::add(Value x, Value y) {
  return b.create<arith::AddFOp>(x, y);
}
Value MathFunctions::sub(Value x, Value y) {
  return b.create<arith::SubFOp>(x, y);
}
Value MathFunctions::mul(Value x, Value y) {
  return b.create<arith::MulFOp>(x, y);
}
Value MathFunctions::div(Value x, Value y) {
  return b.create<arith::DivFOp>(x, y);
}
Value MathFunctions::fma(Value x, Value y, Value z) {
  return b.create<math::FmaOp>(x, y, z);
}
Value MathFunctions::abs(Value x) { return b.create<math::AbsFOp>(x); }
Value MathFunctions::sqrt(Value x) { return b.create<math::SqrtOp>(x); }
Value MathFunctions::round(Value x) { return b.create<math::RoundEvenOp>(x); }
Value MathFunctions::select(Value condition, Value x, Value y) {
  return b.create<arith::SelectOp>(condition, x, y);
}
Value MathFunctions::less(Value x, Value y) {
  return b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, y);
}
Value MathFunctions::equal(Value x, Value y) {
  return b.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x, y);
}
Value MathFunctions::isNan(Value x) {
  return b.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x);
}
static Type integerType(Type type) {
  Type i64 = IntegerType::get(type.getContext(), 64);
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(i64);
  return i64;
}
Value MathFunctions::toInt(Value x) {
  return b.create<arith::FPToSIOp>(integerType(type), x);
}
Value MathFunctions::bitsOf(Value x) {
  return b.create<arith::BitcastOp>(integerType(type), x);
}
Value MathFunctions::fromBits(Value bits) {
  return b.create<arith::BitcastOp>(type, bits);
}
Value MathFunctions::withSignOf(Value magnitude, Value sign) {
  return b.create<math::CopySignOp>(magnitude, sign);
}
Value MathFunctions::polynomial(Value x, ArrayRef<double> coefficients) {
  Value sum = number(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, number(coefficient));
  return sum;
}

/// 1 / first!, 1 / (first + step)!, ... with alternating signs if `alternate`.
static std::vector<double> inverseFactorials(int first, int step, int count,
                                             bool alternate) {
  std::vector<double> result;
  for (int k = 0; k < count; ++k) {
    double value = 1 / std::tgamma(first + k * step + 1.0);
    result.push_back(alternate && k % 2 ? -value : value);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Exponentials and logarithms
//===----------------------------------------------------------------------===//

Value MathFunctions::expOfSum(Value x, Value low) {
  // x = n ln2 + r, |r| <= ln2 / 2; e^r by its series, 2^n in two factors so
  // that subnormal results are reached.
  Value clamped = select(less(x, number(-746)), number(-746), x);
  clamped = select(less(number(710), clamped), number(710), clamped);
  clamped = select(isNan(x), number(0), clamped);
  Value n = round(mul(clamped, number(std::numbers::log2e)));
  Value r = fma(n, number(-kLn2High), clamped);
  r = fma(n, number(-kLn2Low), r);
  if (low)
    r = add(r, low);
  Value power = polynomial(r, inverseFactorials(0, 1, 14, false));
  Value exponent = toInt(n);
  Value half = b.create<arith::ShRSIOp>(exponent, integer(1));
  Value rest = b.create<arith::SubIOp>(exponent, half);
  auto scale = [&](Value value, Value e) {
    Value biased = b.create<arith::AddIOp>(e, integer(1023));
    return mul(value, fromBits(b.create<arith::ShLIOp>(biased, integer(52))));
  };
  return select(isNan(x), x, scale(scale(power, half), rest));
}

Value MathFunctions::expm1(Value x) {
  Value small = mul(x, polynomial(x, inverseFactorials(1, 1, 16, false)));
  Value isSmall = less(abs(x), number(0.5));
  // The series of a large argument is computed in vain; it cannot trap.
  return select(isSmall, select(equal(x, number(0)), x, small),
                sub(exp(x), number(1)));
}

MathFunctions::Normal MathFunctions::normalize(Value x) {
  Value isSmall = less(x, number(0x1p-1022));
  Value normal = select(isSmall, mul(x, number(0x1p54)), x);
  Value bits = bitsOf(normal);
  // Adding the difference between the bits of 1 and of sqrt(1/2) carries into
  // the exponent from sqrt(2) on.
  Value shifted = b.create<arith::AddIOp>(bits, integer(0x00095f6196000000));
  Value e = b.create<arith::SubIOp>(
      b.create<arith::ShRUIOp>(shifted, integer(52)), integer(1023));
  Value mantissaBits =
      b.create<arith::SubIOp>(bits, b.create<arith::ShLIOp>(e, integer(52)));
  Value exponent = b.create<arith::SIToFPOp>(type, e);
  exponent = select(isSmall, sub(exponent, number(54)), exponent);
  return {exponent, sub(fromBits(mantissaBits), number(1))};
}

/// 2 / (2k + 3) for k = 0, 1, ...: the coefficients of (log m - 2s) / s^3 in
/// s^2, where s = (m - 1) / (m + 1).
static std::vector<double> logarithmSeries() {
  std::vector<double> odd;
  for (int k = 0; k < 11; ++k)
    odd.push_back(2.0 / (2 * k + 3));
  return odd;
}

Value MathFunctions::log(Value x) {
  // x = 2^e m; log m = 2 atanh((m - 1) / (m + 1)).
  auto [exponent, f] = normalize(x);
  Value s = div(f, add(number(2), f));
  Value z = mul(s, s);
  // log m = 2s + s z q(z) = f - s (f - z q(z)): the leading term f is exact.
  Value tail = mul(s, sub(f, mul(z, polynomial(z, logarithmSeries()))));
  Value low = fma(exponent, number(kLn2Low), sub(number(0), tail));
  Value result = add(fma(exponent, number(kLn2High), f), low);
  result = select(equal(x, number(0)), number(-kInfinity), result);
  result = select(equal(x, number(kInfinity)), x, result);
  result = select(less(x, number(0)),
                  number(std::numeric_limits<double>::quiet_NaN()), result);
  return select(isNan(x), x, result);
}

std::pair<Value, Value> MathFunctions::logInTwoParts(Value x) {
  // Like log, with s in two parts; what follows 2s is small enough for one.
  auto [exponent, f] = normalize(x);
  Value d = add(number(2), f);
  Value dLow = sub(f, sub(d, number(2)));
  Value s = div(f, d);
  Value lost = fma(b.create<arith::NegFOp>(s), d, f);
  Value sLow = div(sub(lost, mul(s, dLow)), d);
  Value z = mul(s, s);
  Value tail =
      fma(mul(s, z), polynomial(z, logarithmSeries()), mul(number(2), sLow));
  // The sum of e ln2 and 2s with its error (Knuth's two-sum).
  Value a = mul(exponent, number(kLn2High)), c = mul(number(2), s);
  Value sum = add(a, c);
  Value cOfSum = sub(sum, a);
  Value error = add(sub(a, sub(sum, cOfSum)), sub(c, cOfSum));
  Value low = add(error, fma(exponent, number(kLn2Low), tail));
  Value high = add(sum, low);
  low = add(sub(sum, high), low);
  Value isZero = equal(x, number(0)), isInfinite = equal(x, number(kInfinity));
  high = select(isZero, number(-kInfinity), select(isInfinite, x, high));
  return {high, low};
}

Value MathFunctions::log1p(Value x) {
  // log(u) with u = 1 + x rounded, corrected by what the rounding lost.
  Value u = add(number(1), x);
  Value lost = sub(x, sub(u, number(1)));
  Value result = add(log(u), div(lost, u));
  Value isTiny = less(abs(x), number(0x1p-53));
  Value isEnd =
      b.create<arith::OrIOp>(equal(x, number(-1)), equal(u, number(kInfinity)));
  return select(isTiny, x, select(isEnd, log(u), result));
}

Value MathFunctions::pow(Value x, Value y) {
  // e^(y log |x|), the exponent in two parts: its error is that of the result.
  auto [high, low] = logInTwoParts(abs(x));
  Value product = mul(y, high);
  Value productLow =
      fma(y, low, fma(y, high, b.create<arith::NegFOp>(product)));
  // An infinite product has no low part.
  productLow = select(less(abs(productLow), number(1)), productLow, number(0));
  Value magnitude = expOfSum(product, productLow);
  Value isWhole = equal(b.create<math::FloorOp>(y), y);
  Value half = mul(y, number(0.5));
  Value isOdd = b.create<arith::AndIOp>(
      isWhole, b.create<arith::CmpFOp>(arith::CmpFPredicate::UNE,
                                       b.create<math::FloorOp>(half), half));
  Value negated = b.create<arith::NegFOp>(magnitude);
  Value isFinite = less(abs(x), number(kInfinity));
  Value hasSign = less(b.create<math::CopySignOp>(number(1), x), number(0));
  Value nan = number(std::numeric_limits<double>::quiet_NaN());
  Value ofNegative = select(isOdd, negated, magnitude);
  Value undefined = b.create<arith::AndIOp>(
      b.create<arith::AndIOp>(less(x, number(0)), isFinite),
      b.create<arith::XOrIOp>(
          isWhole, b.create<arith::CmpFOp>(arith::CmpFPredicate::ORD, y, y)));
  Value result = select(hasSign, ofNegative, magnitude);
  result = select(undefined, nan, result);
  // 1 to any power, and -1 to an infinite one, are 1.
  Value infinitePower = equal(abs(y), number(kInfinity));
  Value unit = b.create<arith::OrIOp>(
      equal(x, number(1)),
      b.create<arith::AndIOp>(equal(abs(x), number(1)), infinitePower));
  result = select(b.create<arith::OrIOp>(isNan(x), isNan(y)), nan, result);
  result = select(unit, number(1), result);
  return select(equal(y, number(0)), number(1), result);
}

//===----------------------------------------------------------------------===//
// Hyperbolic functions
//===----------------------------------------------------------------------===//

Value MathFunctions::halfExp(Value x) {
  Value root = exp(mul(x, number(0.5)));
  return mul(mul(root, number(0.5)), root);
}

Value MathFunctions::sinh(Value x) {
  Value a = abs(x);
  Value t = expm1(a);
  Value moderate = mul(number(0.5), add(t, div(t, add(t, number(1)))));
  return withSignOf(select(less(a, number(22)), moderate, halfExp(a)), x);
}

Value MathFunctions::cosh(Value x) {
  Value a = abs(x);
  Value e = exp(a);
  Value moderate = mul(number(0.5), add(e, div(number(1), e)));
  return select(less(a, number(22)), moderate, halfExp(a));
}

Value MathFunctions::tanh(Value x) {
  Value a = abs(x);
  Value t = expm1(mul(number(2), select(less(a, number(22)), a, number(22))));
  Value result = withSignOf(div(t, add(t, number(2))), x);
  return select(isNan(x), x, result);
}

Value MathFunctions::asinh(Value x) {
  Value a = abs(x);
  Value square = mul(a, a);
  Value moderate =
      log1p(add(a, div(square, add(number(1), sqrt(add(number(1), square))))));
  Value large = add(log(a), number(std::numbers::ln2));
  return withSignOf(select(less(a, number(1e8)), moderate, large), x);
}

Value MathFunctions::acosh(Value x) {
  Value t = sub(x, number(1));
  Value moderate = log1p(add(t, sqrt(add(mul(number(2), t), mul(t, t)))));
  Value large = add(log(x), number(std::numbers::ln2));
  Value result = select(less(x, number(1e8)), moderate, large);
  // Far below 1 the root cancels the first term, so the result would not be
  // NaN.
  return select(less(x, number(1)),
                number(std::numeric_limits<double>::quiet_NaN()), result);
}

Value MathFunctions::atanh(Value x) {
  Value a = abs(x);
  Value result =
      mul(number(0.5), log1p(div(mul(number(2), a), sub(number(1), a))));
  return withSignOf(result, x);
}

//===----------------------------------------------------------------------===//
// Trigonometric functions
//===----------------------------------------------------------------------===//

Value MathFunctions::sinOrCos(Value x, int64_t quadrantShift) {
  // x = n pi/2 + r, |r| <= pi/4; then sin or cos of r by its series, signs by
  // quadrant. Beyond 2^52 the three parts of pi/2 cannot tell n from its
  // neighbours.
  Value isKnown = less(abs(x), number(0x1p52));
  Value bounded = select(isKnown, x, number(0));
  auto without = [&](Value r, Value n) { // r - n pi/2
    r = fma(n, number(-kHalfPi1), r);
    r = fma(n, number(-kHalfPi2), r);
    return fma(n, number(-kHalfPi3), r);
  };
  auto quarters = [&](Value x) {
    return round(mul(x, number(2 / std::numbers::pi)));
  };
  Value n = quarters(bounded), r = without(bounded, n);
  // x 2/pi is rounded: near 2^52, n may be one too many or too few.
  Value more = quarters(r);
  r = without(r, more);
  n = add(n, more);
  Value z = mul(r, r);
  Value sine =
      sub(r, mul(mul(r, z), polynomial(z, inverseFactorials(3, 2, 7, true))));
  Value cosine = polynomial(z, inverseFactorials(0, 2, 9, true));
  Value quadrant = b.create<arith::AddIOp>(toInt(n), integer(quadrantShift));
  auto bit = [&](int64_t mask) -> Value {
    return b.create<arith::CmpIOp>(
        arith::CmpIPredicate::ne,
        b.create<arith::AndIOp>(quadrant, integer(mask)), integer(0));
  };
  Value result = select(bit(1), cosine, sine);
  result = select(bit(2), b.create<arith::NegFOp>(result), result);
  return select(isKnown, result,
                number(std::numeric_limits<double>::quiet_NaN()));
}

Value MathFunctions::sin(Value x) {
  // The reduction loses the sign of zero.
  return select(equal(x, number(0)), x, sinOrCos(x, 0));
}

Value MathFunctions::tan(Value x) { return div(sin(x), cos(x)); }

Value MathFunctions::atan(Value x) {
  // atan a = pi/2 - atan(1/a) above 1; then twice atan(a) = 2 atan(a / (1 +
  // sqrt(1 + a^2))).
  Value a = abs(x);
  Value isLarge = less(number(1), a);
  Value y = select(isLarge, div(number(1), a), a);
  auto halve = [&](Value v) {
    return div(v, add(number(1), sqrt(fma(v, v, number(1)))));
  };
  y = halve(halve(y));
  Value z = mul(y, y);
  std::vector<double> series;
  for (int k = 0; k < 12; ++k)
    series.push_back((k % 2 ? -1.0 : 1.0) / (2 * k + 1));
  Value result = mul(number(4), mul(y, polynomial(z, series)));
  result = select(isLarge, sub(number(std::numbers::pi / 2), result), result);
  return select(isNan(x), x, withSignOf(result, x));
}

Value MathFunctions::asin(Value x) {
  Value root = sqrt(mul(sub(number(1), x), add(number(1), x)));
  return mul(number(2), atan(div(x, add(number(1), root))));
}

Value MathFunctions::acos(Value x) {
  return mul(number(2), atan(sqrt(div(sub(number(1), x), add(number(1), x)))));
}

//===----------------------------------------------------------------------===//
// Remainder
//===----------------------------------------------------------------------===//

Value MathFunctions::fmod(Value x, Value y) {
  // Long division of the significands: with x = mx 2^ex and y = my 2^ey, whole
  // numbers of 53 bits, the remainder is (mx 2^(ex - ey) mod my) 2^ey. A step
  // brings down as many bits as 64 have room for.
  constexpr int64_t kSignificandBits = 53, kRoom = 63 - kSignificandBits;
  constexpr int64_t kBias = 1023 + kSignificandBits - 1;
  Value a = abs(x), c = abs(y), zero = integer(0);
  Value undefined = b.create<arith::OrIOp>(
      b.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, y),
      b.create<arith::OrIOp>(equal(a, number(kInfinity)), equal(c, number(0))));
  // Nothing is divided where the result is known, or where x is smaller than y.
  Value whole = b.create<arith::OrIOp>(undefined, less(a, c));
  struct Parts {
    Value significand, exponent;
  };
  auto split = [&](Value v) -> Parts {
    v = select(whole, number(1), v);
    Value isSmall = less(v, number(0x1p-1022));
    Value bits = bitsOf(select(isSmall, mul(v, number(0x1p54)), v));
    Value exponent =
        b.create<arith::SubIOp>(b.create<arith::ShRUIOp>(bits, integer(52)),
                                select(isSmall, integer(54), zero));
    Value fraction =
        b.create<arith::AndIOp>(bits, integer((int64_t(1) << 52) - 1));
    return {b.create<arith::OrIOp>(fraction, integer(int64_t(1) << 52)),
            exponent};
  };
  auto [dividend, dividendExponent] = split(a);
  auto [divisor, divisorExponent] = split(c);
  Value shift = b.create<arith::SubIOp>(dividendExponent, divisorExponent);
  Value most = shift;
  if (isa<VectorType>(type))
    most = b.create<vector::ReductionOp>(vector::CombiningKind::MAXSI, shift);
  auto scalar = [&](int64_t value) {
    return b.create<arith::ConstantIntOp>(value, 64).getResult();
  };
  Value my = divisor;
  auto loop = b.create<scf::ForOp>(
      scalar(0), most, scalar(kRoom),
      ValueRange{b.create<arith::RemUIOp>(dividend, my), shift},
      [&](OpBuilder &builder, Location loc, Value, ValueRange carried) {
        ImplicitLocOpBuilder inner(loc, builder);
        Value step = inner.create<arith::MinSIOp>(carried[1], integer(kRoom));
        Value rest = inner.create<arith::RemUIOp>(
            inner.create<arith::ShLIOp>(carried[0], step), my);
        Value left = inner.create<arith::SubIOp>(carried[1], step);
        inner.create<scf::YieldOp>(ValueRange{rest, left});
      });
  // 2^(ey) in two factors, so that subnormal results are reached.
  Value exponent = b.create<arith::SubIOp>(divisorExponent, integer(kBias));
  Value half = b.create<arith::ShRSIOp>(exponent, integer(1));
  auto scale = [&](Value value, Value e) {
    Value biased = b.create<arith::AddIOp>(e, integer(1023));
    return mul(value, fromBits(b.create<arith::ShLIOp>(biased, integer(52))));
  };
  Value rest = b.create<arith::SIToFPOp>(type, loop.getResult(0));
  rest = scale(scale(rest, half), b.create<arith::SubIOp>(exponent, half));
  Value result = select(whole, x, withSignOf(rest, x));
  Value nan = number(std::numeric_limits<double>::quiet_NaN());
  return select(undefined, nan, result);
}

//===----------------------------------------------------------------------===//
// Error function
//===----------------------------------------------------------------------===//

Value MathFunctions::erf(Value x) {
  // 2 / sqrt(pi) e^(-x^2) sum of 2^k x^(2k+1) / (1 * 3 * ... * (2k+1)): only
  // positive terms.
  constexpr int kTerms = 140;
  Value a = abs(x);
  Value bounded = select(less(a, number(6)), a, number(6));
  Value z = mul(bounded, bounded);
  std::vector<double> series{1};
  for (int k = 1; k < kTerms; ++k)
    series.push_back(series.back() * 2 / (2 * k + 1));
  Value sum = mul(bounded, polynomial(z, series));
  Value scale = mul(number(2 * std::numbers::inv_sqrtpi),
                    exp(b.create<arith::NegFOp>(z)));
  Value result = mul(scale, sum);
  result = select(less(number(1), result), number(1), result);
  // The sum is rounded; from 6 on, 1 is nearest.
  result = select(less(a, number(6)), result, number(1));
  return select(isNan(x), x, withSignOf(result, x));
}

} // namespace sinter::passes
