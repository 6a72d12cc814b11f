//===- Norm.cpp - decompositions of softmax and normalisations ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/decompose/Compute.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace sinter::ir;

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// x - max(x) along `axis`. The result of softmax does not depend on the
/// maximum, so differentiation need not follow it.
static Value shiftByMax(const Compute &c, Value x, int64_t axis) {
  Compute max = c.in(CompositePart::maximum),
          shift = c.in(CompositePart::shift);
  Value greatest = max.make<StopGradientOp>(max.max(x, axis));
  return shift.sub(x, shift.spread(greatest, x, axis));
}

SmallVector<Value> SoftmaxOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getX());
  int64_t axis = getAxis();
  Compute div = c.in(CompositePart::quotient);
  Value power = c.in(CompositePart::power)
                    .make<ExpOp>(shiftByMax(c, c.load(getX()), axis));
  Value total = c.in(CompositePart::sum).sum(power, axis);
  return {div.store(div.div(power, div.spread(total, power, axis)))};
}

SmallVector<Value> LogSoftmaxOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getX());
  int64_t axis = getAxis();
  Value shifted = shiftByMax(c, c.load(getX()), axis);
  Compute log = c.in(CompositePart::logarithm);
  Value power = c.in(CompositePart::power).make<ExpOp>(shifted);
  Value logSum = log.make<LogOp>(c.in(CompositePart::sum).sum(power, axis));
  return {log.store(log.sub(shifted, log.spread(logSum, shifted, axis)))};
}

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

namespace {
/// x normalised over some dimensions, and its statistics without these.
struct Normalised {
  Value value, mean, variance;
};
} // namespace

/// The variance is the mean of squared deviations. The mean of squares less the
/// squared mean would lose all digits where the mean is large.
static Normalised normalise(const Compute &c, Value x, ArrayRef<int64_t> dims,
                            double epsilon) {
  Compute sub = c.in(CompositePart::centred),
          mul = c.in(CompositePart::normalised);
  Value mean = c.in(CompositePart::mean).mean(x, dims);
  Value centred = sub.sub(x, sub.spread(mean, x, dims));
  Value square = c.in(CompositePart::square).mul(centred, centred);
  Value variance = c.in(CompositePart::variance).mean(square, dims);
  Value inverse =
      c.in(CompositePart::deviation)
          .make<RsqrtOp>(c.in(CompositePart::epsilon).add(variance, epsilon));
  return {mul.mul(centred, mul.spread(inverse, x, dims)), mean, variance};
}

SmallVector<Value> LayerNormOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getX());
  ArrayRef<int64_t> shape = getType().getShape();
  auto dims =
      llvm::to_vector(llvm::seq<int64_t>(getAxis(), getType().getRank()));
  Value y =
      normalise(c, c.load(getX()), dims, getEpsilon().convertToDouble()).value;
  Compute mul = c.in(CompositePart::scale), add = c.in(CompositePart::bias);
  y = mul.mul(y, broadcastTo(c.b, mul.loc, mul.load(getScale()), shape));
  if (getBias())
    y = add.add(y, broadcastTo(c.b, add.loc, add.load(getBias()), shape));
  return {c.store(y)};
}

/// `y * scale + bias` with the factors of each channel, dimension 1.
static Value scaleChannels(const Compute &c, Value y, Value scale, Value bias) {
  Compute mul = c.in(CompositePart::scale), add = c.in(CompositePart::bias);
  ArrayRef<int64_t> shape = tensorType(y).getShape();
  y = mul.mul(y, broadcastInDim(c.b, mul.loc, mul.load(scale), shape, {1}));
  return add.add(y, broadcastInDim(c.b, add.loc, add.load(bias), shape, {1}));
}

SmallVector<Value> BatchNormOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getX());
  Value x = c.load(getX());
  ArrayRef<int64_t> shape = tensorType(x).getShape();
  Value centred =
      c.sub(x, broadcastInDim(c.b, c.loc, c.load(getMean()), shape, {1}));
  // One factor per channel, so that one multiplication per element is left.
  Value variance = c.add(c.load(getVariance()), getEpsilon().convertToDouble());
  Value factor = c.mul(c.make<RsqrtOp>(variance), c.load(getScale()));
  Value y = c.mul(centred, broadcastInDim(c.b, c.loc, factor, shape, {1}));
  return {c.store(
      c.add(y, broadcastInDim(c.b, c.loc, c.load(getBias()), shape, {1})))};
}

SmallVector<Value> BatchNormTrainingOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getX());
  SmallVector<int64_t> dims = allDimsBut(getX().getType().getRank(), 1);
  Normalised n =
      normalise(c, c.load(getX()), dims, getEpsilon().convertToDouble());
  Value y = scaleChannels(c, n.value, getScale(), getBias());
  return {c.store(y), c.store(n.mean), c.store(n.variance)};
}

SmallVector<Value> GroupNormOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getX());
  ArrayRef<int64_t> shape = getType().getShape();
  int64_t groups = getGroups();
  SmallVector<int64_t> grouped = {shape[0], groups, shape[1] / groups};
  grouped.append(shape.begin() + 2, shape.end());
  auto dims = llvm::to_vector(llvm::seq<int64_t>(2, grouped.size()));
  Compute mean = c.in(CompositePart::mean);
  Value x = reshapeTo(c.b, mean.loc, mean.load(getX()), grouped);
  Value y = normalise(c, x, dims, getEpsilon().convertToDouble()).value;
  y = reshapeTo(c.b, c.in(CompositePart::normalised).loc, y, shape);
  return {c.store(scaleChannels(c, y, getScale(), getBias()))};
}
