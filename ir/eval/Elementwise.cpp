//===- Elementwise.cpp - meaning of elementwise ops -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Loops.h"
#include "runtime/base/Gelu.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter::ir;

double sinter::ir::maximum(double x, double y) {
  if (std::isnan(x) || std::isnan(y))
    return std::numeric_limits<double>::quiet_NaN();
  if (x == y)
    return std::signbit(x) ? y : x;
  return x > y ? x : y;
}

double sinter::ir::minimum(double x, double y) { return -maximum(-x, -y); }

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

/// result[i] = f(x[i]) on floats or on integers, whichever `x` holds; integers
/// wrap.
template <class Floats, class Ints>
static LogicalResult mapOne(ArrayRef<Tensor> operands,
                            SmallVectorImpl<Tensor> &results, Floats onFloat,
                            Ints onInt) {
  const Tensor &x = operands[0];
  Tensor result(x.type());
  for (size_t i = 0; i < x.floats.size(); ++i)
    result.floats[i] = onFloat(x.floats[i]);
  for (size_t i = 0; i < x.ints.size(); ++i)
    result.ints[i] = onInt(x.ints[i]);
  wrapIntegers(result);
  results.push_back(std::move(result));
  return success();
}

template <class Floats>
static LogicalResult mapFloats(ArrayRef<Tensor> operands,
                               SmallVectorImpl<Tensor> &results,
                               Floats onFloat) {
  return mapOne(operands, results, onFloat, [](int64_t x) { return x; });
}

template <class Ints>
static LogicalResult mapInts(ArrayRef<Tensor> operands,
                             SmallVectorImpl<Tensor> &results, Ints onInt) {
  return mapOne(operands, results, [](double x) { return x; }, onInt);
}

/// The evaluation of a float op of one operand `x`.
#define EVALUATE_FLOAT(OpTy, expression)                                       \
  LogicalResult OpTy::evaluate(ArrayRef<Tensor> operands,                      \
                               SmallVectorImpl<Tensor> &results) {             \
    return mapFloats(operands, results,                                        \
                     [](double x) -> double { return expression; });           \
  }

EVALUATE_FLOAT(ExpOp, std::exp(x))
EVALUATE_FLOAT(Expm1Op, std::expm1(x))
EVALUATE_FLOAT(LogOp, std::log(x))
EVALUATE_FLOAT(Log1pOp, std::log1p(x))
EVALUATE_FLOAT(SqrtOp, std::sqrt(x))
EVALUATE_FLOAT(RsqrtOp, 1 / std::sqrt(x))
EVALUATE_FLOAT(TanhOp, std::tanh(x))
EVALUATE_FLOAT(ErfOp, std::erf(x))
/// Compiled code computes in at most float64, and beyond 2^52 cannot tell the
/// position of an argument in its period. NaN says so.
static double periodic(double x, double value) {
  return std::abs(x) < 0x1p52 ? value
                              : std::numeric_limits<double>::quiet_NaN();
}
EVALUATE_FLOAT(SinOp, periodic(x, std::sin(x)))
EVALUATE_FLOAT(CosOp, periodic(x, std::cos(x)))
EVALUATE_FLOAT(TanOp, periodic(x, std::tan(x)))
EVALUATE_FLOAT(AsinOp, std::asin(x))
EVALUATE_FLOAT(AcosOp, std::acos(x))
EVALUATE_FLOAT(AtanOp, std::atan(x))
EVALUATE_FLOAT(SinhOp, std::sinh(x))
EVALUATE_FLOAT(CoshOp, std::cosh(x))
EVALUATE_FLOAT(AsinhOp, std::asinh(x))
EVALUATE_FLOAT(AcoshOp, std::acosh(x))
EVALUATE_FLOAT(AtanhOp, std::atanh(x))
EVALUATE_FLOAT(FloorOp, std::floor(x))
EVALUATE_FLOAT(CeilOp, std::ceil(x))
// The default rounding mode, which nothing here changes, rounds ties to even.
EVALUATE_FLOAT(RoundOp, std::nearbyint(x))
// Each form overflows only where the result is 0 or 1 anyway.
EVALUATE_FLOAT(SigmoidOp, x >= 0 ? 1 / (1 + std::exp(-x))
                                 : std::exp(x) / (1 + std::exp(x)))
#undef EVALUATE_FLOAT

LogicalResult AbsOp::evaluate(ArrayRef<Tensor> operands,
                              SmallVectorImpl<Tensor> &results) {
  bool isUnsigned = operands[0].isUnsigned();
  return mapOne(
      operands, results, [](double x) { return std::fabs(x); },
      [=](int64_t x) { return x < 0 && !isUnsigned ? wrapSub(0, x) : x; });
}

LogicalResult NegOp::evaluate(ArrayRef<Tensor> operands,
                              SmallVectorImpl<Tensor> &results) {
  return mapOne(
      operands, results, [](double x) { return -x; },
      [](int64_t x) { return wrapSub(0, x); });
}

LogicalResult SignOp::evaluate(ArrayRef<Tensor> operands,
                               SmallVectorImpl<Tensor> &results) {
  bool isUnsigned = operands[0].isUnsigned();
  return mapOne(
      operands, results,
      [](double x) -> double { return std::isnan(x) ? x : (x > 0) - (x < 0); },
      [=](int64_t x) -> int64_t {
        return isUnsigned ? x != 0 : (x > 0) - (x < 0);
      });
}

LogicalResult ReluOp::evaluate(ArrayRef<Tensor> operands,
                               SmallVectorImpl<Tensor> &results) {
  bool isUnsigned = operands[0].isUnsigned();
  return mapOne(
      operands, results,
      [](double x) { return x > 0 || std::isnan(x) ? x : 0.0; },
      [=](int64_t x) { return x > 0 || isUnsigned ? x : 0; });
}

LogicalResult NotOp::evaluate(ArrayRef<Tensor> operands,
                              SmallVectorImpl<Tensor> &results) {
  return mapInts(operands, results,
                 [](int64_t x) -> int64_t { return x == 0; });
}

LogicalResult BitNotOp::evaluate(ArrayRef<Tensor> operands,
                                 SmallVectorImpl<Tensor> &results) {
  return mapInts(operands, results, [](int64_t x) { return ~x; });
}

LogicalResult StopGradientOp::evaluate(ArrayRef<Tensor> operands,
                                       SmallVectorImpl<Tensor> &results) {
  results.push_back(operands[0]);
  return success();
}

LogicalResult CopyOp::evaluate(ArrayRef<Tensor> operands,
                               SmallVectorImpl<Tensor> &results) {
  results.push_back(operands[0]);
  return success();
}

LogicalResult AfterOp::evaluate(ArrayRef<Tensor> operands,
                                SmallVectorImpl<Tensor> &results) {
  results.push_back(operands[0]);
  return success();
}

LogicalResult GeluOp::evaluate(ArrayRef<Tensor> operands,
                               SmallVectorImpl<Tensor> &results) {
  if (getForm() == GeluForm::erf)
    return mapFloats(operands, results, rt::gelu::erfForm<double>);
  return mapFloats(operands, results, rt::gelu::tanhForm<double>);
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

/// result[i] = f(x[i], y[i]) on floats or on integers; integers wrap.
template <class Floats, class Ints>
static LogicalResult mapTwo(ArrayRef<Tensor> operands,
                            SmallVectorImpl<Tensor> &results, Floats onFloat,
                            Ints onInt) {
  const Tensor &x = operands[0], &y = operands[1];
  Tensor result(x.type());
  for (size_t i = 0; i < x.floats.size(); ++i)
    result.floats[i] = onFloat(x.floats[i], y.floats[i]);
  for (size_t i = 0; i < x.ints.size(); ++i)
    result.ints[i] = onInt(x.ints[i], y.ints[i]);
  wrapIntegers(result);
  results.push_back(std::move(result));
  return success();
}

LogicalResult GeluGradOp::evaluate(ArrayRef<Tensor> operands,
                                   SmallVectorImpl<Tensor> &results) {
  auto *slope = getForm() == GeluForm::erf
                    ? rt::gelu::erfFormDerivative<double>
                    : rt::gelu::tanhFormDerivative<double>;
  return mapTwo(
      operands, results, [=](double grad, double x) { return grad * slope(x); },
      wrapMul);
}

LogicalResult AddOp::evaluate(ArrayRef<Tensor> operands,
                              SmallVectorImpl<Tensor> &results) {
  return mapTwo(
      operands, results, [](double x, double y) { return x + y; }, wrapAdd);
}

LogicalResult SubOp::evaluate(ArrayRef<Tensor> operands,
                              SmallVectorImpl<Tensor> &results) {
  return mapTwo(
      operands, results, [](double x, double y) { return x - y; }, wrapSub);
}

LogicalResult MulOp::evaluate(ArrayRef<Tensor> operands,
                              SmallVectorImpl<Tensor> &results) {
  return mapTwo(
      operands, results, [](double x, double y) { return x * y; }, wrapMul);
}

/// x / y toward zero; see sinter.div for the two cases that C leaves undefined.
static int64_t divideInts(int64_t x, int64_t y, bool isUnsigned) {
  if (y == 0)
    return 0;
  if (isUnsigned)
    return static_cast<int64_t>(static_cast<uint64_t>(x) /
                                static_cast<uint64_t>(y));
  return y == -1 ? wrapSub(0, x) : x / y;
}

static int64_t remainderInts(int64_t x, int64_t y, bool isUnsigned) {
  if (y == 0 || (y == -1 && !isUnsigned))
    return 0;
  if (isUnsigned)
    return static_cast<int64_t>(static_cast<uint64_t>(x) %
                                static_cast<uint64_t>(y));
  return x % y;
}

/// x^y modulo 2^64 for y >= 0 as unsigned; the quotient 1 / x^-y for a negative
/// y.
static int64_t powerInts(int64_t x, int64_t y, bool isUnsigned) {
  if (y < 0 && !isUnsigned) {
    if (x == 1 || (x == -1 && y % 2 == 0))
      return 1;
    return x == -1 ? -1 : 0;
  }
  int64_t result = 1;
  for (uint64_t left = static_cast<uint64_t>(y); left != 0; left >>= 1) {
    if (left & 1)
      result = wrapMul(result, x);
    x = wrapMul(x, x);
  }
  return result;
}

LogicalResult DivOp::evaluate(ArrayRef<Tensor> operands,
                              SmallVectorImpl<Tensor> &results) {
  bool isUnsigned = operands[0].isUnsigned();
  return mapTwo(
      operands, results, [](double x, double y) { return x / y; },
      [=](int64_t x, int64_t y) { return divideInts(x, y, isUnsigned); });
}

LogicalResult PowOp::evaluate(ArrayRef<Tensor> operands,
                              SmallVectorImpl<Tensor> &results) {
  bool isUnsigned = operands[0].isUnsigned();
  return mapTwo(
      operands, results, [](double x, double y) { return std::pow(x, y); },
      [=](int64_t x, int64_t y) { return powerInts(x, y, isUnsigned); });
}

LogicalResult MaxOp::evaluate(ArrayRef<Tensor> operands,
                              SmallVectorImpl<Tensor> &results) {
  bool isUnsigned = operands[0].isUnsigned();
  return mapTwo(operands, results, maximum, [=](int64_t x, int64_t y) {
    return lessInt(x, y, isUnsigned) ? y : x;
  });
}

LogicalResult MinOp::evaluate(ArrayRef<Tensor> operands,
                              SmallVectorImpl<Tensor> &results) {
  bool isUnsigned = operands[0].isUnsigned();
  return mapTwo(operands, results, minimum, [=](int64_t x, int64_t y) {
    return lessInt(x, y, isUnsigned) ? x : y;
  });
}

LogicalResult ModOp::evaluate(ArrayRef<Tensor> operands,
                              SmallVectorImpl<Tensor> &results) {
  bool isUnsigned = operands[0].isUnsigned();
  return mapTwo(
      operands, results,
      [](double x, double y) {
        // fmod is exact; x - floor(x / y) * y is not, and is NaN for an
        // infinite y.
        double rest = std::fmod(x, y);
        if (rest == 0)
          return std::copysign(0.0, y);
        return (rest < 0) != (y < 0) && !std::isnan(rest) ? rest + y : rest;
      },
      [=](int64_t x, int64_t y) {
        int64_t rest = remainderInts(x, y, isUnsigned);
        return rest != 0 && !isUnsigned && (rest < 0) != (y < 0) ? rest + y
                                                                 : rest;
      });
}

LogicalResult RemOp::evaluate(ArrayRef<Tensor> operands,
                              SmallVectorImpl<Tensor> &results) {
  bool isUnsigned = operands[0].isUnsigned();
  return mapTwo(
      operands, results, [](double x, double y) { return std::fmod(x, y); },
      [=](int64_t x, int64_t y) { return remainderInts(x, y, isUnsigned); });
}

/// As mapTwo, for ops that floats do not have.
template <class Ints>
static LogicalResult mapTwoInts(ArrayRef<Tensor> operands,
                                SmallVectorImpl<Tensor> &results, Ints onInt) {
  return mapTwo(operands, results, [](double x, double) { return x; }, onInt);
}

LogicalResult AndOp::evaluate(ArrayRef<Tensor> operands,
                              SmallVectorImpl<Tensor> &results) {
  return mapTwoInts(operands, results,
                    [](int64_t x, int64_t y) { return x & y; });
}

LogicalResult OrOp::evaluate(ArrayRef<Tensor> operands,
                             SmallVectorImpl<Tensor> &results) {
  return mapTwoInts(operands, results,
                    [](int64_t x, int64_t y) { return x | y; });
}

LogicalResult XorOp::evaluate(ArrayRef<Tensor> operands,
                              SmallVectorImpl<Tensor> &results) {
  return mapTwoInts(operands, results,
                    [](int64_t x, int64_t y) { return x ^ y; });
}

// By its bits, a negative amount is not below the width.
LogicalResult ShiftLeftOp::evaluate(ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  uint64_t width = getType().getElementTypeBitWidth();
  return mapTwoInts(operands, results, [=](int64_t x, int64_t y) -> int64_t {
    uint64_t amount = static_cast<uint64_t>(y);
    return amount < width
               ? static_cast<int64_t>(static_cast<uint64_t>(x) << amount)
               : 0;
  });
}

LogicalResult ShiftRightOp::evaluate(ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  uint64_t width = getType().getElementTypeBitWidth();
  bool isUnsigned = operands[0].isUnsigned();
  return mapTwoInts(operands, results, [=](int64_t x, int64_t y) -> int64_t {
    uint64_t amount = static_cast<uint64_t>(y);
    if (amount >= width)
      return isUnsigned || x >= 0 ? 0 : -1;
    return isUnsigned ? static_cast<int64_t>(static_cast<uint64_t>(x) >> amount)
                      : x >> amount;
  });
}

//===----------------------------------------------------------------------===//
// Predicates and choice
//===----------------------------------------------------------------------===//

template <class T> static bool compareValues(CompareKind kind, T x, T y) {
  switch (kind) {
  case CompareKind::eq:
    return x == y;
  case CompareKind::ne:
    return x != y;
  case CompareKind::lt:
    return x < y;
  case CompareKind::le:
    return x <= y;
  case CompareKind::gt:
    return x > y;
  case CompareKind::ge:
    return x >= y;
  }
  return false;
}

LogicalResult CompareOp::evaluate(ArrayRef<Tensor> operands,
                                  SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0], &y = operands[1];
  CompareKind kind = getKind();
  Tensor result(getType());
  for (size_t i = 0; i < x.floats.size(); ++i)
    result.ints[i] = compareValues(kind, x.floats[i], y.floats[i]);
  for (size_t i = 0; i < x.ints.size(); ++i)
    result.ints[i] = x.isUnsigned()
                         ? compareValues<uint64_t>(kind, x.ints[i], y.ints[i])
                         : compareValues<int64_t>(kind, x.ints[i], y.ints[i]);
  results.push_back(std::move(result));
  return success();
}

LogicalResult IsNanOp::evaluate(ArrayRef<Tensor> operands,
                                SmallVectorImpl<Tensor> &results) {
  Tensor result(getType());
  for (size_t i = 0; i < result.ints.size(); ++i)
    result.ints[i] = std::isnan(operands[0].floats[i]);
  results.push_back(std::move(result));
  return success();
}

LogicalResult WhereOp::evaluate(ArrayRef<Tensor> operands,
                                SmallVectorImpl<Tensor> &results) {
  Tensor result = operands[2];
  const std::vector<int64_t> &condition = operands[0].ints;
  withElements(operands[1], result, [&](const auto &from, auto &to) {
    for (size_t i = 0; i < to.size(); ++i)
      if (condition[i])
        to[i] = from[i];
  });
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Cast
//===----------------------------------------------------------------------===//

/// Rounds toward zero and saturates at the bounds of `element`; NaN becomes 0.
static int64_t floatToInt(double x, Type element) {
  if (element.isInteger(1))
    return x != 0;
  if (std::isnan(x))
    return 0;
  unsigned width = element.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger();
  double below = isUnsigned ? 0 : -std::ldexp(1.0, width - 1);
  double above = std::ldexp(1.0, isUnsigned ? width : width - 1);
  if (x <= below)
    return leastInt(element);
  if (x >= above)
    return greatestInt(element);
  return isUnsigned ? static_cast<int64_t>(static_cast<uint64_t>(x))
                    : static_cast<int64_t>(x);
}

/// `x` rounded once to `element`; via double it would be rounded twice.
static double intToFloat(int64_t x, bool isUnsigned, FloatType element) {
  constexpr int64_t kExact = int64_t(1) << std::numeric_limits<double>::digits;
  if (x >= -kExact && x <= kExact && !(isUnsigned && x < 0))
    return static_cast<double>(x);
  llvm::APFloat value(element.getFloatSemantics());
  value.convertFromAPInt(llvm::APInt(64, static_cast<uint64_t>(x)), !isUnsigned,
                         llvm::APFloat::rmNearestTiesToEven);
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

LogicalResult CastOp::evaluate(ArrayRef<Tensor> operands,
                               SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0];
  Tensor result(getType());
  Type element = getType().getElementType();
  if (x.isFloat() && result.isFloat()) {
    result.floats = x.floats;
  } else if (x.isFloat()) {
    for (size_t i = 0; i < x.floats.size(); ++i)
      result.ints[i] = floatToInt(x.floats[i], element);
  } else if (result.isFloat()) {
    for (size_t i = 0; i < x.ints.size(); ++i)
      result.floats[i] =
          intToFloat(x.ints[i], x.isUnsigned(), cast<FloatType>(element));
  } else if (element.isInteger(1)) {
    for (size_t i = 0; i < x.ints.size(); ++i)
      result.ints[i] = x.ints[i] != 0;
  } else {
    result.ints = x.ints;
  }
  // A cast means rounding, so this rounds even in a float64 reference.
  result.roundToStorage();
  results.push_back(std::move(result));
  return success();
}
