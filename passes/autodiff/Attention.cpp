//===- Attention.cpp - gradient rules of attention ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/Rules.h"

using namespace sinter::ir;

namespace sinter::passes {

// The statistics are for this rule alone: if the loss depends on them, there is
// no gradient.
static void attentionRule(AttentionOp op, OpGradient &g) {
  if (g.gradOrNull(1))
    return g.refuse("through its statistics");
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value operand : op->getOperands())
    types.push_back(operand.getType());
  auto grad = g.b.create<AttentionGradOp>(
      g.loc, types, op.getQuery(), op.getKey(), op.getValue(), op.getOutput(),
      op.getStats(), g.grad(), op.getMask(), op.getScaleAttr(),
      op.getCausalAttr());
  for (auto [operand, result] : llvm::enumerate(grad->getResults()))
    g.give(static_cast<unsigned>(operand), result);
}

void addAttentionRules(GradientRules &rules) {
  rules.add<AttentionOp>(attentionRule);
}

} // namespace sinter::passes
