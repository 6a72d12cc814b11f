//===- RangeLint.cpp - values that may be too large for fp16 --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Intervals, from what is known for certain: constants, small integers, and
// functions with bounded values. What is not known is not warned about.
//
//===----------------------------------------------------------------------===//
#include "compiler/lint/Lints.h"
#include "ir/Dialect.h"
#include "ir/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kLargestHalf = 65504;

struct Range {
  double low = -kInf, high = kInf;

  bool isKnown() const { return std::isfinite(low) && std::isfinite(high); }
  Range joined(Range other) const {
    return {std::min(low, other.low), std::max(high, other.high)};
  }
};

Range times(Range x, Range y) {
  Range result{kInf, -kInf};
  for (double a : {x.low, x.high})
    for (double b : {y.low, y.high}) {
      double value = a == 0 || b == 0 ? 0 : a * b;
      result = result.joined({value, value});
    }
  return result;
}

/// Of elements: an unknown type of numbers has no bounds.
Range rangeOfType(Type element) {
  if (element.isInteger(1))
    return {0, 1};
  if (auto integer = dyn_cast<IntegerType>(element);
      integer && integer.getWidth() <= 16) {
    double most = std::ldexp(1.0, integer.getWidth());
    return integer.isUnsigned() ? Range{0, most - 1}
                                : Range{-most / 2, most / 2 - 1};
  }
  return {};
}

Range rangeOfConstant(ir::ConstantOp constant) {
  constexpr int64_t kMostElements = 1 << 22;
  if (!isa<FloatType>(getElementTypeOrSelf(constant.getType())) ||
      cast<ElementsAttr>(constant.getValue()).getNumElements() > kMostElements)
    return {};
  FailureOr<ir::Tensor> tensor =
      ir::Tensor::fromAttr(cast<ElementsAttr>(constant.getValue()));
  if (failed(tensor) || tensor->floats.empty())
    return {};
  Range range{kInf, -kInf};
  for (double value : tensor->floats)
    if (!std::isnan(value))
      range = range.joined({value, value});
  return range;
}

class Ranges {
public:
  Range of(Value value) {
    auto found = known.find(value);
    return found != known.end()
               ? found->second
               : rangeOfType(getElementTypeOrSelf(value.getType()));
  }

  /// Ops come in order.
  void visit(Operation &op) {
    if (op.getNumResults() == 1)
      known[op.getResult(0)] = compute(op);
  }

private:
  Range compute(Operation &op) {
    auto x = [&] { return of(op.getOperand(0)); };
    auto y = [&] { return of(op.getOperand(1)); };
    return llvm::TypeSwitch<Operation *, Range>(&op)
        .Case(
            [&](ir::ConstantOp constant) { return rangeOfConstant(constant); })
        .Case<ir::SigmoidOp, ir::CompareOp, ir::IsNanOp, ir::SoftmaxOp>(
            [&](auto) { return Range{0, 1}; })
        .Case<ir::TanhOp, ir::ErfOp, ir::SinOp, ir::CosOp, ir::SignOp>(
            [&](auto) { return Range{-1, 1}; })
        .Case<ir::ReshapeOp, ir::TransposeOp, ir::BroadcastOp, ir::SliceOp,
              ir::ReverseOp, ir::GatherOp, ir::StopGradientOp, ir::CastOp>(
            [&](auto) { return x(); })
        .Case([&](ir::ReluOp) {
          return Range{std::max(0.0, x().low), std::max(0.0, x().high)};
        })
        .Case([&](ir::ExpOp) {
          return Range{std::exp(x().low), std::exp(x().high)};
        })
        .Case([&](ir::NegOp) { return Range{-x().high, -x().low}; })
        .Case([&](ir::AbsOp) {
          double most = std::max(std::abs(x().low), std::abs(x().high));
          return Range{0, most};
        })
        .Case([&](ir::AddOp) {
          return Range{x().low + y().low, x().high + y().high};
        })
        .Case([&](ir::SubOp) {
          return Range{x().low - y().high, x().high - y().low};
        })
        .Case([&](ir::MulOp) { return times(x(), y()); })
        .Case([&](ir::DivOp) {
          Range divisor = y();
          if (divisor.low <= 0 && divisor.high >= 0)
            return Range();
          return times(x(), {1 / divisor.high, 1 / divisor.low});
        })
        .Case([&](ir::MaxOp) {
          return Range{std::max(x().low, y().low),
                       std::max(x().high, y().high)};
        })
        .Case([&](ir::MinOp) {
          return Range{std::min(x().low, y().low),
                       std::min(x().high, y().high)};
        })
        .Case([&](ir::WhereOp) { return y().joined(of(op.getOperand(2))); })
        .Case([&](ir::ConcatOp) {
          Range range{kInf, -kInf};
          for (Value operand : op.getOperands())
            range = range.joined(of(operand));
          return range;
        })
        .Case([&](ir::ReduceOp reduce) {
          Range range = x();
          if (reduce.getKind() == ir::ReduceKind::max ||
              reduce.getKind() == ir::ReduceKind::min)
            return range;
          if (reduce.getKind() != ir::ReduceKind::sum)
            return Range();
          double count = 1;
          for (int64_t dim : reduce.getDims())
            count *= static_cast<double>(
                ir::tensorType(reduce.getX()).getDimSize(dim));
          return times(range, {count, count});
        })
        .Case([&](ir::DotGeneralOp dot) {
          double count = 1;
          for (int64_t dim : dot.getLhsContract())
            count *= static_cast<double>(
                ir::tensorType(dot.getLhs()).getDimSize(dim));
          return times(times(x(), y()), {count, count});
        })
        .Default([&](Operation *) {
          return rangeOfType(getElementTypeOrSelf(op.getResult(0).getType()));
        });
  }

  llvm::DenseMap<Value, Range> known;
};

std::string textOf(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3g", value);
  return text;
}

} // namespace

void compiler::findNarrowRanges(const LintContext &context, LintReport report) {
  if (context.options.precisionPolicy() != "fp16")
    return;
  for (auto function : ModuleOp(context.module).getOps<func::FuncOp>()) {
    Ranges ranges;
    for (Operation &op : function.getBody().front()) {
      ranges.visit(op);
      if (op.getNumResults() != 1 ||
          !getElementTypeOrSelf(op.getResult(0).getType()).isF16())
        continue;
      Range range = ranges.of(op.getResult(0));
      // A constant was rounded when it was folded.
      if (isa<ir::ConstantOp>(op)) {
        if (std::isinf(range.low) != std::isinf(range.high))
          for (Operation *user : op.getResult(0).getUsers())
            report(user->getLoc(), "reads a constant that is infinite in fp16, "
                                   "whose largest number is 65504");
        continue;
      }
      if (isa<ir::CastOp>(op) && range.isKnown() &&
          (range.low < -kLargestHalf || range.high > kLargestHalf))
        report(op.getLoc(), "values from " + textOf(range.low) + " to " +
                                textOf(range.high) +
                                " may be too large for fp16, whose largest "
                                "number is 65504; --keep-fp32=REGEX keeps the "
                                "node in fp32");
    }
  }
}
