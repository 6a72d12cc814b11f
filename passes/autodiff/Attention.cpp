//===- Attention.cpp - gradient rules of attention ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/Rules.h"

using namespace sinter::ir;

namespace sinter::passes {

// Differentiated through its decomposition: the backward pass needs the
// probabilities, which the whole op does not give.
void addAttentionRules(GradientRules &rules) {
  rules.addKind<AttentionOp>(GradientRuleKind::Decomposed);
}

} // namespace sinter::passes
