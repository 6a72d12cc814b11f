//===- Collective.cpp - gradient rules of collective ops ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/Rules.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

// The loss is the sum of the losses of all replicas, and the operand of each
// replica is a summand of the result on all of them. So cotangents are summed
// as the values are.
void addCollectiveRules(GradientRules &rules) {
  rules.add<AllReduceOp>([](AllReduceOp op, OpGradient &g) {
    SmallVector<Value> grads;
    SmallVector<unsigned> wanted;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (g.wants(i) && g.gradOrNull(i)) {
        grads.push_back(g.grad(i));
        wanted.push_back(i);
      }
    if (grads.empty())
      return;
    auto sums = g.b.create<AllReduceOp>(g.loc, grads, op.getAxisAttr(),
                                        op.getReplicasAttr());
    for (auto [i, sum] : llvm::zip_equal(wanted, sums.getOutputs()))
      g.give(i, sum);
  });
}

} // namespace sinter::passes
