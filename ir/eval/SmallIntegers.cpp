//===- SmallIntegers.cpp - evaluation in 16-bit integers ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Bounds are known before a loop runs, so that the loops check nothing and are
// compiled to vectors.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/SmallIntegers.h"
#include "ir/eval/Loops.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace sinter::ir {
namespace {

using Result = std::optional<SmallIntegers>;
using Operands = MutableArrayRef<SmallIntegers>;

constexpr IntegerRange kSmall{-INT16_MAX, INT16_MAX};

/// Whether `element` has all numbers between `bounds`, and 16 bits have them.
bool fits(IntegerRange bounds, Type element) {
  if (!kSmall.contains(bounds))
    return false;
  if (element.isF32())
    return true;
  auto type = dyn_cast<IntegerType>(element);
  if (!type || type.getWidth() == 1)
    return false;
  return type.getWidth() >= 32
             ? !type.isUnsigned() || bounds.least >= 0
             : IntegerRange{leastInt(type), greatestInt(type)}.contains(bounds);
}

/// `x` under another type of the same size.
Result retyped(RankedTensorType type, SmallIntegers &x) {
  if (!fits(x.bounds, type.getElementType()))
    return std::nullopt;
  x.type = type;
  return std::move(x);
}

Result castOf(CastOp op, Operands operands) {
  return retyped(op.getType(), operands[0]);
}

Result reshapeOf(ReshapeOp op, Operands operands) {
  return retyped(op.getType(), operands[0]);
}

Result moved(Operation *op, Operands operands) {
  RankedTensorType type = tensorType(op->getResult(0));
  SmallIntegers &x = operands[0];
  if (x.isSplat())
    return retyped(type, x);
  SmallIntegers result{type, std::vector<int16_t>(type.getNumElements()),
                       x.bounds};
  moveElements(type.getShape(), *walkOf(op), x.numbers.data(),
               result.numbers.data());
  return result;
}

Result concatOf(ConcatOp op, Operands operands) {
  RankedTensorType type = op.getType();
  SmallIntegers result{type, std::vector<int16_t>(type.getNumElements()),
                       operands[0].bounds};
  AxisView whole(type.getShape(), op.getAxis());
  int64_t first = 0;
  for (SmallIntegers &operand : operands) {
    operand.expandSplat();
    AxisView part(operand.type.getShape(), op.getAxis());
    const int64_t run = part.size * part.inner, step = whole.size * whole.inner;
    const int16_t *from = operand.numbers.data();
    int16_t *to = result.numbers.data() + whole.at(0, first, 0);
    // Unpacked bits are runs of one element.
    if (run == 1)
      for (int64_t outer = 0; outer < part.outer; ++outer)
        to[outer * step] = from[outer];
    else
      for (int64_t outer = 0; outer < part.outer; ++outer)
        std::copy_n(from + outer * run, run, to + outer * step);
    first += part.size;
    result.bounds = {std::min(result.bounds.least, operand.bounds.least),
                     std::max(result.bounds.greatest, operand.bounds.greatest)};
  }
  return result;
}

/// f(x[i], y[i]), in the place of one of the operands.
template <class F>
Result combined(Operands operands, IntegerRange bounds, F f) {
  SmallIntegers &x = operands[0], &y = operands[1];
  if (!fits(bounds, x.type.getElementType()))
    return std::nullopt;
  SmallIntegers &result = x.isSplat() ? y : x;
  int16_t *to = result.numbers.data();
  const size_t count = result.numbers.size();
  auto each = [&](int a, int b) { return static_cast<int16_t>(f(a, b)); };
  if (x.isSplat()) {
    const int16_t number = x.numbers.front();
    for (size_t i = 0; i < count; ++i)
      to[i] = each(number, to[i]);
  } else if (y.isSplat()) {
    const int16_t number = y.numbers.front();
    for (size_t i = 0; i < count; ++i)
      to[i] = each(to[i], number);
  } else {
    const int16_t *from = y.numbers.data();
    for (size_t i = 0; i < count; ++i)
      to[i] = each(to[i], from[i]);
  }
  result.bounds = bounds;
  return std::move(result);
}

Result sumOf(AddOp, Operands operands) {
  IntegerRange x = operands[0].bounds, y = operands[1].bounds;
  return combined(operands, {x.least + y.least, x.greatest + y.greatest},
                  [](int a, int b) { return a + b; });
}

Result differenceOf(SubOp, Operands operands) {
  IntegerRange x = operands[0].bounds, y = operands[1].bounds;
  return combined(operands, {x.least - y.greatest, x.greatest - y.least},
                  [](int a, int b) { return a - b; });
}

Result andOf(AndOp, Operands operands) {
  IntegerRange x = operands[0].bounds, y = operands[1].bounds;
  if (x.least < 0 && y.least < 0)
    return std::nullopt;
  const int64_t most = x.least < 0   ? y.greatest
                       : y.least < 0 ? x.greatest
                                     : std::min(x.greatest, y.greatest);
  return combined(operands, {0, most}, [](int a, int b) { return a & b; });
}

Result shiftOf(ShiftRightOp, Operands operands) {
  IntegerRange x = operands[0].bounds, y = operands[1].bounds;
  if (y.least < 0 || y.greatest > 15)
    return std::nullopt;
  // Of a number below 0, fewer bits are left the less it is shifted.
  return combined(operands,
                  {x.least >> (x.least < 0 ? y.least : y.greatest),
                   x.greatest >> (x.greatest < 0 ? y.greatest : y.least)},
                  [](int a, int b) { return a >> b; });
}

IntegerRange rangeOf(ArrayRef<int16_t> numbers) {
  int16_t least = numbers.front(), greatest = least;
  for (int16_t number : numbers) {
    least = std::min(least, number);
    greatest = std::max(greatest, number);
  }
  return {least, greatest};
}

} // namespace

std::optional<SmallIntegers> SmallIntegers::fromAttr(ElementsAttr value) {
  std::optional<std::vector<int16_t>> numbers = smallIntegers(value);
  if (!numbers)
    return std::nullopt;
  SmallIntegers result{
      cast<RankedTensorType>(value.getType()), std::move(*numbers), {}};
  result.tightenBounds();
  return result;
}

std::optional<SmallIntegers> SmallIntegers::fromTensor(const Tensor &tensor) {
  auto isSmall = [](auto number) {
    return std::abs(number) <= INT16_MAX && std::trunc(number) == number;
  };
  if (tensor.size() == 0 || !llvm::all_of(tensor.floats, isSmall) ||
      !llvm::all_of(tensor.ints, isSmall))
    return std::nullopt;
  SmallIntegers result{tensor.type(), {}, {}};
  result.numbers.reserve(tensor.size());
  for (double number : tensor.floats)
    result.numbers.push_back(static_cast<int16_t>(number));
  for (int64_t number : tensor.ints)
    result.numbers.push_back(static_cast<int16_t>(number));
  result.tightenBounds();
  return result;
}

void SmallIntegers::tightenBounds() { bounds = rangeOf(numbers); }

void SmallIntegers::expandSplat() {
  if (isSplat())
    numbers.resize(type.getNumElements(), numbers.front());
}

std::optional<SmallIntegers>
evaluateSmall(Operation *op, MutableArrayRef<SmallIntegers> operands) {
  if (op->getNumResults() != 1 ||
      tensorType(op->getResult(0)).getNumElements() == 0)
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](CastOp op) { return castOf(op, operands); })
      .Case([&](ReshapeOp op) { return reshapeOf(op, operands); })
      .Case([&](ConcatOp op) { return concatOf(op, operands); })
      .Case([&](AddOp op) { return sumOf(op, operands); })
      .Case([&](SubOp op) { return differenceOf(op, operands); })
      .Case([&](AndOp op) { return andOf(op, operands); })
      .Case([&](ShiftRightOp op) { return shiftOf(op, operands); })
      .Case<BroadcastOp, TransposeOp, ReverseOp, SliceOp>(
          [&](Operation *op) { return moved(op, operands); })
      .Default([](Operation *) { return Result(); });
}

} // namespace sinter::ir
