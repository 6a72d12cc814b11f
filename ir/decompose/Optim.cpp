//===- Optim.cpp - decompositions of optimizers' update rules -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/decompose/Compute.h"

#include <cmath>

using namespace mlir;
using namespace sinter::ir;

SmallVector<Value> SgdUpdateOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getParam());
  Value param = c.load(getParam());
  Value lr = c.fill(c.load(getLr()), param),
        decay = c.fill(c.load(getWeightDecay()), param);
  Value grad = c.add(c.load(getGrad()), c.mul(decay, param));
  double momentum = getMomentum().convertToDouble();
  if (!getVelocity())
    return {c.store(c.sub(param, c.mul(lr, grad)))};
  Value velocity = c.add(c.mul(c.load(getVelocity()), momentum), grad);
  Value step =
      getNesterov() ? c.add(grad, c.mul(velocity, momentum)) : velocity;
  return {c.store(c.sub(param, c.mul(lr, step))), c.store(velocity)};
}

/// 1 - beta^t for the scalar `t`; exact near 0, where t is small and beta
/// almost 1.
static Value biasCorrection(Compute &c, Value t, double beta) {
  if (beta == 0)
    return c.constant(t, 1);
  return c.make<NegOp>(c.make<Expm1Op>(c.mul(t, std::log(beta))));
}

SmallVector<Value> AdamUpdateOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getParam());
  Value param = c.load(getParam()), grad = c.load(getGrad());
  Value lr = c.load(getLr()), decay = c.load(getWeightDecay()),
        t = c.load(getT());
  double beta1 = getBeta1().convertToDouble(),
         beta2 = getBeta2().convertToDouble();
  if (getDecoupled()) {
    Value kept = c.sub(c.constant(lr, 1), c.mul(lr, decay));
    param = c.mul(param, c.fill(kept, param));
  } else {
    grad = c.add(grad, c.mul(c.fill(decay, param), param));
  }
  Value m = c.add(c.mul(c.load(getM()), beta1), c.mul(grad, 1 - beta1));
  Value v =
      c.add(c.mul(c.load(getV()), beta2), c.mul(c.mul(grad, grad), 1 - beta2));

  // What does not depend on the element is computed once.
  Value step = c.div(lr, biasCorrection(c, t, beta1));
  Value rootCorrection = c.make<SqrtOp>(biasCorrection(c, t, beta2));
  Value root = c.div(c.make<SqrtOp>(v), c.fill(rootCorrection, v));
  Value denominator = c.add(root, getEpsilon().convertToDouble());
  Value change = c.mul(c.fill(step, m), c.div(m, denominator));
  return {c.store(c.sub(param, change)), c.store(m), c.store(v)};
}
