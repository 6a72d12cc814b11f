//===- Optim.cpp - decompositions of optimizers' update rules -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Locations.h"
#include "ir/decompose/Compute.h"

#include <cmath>

using namespace mlir;
using namespace sinter::ir;

/// Builds the scalars that do not depend on the parameter, and their copies to
/// its shape. Equal ones of several updates become one, which belongs to the
/// optimizer and to no parameter.
static Compute sharedBy(OpBuilder &builder, Value param) {
  return {builder, partLocation(builder.getContext(), kOptimizerPart), param};
}

SmallVector<Value> SgdUpdateOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getParam()),
      shared = sharedBy(builder, getParam());
  Value param = c.load(getParam());
  Value lr = shared.fill(shared.load(getLr()), param),
        decay = shared.fill(shared.load(getWeightDecay()), param);
  Value grad = c.add(c.load(getGrad()), c.mul(decay, param));
  double momentum = getMomentum().convertToDouble();
  if (!getVelocity())
    return {c.store(c.sub(param, c.mul(lr, grad)))};
  Value velocity = c.add(c.mul(c.load(getVelocity()), momentum), grad);
  Value step =
      getNesterov() ? c.add(grad, c.mul(velocity, momentum)) : velocity;
  return {c.store(c.sub(param, c.mul(lr, step))), c.store(velocity)};
}

/// 1 - beta^t for the scalar `t`; exact near 0, where t is small and beta is
/// almost 1.
static Value biasCorrection(Compute &c, Value t, double beta) {
  if (beta == 0)
    return c.constant(t, 1);
  return c.make<NegOp>(c.make<Expm1Op>(c.mul(t, std::log(beta))));
}

/// The new averages of the gradient and of its square.
static std::pair<Value, Value> moments(Compute &c, Value m, Value v, Value grad,
                                       double beta1, double beta2) {
  return {c.add(c.mul(c.load(m), beta1), c.mul(grad, 1 - beta1)),
          c.add(c.mul(c.load(v), beta2), c.mul(c.mul(grad, grad), 1 - beta2))};
}

SmallVector<Value> AdamUpdateOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getParam()),
      shared = sharedBy(builder, getParam());
  Value param = c.load(getParam()), grad = c.load(getGrad());
  Value lr = shared.load(getLr()), decay = shared.load(getWeightDecay()),
        t = shared.load(getT());
  double beta1 = getBeta1().convertToDouble(),
         beta2 = getBeta2().convertToDouble();
  if (getDecoupled()) {
    Value kept = shared.sub(shared.constant(lr, 1), shared.mul(lr, decay));
    param = c.mul(param, shared.fill(kept, param));
  } else {
    grad = c.add(grad, c.mul(shared.fill(decay, param), param));
  }
  auto [m, v] = moments(c, getM(), getV(), grad, beta1, beta2);

  // Values that do not depend on the element are computed once.
  Value step = shared.div(lr, biasCorrection(shared, t, beta1));
  Value rootCorrection = shared.make<SqrtOp>(biasCorrection(shared, t, beta2));
  Value root = c.div(c.make<SqrtOp>(v), shared.fill(rootCorrection, v));
  Value denominator = c.add(root, getEpsilon().convertToDouble());
  Value change = c.mul(shared.fill(step, m), c.div(m, denominator));
  return {c.store(c.sub(param, change)), c.store(m), c.store(v)};
}

/// The sum of squares of all elements, a scalar.
static Value squaredNorm(Compute &c, Value x) {
  SmallVector<int64_t> dims =
      llvm::to_vector(llvm::seq<int64_t>(0, tensorType(x).getRank()));
  return c.sum(c.mul(x, x), dims);
}

SmallVector<Value> LambUpdateOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getParam()),
      shared = sharedBy(builder, getParam());
  Value param = c.load(getParam()), grad = c.load(getGrad());
  Value lr = shared.load(getLr()), decay = shared.load(getWeightDecay()),
        t = shared.load(getT());
  double beta1 = getBeta1().convertToDouble(),
         beta2 = getBeta2().convertToDouble();
  auto [m, v] = moments(c, getM(), getV(), grad, beta1, beta2);
  Value mean = c.div(m, shared.fill(biasCorrection(shared, t, beta1), m));
  Value square = c.div(v, shared.fill(biasCorrection(shared, t, beta2), v));
  Value denominator =
      c.add(c.make<SqrtOp>(square), getEpsilon().convertToDouble());
  Value change =
      c.add(c.div(mean, denominator), c.mul(shared.fill(decay, param), param));

  Value paramNorm = c.make<SqrtOp>(squaredNorm(c, param)),
        changeNorm = c.make<SqrtOp>(squaredNorm(c, change));
  Value zero = c.constant(paramNorm, 0), one = c.constant(paramNorm, 1);
  Value bothCount = builder.create<AndOp>(
      getLoc(), c.compare(CompareKind::gt, paramNorm, zero),
      c.compare(CompareKind::gt, changeNorm, zero));
  Value divisor = c.where(bothCount, changeNorm, one);
  Value trust = c.where(bothCount, c.div(paramNorm, divisor), one);
  Value step = c.fill(c.mul(lr, trust), change);
  return {c.store(c.sub(param, c.mul(step, change))), c.store(m), c.store(v)};
}

SmallVector<Value> LionUpdateOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getParam()),
      shared = sharedBy(builder, getParam());
  Value param = c.load(getParam()), grad = c.load(getGrad()),
        m = c.load(getM());
  Value lr = shared.load(getLr()), decay = shared.load(getWeightDecay());
  double beta1 = getBeta1().convertToDouble(),
         beta2 = getBeta2().convertToDouble();
  Value kept = shared.sub(shared.constant(lr, 1), shared.mul(lr, decay));
  Value direction =
      c.make<SignOp>(c.add(c.mul(m, beta1), c.mul(grad, 1 - beta1)));
  Value newParam = c.sub(c.mul(param, shared.fill(kept, param)),
                         c.mul(shared.fill(lr, param), direction));
  Value newM = c.add(c.mul(m, beta2), c.mul(grad, 1 - beta2));
  return {c.store(newParam), c.store(newM)};
}

SmallVector<Value> AdagradUpdateOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getParam()),
      shared = sharedBy(builder, getParam());
  Value param = c.load(getParam());
  Value lr = shared.fill(shared.load(getLr()), param),
        decay = shared.fill(shared.load(getWeightDecay()), param);
  Value grad = c.add(c.load(getGrad()), c.mul(decay, param));
  Value sum = c.add(c.load(getSum()), c.mul(grad, grad));
  Value denominator =
      c.add(c.make<SqrtOp>(sum), getEpsilon().convertToDouble());
  return {c.store(c.sub(param, c.mul(lr, c.div(grad, denominator)))),
          c.store(sum)};
}

SmallVector<Value> RmspropUpdateOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getParam()),
      shared = sharedBy(builder, getParam());
  Value param = c.load(getParam());
  Value lr = shared.fill(shared.load(getLr()), param),
        decay = shared.fill(shared.load(getWeightDecay()), param);
  double alpha = getAlpha().convertToDouble();
  Value grad = c.add(c.load(getGrad()), c.mul(decay, param));
  Value v =
      c.add(c.mul(c.load(getV()), alpha), c.mul(c.mul(grad, grad), 1 - alpha));
  Value step =
      c.div(grad, c.add(c.make<SqrtOp>(v), getEpsilon().convertToDouble()));
  if (!getVelocity())
    return {c.store(c.sub(param, c.mul(lr, step))), c.store(v)};
  Value velocity = c.add(
      c.mul(c.load(getVelocity()), getMomentum().convertToDouble()), step);
  return {c.store(c.sub(param, c.mul(lr, velocity))), c.store(v),
          c.store(velocity)};
}

SmallVector<Value> MuonUpdateOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getParam()),
      shared = sharedBy(builder, getParam());
  Value param = c.load(getParam()), grad = c.load(getGrad());
  Value lr = shared.load(getLr()), decay = shared.load(getWeightDecay());
  double momentum = getMomentum().convertToDouble();
  Value share = c.mul(grad, 1 - momentum);
  Value velocity = c.add(c.mul(c.load(getVelocity()), momentum), share);
  Value direction =
      getNesterov() ? c.add(c.mul(velocity, momentum), share) : velocity;

  Value norm = c.make<SqrtOp>(squaredNorm(c, direction));
  Value divisor =
      c.make<MaxOp>(norm, c.constant(norm, getEpsilon().convertToDouble()));
  Value x = c.div(direction, c.fill(divisor, direction));
  // Use the products of the smaller side: X X^T, or X^T X.
  RankedTensorType type = tensorType(x);
  const bool isTall = type.getDimSize(0) > type.getDimSize(1);
  auto product = [&](Value lhs, int64_t lhsSummed, Value rhs,
                     int64_t rhsSummed) -> Value {
    return builder.create<DotGeneralOp>(
        getLoc(), lhs, rhs, ArrayRef<int64_t>(), ArrayRef<int64_t>(),
        ArrayRef<int64_t>(lhsSummed), ArrayRef<int64_t>(rhsSummed));
  };
  for (int64_t i = 0, steps = getSteps(); i < steps; ++i) {
    Value gram = isTall ? product(x, 0, x, 0) : product(x, 1, x, 1);
    Value change = c.add(c.mul(gram, kB), c.mul(product(gram, 1, gram, 0), kC));
    Value moved = isTall ? product(x, 1, change, 0) : product(change, 1, x, 0);
    x = c.add(c.mul(x, kA), moved);
  }
  Value kept = shared.sub(shared.constant(lr, 1), shared.mul(lr, decay));
  Value step = shared.fill(shared.mul(lr, getRateFactor()), x);
  Value newParam =
      c.sub(c.mul(param, shared.fill(kept, param)), c.mul(step, x));
  return {c.store(newParam), c.store(velocity)};
}
