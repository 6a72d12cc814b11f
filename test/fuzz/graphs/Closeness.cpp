//===- Closeness.cpp - the allowed error of a result ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/fuzz/graphs/Closeness.h"

#include "ir/eval/Evaluate.h"
#include "passes/place/DecomposeComposites.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <random>

using namespace mlir;
using sinter::ir::Tensor;

namespace sinter::fuzz {

namespace {

constexpr int kTrials = 5;
/// The square of a smaller number underflows in float32.
constexpr double kLeast = 0x1p-63;

/// The relative error of rounding to a float type.
double roundingOf(Type element) {
  return std::ldexp(1.0, -int(cast<FloatType>(element).getFPMantissaWidth()));
}

/// Ops that copy numbers, or have few different results. Noise there would make
/// equal numbers differ.
bool isExact(Operation *op) {
  static const llvm::StringSet<llvm::MallocAllocator> exact = {
      "sinter.abs",       "sinter.arg_reduce", "sinter.broadcast",
      "sinter.cast",      "sinter.ceil",       "sinter.concat",
      "sinter.constant",  "sinter.copy",       "sinter.floor",
      "sinter.mod",       "sinter.rem",        "sinter.compare",
      "sinter.gather",    "sinter.iota",       "sinter.gather_elements",
      "sinter.gather_nd", "sinter.max",        "sinter.min",
      "sinter.neg",       "sinter.pad",        "sinter.relu",
      "sinter.reshape",   "sinter.reverse",    "sinter.round",
      "sinter.sign",      "sinter.slice",      "sinter.stop_gradient",
      "sinter.top_k",     "sinter.transpose",  "sinter.where"};
  if (exact.contains(op->getName().getStringRef()))
    return true;
  Attribute kind = op->getAttr("kind");
  if (!kind || !op->getName().getStringRef().starts_with("sinter.reduce"))
    return false;
  std::string text;
  llvm::raw_string_ostream(text) << kind;
  return StringRef(text).contains("max") || StringRef(text).contains("min");
}

/// Changes each number by a random part of some roundings.
void move(Tensor &tensor, const Accuracy &accuracy, std::mt19937_64 &random) {
  if (!tensor.isFloat())
    return;
  double rounding =
      std::max(accuracy.rounding, roundingOf(tensor.type().getElementType()));
  for (double &number : tensor.floats)
    number *=
        1 + accuracy.noise * rounding * (double(random() >> 11) * 0x1p-52 - 1);
}

/// Like `move`, but integers stay: the exponent of a square, for example, was
/// not rounded.
void moveOperand(Tensor &tensor, const Accuracy &accuracy,
                 std::mt19937_64 &random) {
  Tensor moved = tensor;
  move(moved, accuracy, random);
  for (size_t i = 0; i < tensor.floats.size(); ++i)
    if (tensor.floats[i] != std::trunc(tensor.floats[i]))
      tensor.floats[i] = moved.floats[i];
}

/// The function's results if each computed float is off by a random part of
/// some roundings. The operands of ops are off, too: the error of a sum of
/// numbers that cancel depends on their size.
std::optional<std::vector<Tensor>> evaluateNoisily(func::FuncOp function,
                                                   ArrayRef<Tensor> inputs,
                                                   const Accuracy &accuracy,
                                                   uint64_t seed) {
  std::mt19937_64 random(seed);
  llvm::DenseMap<Value, Tensor> values;
  for (auto [argument, input] :
       llvm::zip_equal(function.getArguments(), inputs))
    values[argument] = input;
  auto valuesOf = [&](Operation *op) {
    std::vector<Tensor> list;
    for (Value operand : op->getOperands())
      list.push_back(values.lookup(operand));
    return list;
  };
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator()) {
    std::vector<Tensor> operands = valuesOf(&op);
    bool isNoisy = !isExact(&op);
    if (isNoisy)
      for (Tensor &operand : operands)
        moveOperand(operand, accuracy, random);
    SmallVector<Tensor> results;
    if (failed(ir::evaluateOp(&op, operands, results)))
      return std::nullopt;
    for (auto [value, result] : llvm::zip_equal(op.getResults(), results)) {
      if (isNoisy)
        move(result, accuracy, random);
      values[value] = std::move(result);
    }
  }
  return valuesOf(body.getTerminator());
}

/// Increases the allowed error to the difference of `other`.
void widen(Expected &expected, const Tensor &other, double ofSpread) {
  const Tensor &value = expected.value;
  if (value.ints != other.ints)
    expected.isUnstable = true;
  for (size_t i = 0; i < value.floats.size(); ++i) {
    double a = value.floats[i], b = other.floats[i];
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double off = ofSpread * std::fabs(a - b);
    if (std::isfinite(off))
      expected.allowed = std::max(expected.allowed, off);
    else
      expected.isUnstable = true;
  }
}

/// A copy of the function in which composites are computed step by step, as
/// programs compute them: an error within a composite can be larger than what
/// errors of its operands and results show. The mean of two nearly equal
/// numbers is rounded, for example, before it is subtracted.
OwningOpRef<func::FuncOp> decomposed(func::FuncOp function) {
  OwningOpRef<func::FuncOp> copy = function.clone();
  passes::decomposeComposites(
      *copy, [](Operation *op) { return isa<ir::DropoutOp>(op); });
  return copy;
}

} // namespace

std::optional<std::vector<Expected>> expect(func::FuncOp function,
                                            ArrayRef<Tensor> inputs,
                                            const Accuracy &accuracy) {
  auto exact = ir::evaluateFunction(function, inputs);
  // Numbers that leave the range of their type show here.
  auto rounded = ir::evaluateFunction(function, inputs, ir::Rounding::each_op);
  if (failed(exact) || failed(rounded))
    return std::nullopt;
  std::vector<Expected> expected;
  for (auto [value, other] : llvm::zip_equal(*exact, *rounded)) {
    Expected &one = expected.emplace_back();
    one.value = value;
    widen(one, other, accuracy.ofSpread);
    if (!value.isFloat())
      continue;
    double largest = 0;
    for (double number : value.floats)
      if (std::isfinite(number))
        largest = std::max(largest, std::fabs(number));
    double rounding =
        std::max(accuracy.rounding, roundingOf(value.type().getElementType()));
    one.allowed =
        std::max(one.allowed, accuracy.ofLargest * rounding * largest + kLeast);
  }
  OwningOpRef<func::FuncOp> steps = decomposed(function);
  for (int trial = 0; trial < kTrials; ++trial) {
    auto noisy = evaluateNoisily(*steps, inputs, accuracy, trial + 1);
    if (!noisy)
      return std::nullopt;
    for (auto [one, other] : llvm::zip_equal(expected, *noisy))
      widen(one, other, accuracy.ofSpread);
  }
  return expected;
}

std::string difference(const Tensor &actual, const Expected &expected) {
  const Tensor &value = expected.value;
  if (actual.type() != value.type()) {
    std::string text;
    llvm::raw_string_ostream(text)
        << "is " << actual.type() << " instead of " << value.type();
    return text;
  }
  if (expected.isUnstable)
    return "";
  for (size_t i = 0; i < value.ints.size(); ++i)
    if (actual.ints[i] != value.ints[i])
      return "element " + std::to_string(i) + " is " +
             std::to_string(actual.ints[i]) + " instead of " +
             std::to_string(value.ints[i]);
  std::string worst;
  double most = expected.allowed;
  for (size_t i = 0; i < value.floats.size(); ++i) {
    double a = actual.floats[i], b = value.floats[i];
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double error = std::fabs(a - b);
    if (error <= most) // false for NaN
      continue;
    char text[160];
    std::snprintf(text, sizeof(text),
                  "element %zu is %.9g instead of %.9g, error %.3g, allowed "
                  "%.3g",
                  i, a, b, error, expected.allowed);
    worst = text;
    if (!std::isfinite(error))
      break;
    most = error;
  }
  return worst;
}

} // namespace sinter::fuzz
