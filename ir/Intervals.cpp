//===- Intervals.cpp - intervals that hold every element ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Intervals.h"

#include "ir/Dialect.h"
#include "ir/Tensor.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter::ir;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Interval times(Interval x, Interval y) {
  Interval result{kInf, -kInf};
  for (double a : {x.low, x.high})
    for (double b : {y.low, y.high}) {
      double value = a == 0 || b == 0 ? 0 : a * b;
      result = result.joined({value, value});
    }
  return result;
}

/// The range of a type; unknown for wide integers and floats.
Interval rangeOfType(Type element) {
  if (element.isInteger(1))
    return {0, 1};
  if (auto integer = dyn_cast<IntegerType>(element);
      integer && integer.getWidth() <= 16) {
    double most = std::ldexp(1.0, static_cast<int>(integer.getWidth()));
    return integer.isUnsigned() ? Interval{0, most - 1}
                                : Interval{-most / 2, most / 2 - 1};
  }
  return {};
}

/// The range after integer arithmetic, which wraps around: a range that does
/// not fit the type becomes that of the type. Bounds beyond 2^53 may not be
/// exact doubles.
Interval wrapped(Interval range, Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer || integer.getWidth() == 1)
    return range;
  const auto width = static_cast<int>(integer.getWidth());
  const double most =
      std::ldexp(1.0, std::min(integer.isUnsigned() ? width : width - 1, 53));
  const double least = integer.isUnsigned() ? 0 : -most;
  return range.low >= least && range.high < most ? range : rangeOfType(element);
}

Interval rangeOfConstant(ConstantOp constant) {
  constexpr int64_t kMostElements = 1 << 22;
  if (cast<ElementsAttr>(constant.getValue()).getNumElements() > kMostElements)
    return {};
  FailureOr<Tensor> tensor =
      Tensor::fromAttr(cast<ElementsAttr>(constant.getValue()));
  if (failed(tensor) || tensor->size() == 0)
    return {};
  Interval range{kInf, -kInf};
  for (double value : tensor->floats)
    if (!std::isnan(value))
      range = range.joined({value, value});
  for (int64_t value : tensor->ints)
    range = range.joined({double(value), double(value)});
  return range;
}

/// True when each element of the result is an element of an operand, or zero.
bool choosesElements(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return op->hasTrait<ChoosesElements>() || isView(op) || isa<GatherOp>(op) ||
         (reduce && (reduce.getKind() == ReduceKind::max ||
                     reduce.getKind() == ReduceKind::min));
}

Interval indicesOf(Value x, int64_t axis) {
  return {0, double(std::max<int64_t>(tensorType(x).getDimSize(axis) - 1, 0))};
}

} // namespace

Interval Intervals::of(Value value) {
  auto found = known.find(value);
  if (found != known.end())
    return found->second;
  Type element = getElementTypeOrSelf(value.getType());
  Operation *op = value.getDefiningOp();
  // Programs are deep, so the recursion is limited. Results beyond the limit
  // are not cached.
  constexpr int kMostOps = 256;
  if (!op || depth == kMostOps)
    return rangeOfType(element);
  ++depth;
  Interval range = compute(value, op);
  if (!choosesElements(op))
    range = wrapped(range, element);
  --depth;
  known[value] = range;
  return range;
}

Interval Intervals::compute(Value value, Operation *op) {
  Type element = getElementTypeOrSelf(value.getType());
  auto x = [&] { return of(op->getOperand(0)); };
  auto y = [&] { return of(op->getOperand(1)); };
  return llvm::TypeSwitch<Operation *, Interval>(op)
      .Case([&](ConstantOp constant) { return rangeOfConstant(constant); })
      .Case<SigmoidOp, CompareOp, IsNanOp, SoftmaxOp>(
          [&](auto) { return Interval{0, 1}; })
      .Case<TanhOp, ErfOp, SinOp, CosOp, SignOp>(
          [&](auto) { return Interval{-1, 1}; })
      .Case<ReverseOp, GatherOp, StopGradientOp>([&](auto) { return x(); })
      .Case([&](CastOp cast) {
        if (element.isInteger(1))
          return Interval{0, 1};
        // The fraction is cut off, and NaN becomes 0.
        bool isCut = isa<IntegerType>(element) &&
                     isa<FloatType>(getElementTypeOrSelf(cast.getX()));
        return isCut ? x().joined({0, 0}) : x();
      })
      .Case([&](IotaOp iota) { return indicesOf(value, iota.getAxis()); })
      .Case(
          [&](ArgReduceOp arg) { return indicesOf(arg.getX(), arg.getAxis()); })
      .Case([&](TopKOp top) {
        return value == top.getIndices() ? indicesOf(top.getX(), top.getAxis())
                                         : x();
      })
      .Case([&](ModOp) {
        // The result has the sign of the divisor.
        Interval divisor = y();
        return isa<IntegerType>(element) && divisor.low > 0
                   ? Interval{0, divisor.high - 1}
                   : Interval();
      })
      .Case([&](ReluOp) {
        return Interval{std::max(0.0, x().low), std::max(0.0, x().high)};
      })
      .Case([&](ExpOp) {
        return Interval{std::exp(x().low), std::exp(x().high)};
      })
      .Case([&](NegOp) { return Interval{-x().high, -x().low}; })
      .Case([&](AbsOp) {
        double most = std::max(std::abs(x().low), std::abs(x().high));
        return Interval{0, most};
      })
      .Case([&](AddOp) {
        return Interval{x().low + y().low, x().high + y().high};
      })
      .Case([&](SubOp) {
        return Interval{x().low - y().high, x().high - y().low};
      })
      .Case([&](MulOp) { return times(x(), y()); })
      .Case([&](DivOp) {
        Interval divisor = y();
        if (divisor.low <= 0 && divisor.high >= 0)
          return Interval();
        Interval range = times(x(), {1 / divisor.high, 1 / divisor.low});
        // For integers the fraction is cut off.
        return isa<IntegerType>(element)
                   ? Interval{std::floor(range.low), std::ceil(range.high)}
                   : range;
      })
      .Case([&](MaxOp) {
        return Interval{std::max(x().low, y().low),
                        std::max(x().high, y().high)};
      })
      .Case([&](MinOp) {
        return Interval{std::min(x().low, y().low),
                        std::min(x().high, y().high)};
      })
      .Case([&](WhereOp) { return y().joined(of(op->getOperand(2))); })
      .Case([&](ConcatOp) {
        Interval range{kInf, -kInf};
        for (Value operand : op->getOperands())
          range = range.joined(of(operand));
        return range;
      })
      .Case([&](ReduceOp reduce) {
        if (tensorType(reduce.getX()).getNumElements() == 0)
          return Interval();
        Interval range = x();
        if (reduce.getKind() == ReduceKind::max ||
            reduce.getKind() == ReduceKind::min)
          return range;
        if (reduce.getKind() != ReduceKind::sum)
          return Interval();
        double count = 1;
        for (int64_t dim : reduce.getDims())
          count *=
              static_cast<double>(tensorType(reduce.getX()).getDimSize(dim));
        return times(range, {count, count});
      })
      .Case([&](DotGeneralOp dot) {
        double count = 1;
        for (int64_t dim : dot.getLhsContract())
          count *=
              static_cast<double>(tensorType(dot.getLhs()).getDimSize(dim));
        return times(times(x(), y()), {count, count});
      })
      .Default([&](Operation *) {
        return rangeOfType(getElementTypeOrSelf(value.getType()));
      });
}
