//===- GatherScatter.cpp - gradient rules of indexed reads and writes -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The cotangent of a read is a write into zeros that sums; that of a write is a
// read. For a write that takes extremes or products, only a part of it is used.
// These ops belong to the family of Shape.cpp, which would get too long.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/Rules.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

void gatherRule(GatherOp op, OpGradient &g) {
  Value zeros = g.like(op.getX(), 0);
  g.give(0, g.make<ScatterOp>(zeros.getType(), ScatterKind::sum, zeros,
                              op.getIndices(), g.grad(), op.getAxis()));
}

void gatherElementsRule(GatherElementsOp op, OpGradient &g) {
  Value zeros = g.like(op.getX(), 0);
  g.give(0, g.make<ScatterElementsOp>(zeros.getType(), ScatterKind::sum, zeros,
                                      op.getIndices(), g.grad(), op.getAxis()));
}

/// Index tuples with the batch coordinates in front.
Value fullTuples(OpGradient &g, GatherNdOp op) {
  if (op.getBatchDims() == 0)
    return op.getIndices();
  RankedTensorType type = tensorType(op.getIndices());
  SmallVector<int64_t> shape(type.getShape());
  int64_t last = type.getRank() - 1;
  shape[last] = 1;
  SmallVector<Value> parts;
  for (int64_t dim = 0, end = op.getBatchDims(); dim < end; ++dim)
    parts.push_back(g.iota(withShape(type, shape), dim));
  parts.push_back(op.getIndices());
  return g.make<ConcatOp>(parts, last);
}

void gatherNdRule(GatherNdOp op, OpGradient &g) {
  Value zeros = g.like(op.getX(), 0);
  g.give(0, g.make<ScatterNdOp>(zeros.getType(), ScatterKind::sum, zeros,
                                fullTuples(g, op), g.grad()));
}

// The write and the read of the same places, by op.
Value write(OpGradient &g, ScatterOp op, ScatterKind kind, Value into,
            Value updates) {
  return g.make<ScatterOp>(into.getType(), kind, into, op.getIndices(), updates,
                           op.getAxis());
}
Value read(OpGradient &g, ScatterOp op, Value from) {
  return g.make<GatherOp>(from, op.getIndices(), op.getAxis());
}
Value write(OpGradient &g, ScatterElementsOp op, ScatterKind kind, Value into,
            Value updates) {
  return g.make<ScatterElementsOp>(into.getType(), kind, into, op.getIndices(),
                                   updates, op.getAxis());
}
Value read(OpGradient &g, ScatterElementsOp op, Value from) {
  return g.make<GatherElementsOp>(from, op.getIndices(), op.getAxis());
}
Value write(OpGradient &g, ScatterNdOp op, ScatterKind kind, Value into,
            Value updates) {
  return g.make<ScatterNdOp>(into.getType(), kind, into, op.getIndices(),
                             updates);
}
Value read(OpGradient &g, ScatterNdOp op, Value from) {
  return g.make<GatherNdOp>(from, op.getIndices(), /*batch_dims=*/0);
}

/// A mask of the updates of a `set` that are in the result: of several to one
/// place, the last one.
template <class OpTy> Value survivors(OpGradient &g, OpTy op) {
  RankedTensorType type = tensorType(op.getUpdates());
  Type i64 = g.b.getI64Type();
  Value numbers =
      g.reshape(g.iota(RankedTensorType::get({type.getNumElements()}, i64), 0),
                type.getShape());
  Value none = g.splat(withElement(tensorType(op.getX()), i64), -1);
  Value written = write(g, op, ScatterKind::set, none, numbers);
  return g.compare(CompareKind::eq, read(g, op, written), numbers);
}

constexpr unsigned kX = 0, kUpdates = 2;

/// Those of the element of `x` and the updates to its place that equal the
/// result share the cotangent equally, as in PyTorch's scatter_reduce.
template <class OpTy> void extremumGradient(OpTy op, OpGradient &g) {
  auto isExtreme = [&](Value value, Value extreme) {
    return g.cast(g.compare(CompareKind::eq, value, extreme),
                  tensorType(value).getElementType());
  };
  Value result = op.getResult();
  Value inX = isExtreme(op.getX(), result);
  Value inUpdates = isExtreme(op.getUpdates(), read(g, op, result));
  Value count = write(g, op, ScatterKind::sum, inX, inUpdates);
  Value share = g.div(g.grad(), count);
  if (g.wants(kX))
    g.give(kX, g.mul(inX, share));
  if (g.wants(kUpdates))
    g.give(kUpdates, g.mul(inUpdates, read(g, op, share)));
}

/// The cotangent times the product of the other factors at the same place. That
/// is the result divided by the factor or, for the only factor that is zero,
/// the product without it.
template <class OpTy> void productGradient(OpTy op, OpGradient &g) {
  auto isZero = [&](Value x) { return g.compare(CompareKind::eq, x, 0.0); };
  auto zerosAsOnes = [&](Value x) {
    return g.where(isZero(x), g.like(x, 1), x);
  };
  auto countZeros = [&](Value x) {
    return g.cast(isZero(x), tensorType(x).getElementType());
  };
  Value x = op.getX(), updates = op.getUpdates();
  Value factorX = zerosAsOnes(x), factorUpdates = zerosAsOnes(updates);
  Value zeros =
      write(g, op, ScatterKind::sum, countZeros(x), countZeros(updates));
  Value product = write(g, op, ScatterKind::prod, factorX, factorUpdates);
  Value ofFactor = g.mul(g.grad(), op.getResult());
  Value ofZero = g.where(g.compare(CompareKind::eq, zeros, 1.0),
                         g.mul(g.grad(), product), 0.0);
  if (g.wants(kX))
    g.give(kX, g.where(isZero(x), ofZero, g.div(ofFactor, factorX)));
  if (g.wants(kUpdates))
    g.give(kUpdates, g.where(isZero(updates), read(g, op, ofZero),
                             g.div(read(g, op, ofFactor), factorUpdates)));
}

template <class OpTy> void scatterRule(OpTy op, OpGradient &g) {
  switch (op.getKind()) {
  case ScatterKind::sum:
    g.give(kX, g.grad());
    if (g.wants(kUpdates))
      g.give(kUpdates, read(g, op, g.grad()));
    return;
  case ScatterKind::set:
    if (g.wants(kX))
      g.give(kX, write(g, op, ScatterKind::set, g.grad(),
                       g.like(op.getUpdates(), 0)));
    if (g.wants(kUpdates))
      g.give(kUpdates, g.where(survivors(g, op), read(g, op, g.grad()), 0.0));
    return;
  case ScatterKind::prod:
    return productGradient(op, g);
  case ScatterKind::max:
  case ScatterKind::min:
    return extremumGradient(op, g);
  }
}

} // namespace

void addGatherScatterRules(GradientRules &rules) {
  rules.add<GatherOp>(gatherRule);
  rules.add<GatherElementsOp>(gatherElementsRule);
  rules.add<GatherNdOp>(gatherNdRule);
  rules.add<ScatterOp>(scatterRule<ScatterOp>);
  rules.add<ScatterElementsOp>(scatterRule<ScatterElementsOp>);
  rules.add<ScatterNdOp>(scatterRule<ScatterNdOp>);
}

} // namespace sinter::passes
