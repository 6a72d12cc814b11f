//===- Norm.cpp - gradient rules of softmax and normalisations ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Statistics are recomputed from x, by the same ops as in the decompositions of
// ir/ops. If the forward op is decomposed, CSE merges the two; if a target
// keeps it whole, no statistics have to be stored.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/Rules.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// dx = y (g - sum(g y))
void softmaxRule(SoftmaxOp op, OpGradient &g) {
  int64_t axis = op.getAxis();
  Value y = op.getResult();
  g.give(0, g.mul(y, g.sub(g.grad(), g.sumSpread(g.mul(g.grad(), y), {axis}))));
}

/// dx = g - exp(y) sum(g)
void logSoftmaxRule(LogSoftmaxOp op, OpGradient &g) {
  int64_t axis = op.getAxis();
  g.give(0, g.sub(g.grad(),
                  g.mul(g.exp(op.getResult()), g.sumSpread(g.grad(), {axis}))));
}

/// x normalised over `dims` by its own statistics: n = (x - mean) * rstd.
struct Normalised {
  Value value; // n
  Value rstd;  // of x's shape
};

/// The mean over `dims`, which the result does not have.
Value meanOver(ValueBuilder g, Value v, ArrayRef<int64_t> dims) {
  double count = 1;
  for (int64_t dim : dims)
    count *= static_cast<double>(tensorType(v).getDimSize(dim));
  return g.div(g.sum(v, dims), count);
}
Value meanSpread(ValueBuilder g, Value v, ArrayRef<int64_t> dims) {
  return g.unreduce(meanOver(g, v, dims), dims, v);
}

Normalised normalise(OpGradient &g, Value x, ArrayRef<int64_t> dims,
                     double epsilon) {
  ValueBuilder sub = g.in(CompositePart::centred),
               mul = g.in(CompositePart::normalised);
  Value mean = meanOver(g.in(CompositePart::mean), x, dims);
  Value centered = sub.sub(x, sub.unreduce(mean, dims, x));
  Value square = g.in(CompositePart::square).square(centered);
  Value variance = meanOver(g.in(CompositePart::variance), square, dims);
  variance = g.in(CompositePart::epsilon).add(variance, epsilon);
  Value rstd = g.in(CompositePart::deviation).rsqrt(variance);
  rstd = mul.unreduce(rstd, dims, x);
  return {mul.mul(centered, rstd), rstd};
}

/// The cotangent of x under n = normalise(x), from that of n, `h`:
/// rstd (h - mean(h) - n mean(h n)).
Value throughStatistics(OpGradient &g, Normalised n, Value h,
                        ArrayRef<int64_t> dims) {
  Value alongScale = g.mul(n.value, meanSpread(g, g.mul(h, n.value), dims));
  return g.mul(n.rstd, g.sub(g.sub(h, meanSpread(g, h, dims)), alongScale));
}

void layerNormRule(LayerNormOp op, OpGradient &g) {
  RankedTensorType type = tensorType(op.getX());
  int64_t axis = op.getAxis(), rank = type.getRank();
  SmallVector<int64_t> inner = dimRange(axis, rank), outer = firstDims(axis);
  ValueBuilder mul = g.in(CompositePart::scale);
  Normalised n =
      normalise(g, op.getX(), inner, op.getEpsilon().convertToDouble());
  if (g.wants(0)) {
    Value scale = mul.broadcast(op.getScale(), type.getShape(), inner);
    g.give(0, throughStatistics(g, n, mul.mul(g.grad(), scale), inner));
  }
  if (g.wants(1))
    g.give(1, mul.sum(mul.mul(g.grad(), n.value), outer));
  if (op.getBias() && g.wants(2))
    g.give(2, g.in(CompositePart::bias).sum(g.grad(), outer));
}

/// The statistics are operands, so the op is linear in x.
void batchNormRule(BatchNormOp op, OpGradient &g) {
  RankedTensorType type = tensorType(op.getX());
  SmallVector<int64_t> others = allDimsBut(type.getRank(), 1);
  auto spread = [&](Value v) { return g.broadcast(v, type.getShape(), {1}); };
  Value rstd =
      g.rsqrt(g.add(op.getVariance(), op.getEpsilon().convertToDouble()));
  Value factor = g.mul(op.getScale(), rstd);
  if (g.wants(0))
    g.give(0, g.mul(g.grad(), spread(factor)));
  if (g.wants(1) || g.wants(4)) {
    Value centered = g.sub(op.getX(), spread(op.getMean()));
    Value sum = g.sum(g.mul(g.grad(), centered), others);
    g.give(1, g.mul(sum, rstd));
    if (g.wants(4))
      g.give(4, g.mul(g.mul(sum, -0.5), g.mul(factor, g.square(rstd))));
  }
  if (g.wants(2) || g.wants(3)) {
    Value sum = g.sum(g.grad(), others);
    g.give(2, sum);
    if (g.wants(3))
      g.give(3, g.neg(g.mul(sum, factor)));
  }
}

void batchNormTrainingRule(BatchNormTrainingOp op, OpGradient &g) {
  RankedTensorType type = tensorType(op.getX());
  SmallVector<int64_t> others = allDimsBut(type.getRank(), 1);
  auto spread = [&](Value v) { return g.broadcast(v, type.getShape(), {1}); };
  Value centered = g.sub(op.getX(), spread(op.getBatchMean()));
  Value rstd =
      g.rsqrt(g.add(op.getBatchVariance(), op.getEpsilon().convertToDouble()));
  Normalised n{g.mul(centered, spread(rstd)), spread(rstd)};

  double count = static_cast<double>(type.getNumElements()) /
                 static_cast<double>(std::max<int64_t>(type.getDimSize(1), 1));
  Value sumGrad = g.sum(g.grad(), others);
  Value sumProduct = g.sum(g.mul(g.grad(), n.value), others);
  if (g.wants(0)) {
    Value mean = spread(g.div(sumGrad, count)),
          slope = spread(g.div(sumProduct, count));
    Value inner = g.sub(g.sub(g.grad(), mean), g.mul(n.value, slope));
    Value dx = g.mul(spread(g.mul(op.getScale(), rstd)), inner);
    // mean = sum(x) / count; variance = sum((x - mean)^2) / count
    if (Value meanGrad = g.gradOrNull(1))
      dx = g.add(dx, spread(g.div(meanGrad, count)));
    if (Value varianceGrad = g.gradOrNull(2))
      dx = g.add(dx, g.mul(centered, spread(g.mul(varianceGrad, 2 / count))));
    g.give(0, dx);
  }
  if (g.wants(1))
    g.give(1, sumProduct);
  if (g.wants(2))
    g.give(2, sumGrad);
}

/// Like layer_norm over the rest of [N, groups, rest..], with one scale per
/// channel.
void groupNormRule(GroupNormOp op, OpGradient &g) {
  RankedTensorType type = tensorType(op.getX());
  ArrayRef<int64_t> shape = type.getShape();
  int64_t groups = op.getGroups();
  SmallVector<int64_t> grouped{shape[0], groups, shape[1] / groups};
  grouped.append(shape.begin() + 2, shape.end());
  SmallVector<int64_t> dims = dimRange(2, grouped.size());
  ValueBuilder first = g.in(CompositePart::mean),
               last = g.in(CompositePart::normalised),
               mul = g.in(CompositePart::scale);
  Normalised n = normalise(g, first.reshape(op.getX(), grouped), dims,
                           op.getEpsilon().convertToDouble());
  SmallVector<int64_t> others = allDimsBut(type.getRank(), 1);
  if (g.wants(0)) {
    Value h = mul.mul(g.grad(), mul.broadcast(op.getScale(), shape, {1}));
    Value dx = throughStatistics(g, n, last.reshape(h, grouped), dims);
    g.give(0, first.reshape(dx, shape));
  }
  if (g.wants(1)) {
    Value value = last.reshape(n.value, shape);
    g.give(1, mul.sum(mul.mul(g.grad(), value), others));
  }
  if (g.wants(2))
    g.give(2, g.in(CompositePart::bias).sum(g.grad(), others));
}

} // namespace

void addNormRules(GradientRules &rules) {
  rules.add<SoftmaxOp>(softmaxRule);
  rules.add<LogSoftmaxOp>(logSoftmaxRule);
  rules.add<LayerNormOp>(layerNormRule);
  rules.add<BatchNormOp>(batchNormRule);
  rules.add<BatchNormTrainingOp>(batchNormTrainingRule);
  rules.add<GroupNormOp>(groupNormRule);
}

} // namespace sinter::passes
