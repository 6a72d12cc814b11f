//===- Random.cpp - gradient rules of counter-based randomness ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/Rules.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

// The op of the gradient draws the same random words again, so that the mask
// need not be kept.
void addRandomRules(GradientRules &rules) {
  rules.add<DropoutOp>([](DropoutOp op, OpGradient &g) {
    g.give(0, g.make<DropoutOp>(g.grad(), op.getSeed(), op.getStep(),
                                op.getFirst(), op.getRatioAttr(),
                                op.getOpIdAttr()));
  });
}

} // namespace sinter::passes
