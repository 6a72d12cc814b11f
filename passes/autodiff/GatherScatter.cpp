//===- GatherScatter.cpp - gradient rules of indexed reads and writes -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A read's cotangent is a summing write into zeros, a write's is a read. Part
// of the Shape family; in its own file by size.
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

/// Which updates of a `set` are in the result: of several to one place only the
/// last is.
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

template <class OpTy> LogicalResult scatterRule(OpTy op, OpGradient &g) {
  const unsigned x = 0, updates = 2;
  switch (op.getKind()) {
  case ScatterKind::sum:
    g.give(x, g.grad());
    if (g.wants(updates))
      g.give(updates, read(g, op, g.grad()));
    return success();
  case ScatterKind::set:
    if (g.wants(x))
      g.give(x, write(g, op, ScatterKind::set, g.grad(),
                      g.like(op.getUpdates(), 0)));
    if (g.wants(updates))
      g.give(updates, g.where(survivors(g, op), read(g, op, g.grad()), 0.0));
    return success();
  default:
    return op.emitOpError("has no gradient for kind '")
           << stringifyScatterKind(op.getKind()) << "'";
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
