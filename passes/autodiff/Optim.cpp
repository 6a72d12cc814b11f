//===- Optim.cpp - update rules have no gradient --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/Rules.h"

using namespace sinter::ir;

namespace sinter::passes {

void addOptimRules(GradientRules &rules) {
  // Copies between devices are made after differentiation.
  rules.addKind<SgdUpdateOp, AdamUpdateOp, LambUpdateOp, LionUpdateOp,
                AdagradUpdateOp, RmspropUpdateOp, MuonUpdateOp, CopyOp>(
      GradientRuleKind::NotDifferentiable);
}

} // namespace sinter::passes
