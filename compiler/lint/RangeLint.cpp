//===- RangeLint.cpp - values that may be too large for fp16 --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Warns only about ranges that are known for certain.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/lint/Lints.h"
#include "ir/Dialect.h"
#include "ir/Intervals.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;

namespace {

constexpr double kLargestHalf = 65504;

} // namespace

void compiler::findNarrowRanges(const LintContext &context, LintReport report) {
  if (context.options.precisionPolicy() != "fp16")
    return;
  for (auto function : ModuleOp(context.module).getOps<func::FuncOp>()) {
    ir::Intervals ranges;
    for (Operation &op : function.getBody().front()) {
      // Computing ranges in program order keeps the recursion shallow.
      for (Value result : op.getResults())
        (void)ranges.of(result);
      if (op.getNumResults() != 1 ||
          !getElementTypeOrSelf(op.getResult(0).getType()).isF16())
        continue;
      ir::Interval range = ranges.of(op.getResult(0));
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
        report(op.getLoc(), "values from " + shortNumber(range.low) + " to " +
                                shortNumber(range.high) +
                                " may be too large for fp16, whose largest "
                                "number is 65504; --keep-fp32=REGEX keeps the "
                                "node in fp32");
    }
  }
}
