//===- Reduce.cpp - gradient rules of reductions, windows and top_k -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/Rules.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// d prod / dx_i is the product of all other elements: of those before times
/// those after. A quotient prod / x_i would be wrong where an element is 0.
Value prodGradient(OpGradient &g, ReduceOp op) {
  Value x = op.getX();
  RankedTensorType type = tensorType(x);
  // The reduced dimensions become one, the last.
  SmallVector<int64_t> perm, shape;
  int64_t count = 1;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (!llvm::is_contained(op.getDims(), i)) {
      perm.push_back(i);
      shape.push_back(type.getDimSize(i));
    }
  }
  int64_t axis = perm.size();
  for (int64_t dim : op.getDims()) {
    perm.push_back(dim);
    count *= type.getDimSize(dim);
  }
  shape.push_back(count);
  Value transposed = g.transpose(x, perm);
  Value flat = g.reshape(transposed, shape);
  auto others = [&](bool reverse) {
    return g.make<CumulativeOp>(ReduceKind::prod, flat, axis,
                                /*exclusive=*/true, reverse);
  };
  Value product = g.mul(others(false), others(true));
  Value grad = g.mul(g.unreduce(g.grad(), {axis}, flat), product);
  Value shaped = g.reshape(grad, tensorType(transposed).getShape());
  return g.transpose(shaped, inversePermutation(perm));
}

/// All elements that equal the extreme share the cotangent equally.
Value extremumGradient(OpGradient &g, ReduceOp op) {
  Value x = op.getX();
  Value isExtreme = g.compare(CompareKind::eq, x,
                              g.unreduce(op.getResult(), op.getDims(), x));
  Value mask = g.cast(isExtreme, tensorType(x).getElementType());
  Value share = g.div(g.grad(), g.sum(mask, op.getDims()));
  return g.mul(mask, g.unreduce(share, op.getDims(), x));
}

void reduceRule(ReduceOp op, OpGradient &g) {
  switch (op.getKind()) {
  case ReduceKind::sum:
    g.give(0, g.unreduce(g.grad(), op.getDims(), op.getX()));
    return;
  case ReduceKind::prod:
    g.give(0, prodGradient(g, op));
    return;
  case ReduceKind::max:
  case ReduceKind::min:
    g.give(0, extremumGradient(g, op));
    return;
  default:
    g.refuse("for this kind");
  }
}

Value windowGradient(OpGradient &g, ReduceWindowOp op, ReduceKind kind,
                     Value x) {
  return g.make<ReduceWindowGradOp>(
      x.getType(), kind, x, g.grad(), op.getWindow(), op.getStrides(),
      op.getDilations(), op.getPadsLow(), op.getPadsHigh());
}

void reduceWindowRule(ReduceWindowOp op, OpGradient &g) {
  // min(x) = -max(-x); the two signs cancel in the gradient.
  if (op.getKind() == ReduceKind::min)
    g.give(0, windowGradient(g, op, ReduceKind::max, g.neg(op.getX())));
  else
    g.give(0, windowGradient(g, op, op.getKind(), op.getX()));
}

/// The op is linear in `output_grad`. For max, `x` only chooses elements, and
/// the choice is constant almost everywhere.
void reduceWindowGradRule(ReduceWindowGradOp op, OpGradient &g) {
  if (op.getKind() != ReduceKind::sum && g.wants(1))
    return g.refuse("of second order for kind max");
  if (g.wants(0))
    g.give(0, g.like(op.getX(), 0));
  if (g.wants(1))
    g.give(1, g.make<ReduceWindowOp>(op.getOutputGrad().getType(), op.getKind(),
                                     g.grad(), op.getWindow(), op.getStrides(),
                                     op.getDilations(), op.getPadsLow(),
                                     op.getPadsHigh()));
}

/// `x` shifted by one along `axis`, toward the front or the back. The free
/// place is zero.
Value shiftByOne(OpGradient &g, Value x, int64_t axis, bool towardFront) {
  RankedTensorType type = tensorType(x);
  int64_t rank = type.getRank(), size = type.getDimSize(axis);
  SmallVector<int64_t> starts(rank, 0), limits(type.getShape()), ones(rank, 1);
  SmallVector<int64_t> low(rank, 0), high(rank, 0), interior(rank, 0);
  (towardFront ? starts[axis] : limits[axis]) += towardFront ? 1 : -1;
  (towardFront ? high : low)[axis] = 1;
  if (size == 0)
    return x;
  Value part = g.make<SliceOp>(x, starts, limits, ones);
  Value zero = g.splat(RankedTensorType::get({}, type.getElementType()), 0);
  return g.make<PadOp>(part, zero, low, high, interior);
}

/// For a running product, also where an element is 0: dx_i = (product before i)
/// * sum over j >= i of g_j * (product of the elements after i up to j). Needs
/// n^2 elements along the axis.
Value cumulativeProdGradient(OpGradient &g, CumulativeOp op) {
  RankedTensorType type = tensorType(op.getX());
  int64_t rank = type.getRank(), axis = op.getAxis(), n = type.getDimSize(axis);
  Value x = op.getX(), grad = g.grad();
  if (op.getReverse()) {
    x = g.make<ReverseOp>(x, ArrayRef<int64_t>{axis});
    grad = g.make<ReverseOp>(grad, ArrayRef<int64_t>{axis});
  }
  // Element j of the exclusive form is element j - 1 of the inclusive one.
  if (op.getExclusive())
    grad = shiftByOne(g, grad, axis, /*towardFront=*/true);

  // Of shape [.., i, j, ..]: dimension j comes after dimension i.
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + axis + 1, n);
  SmallVector<int64_t> alongJ;
  for (int64_t d = 0; d < rank; ++d)
    alongJ.push_back(d < axis ? d : d + 1);
  auto square = RankedTensorType::get(shape, type.getElementType());
  auto indexType = RankedTensorType::get(shape, g.b.getI64Type());
  Value i = g.iota(indexType, axis), j = g.iota(indexType, axis + 1);
  Value spread = g.broadcast(x, shape, alongJ);
  Value after = g.where(g.compare(CompareKind::gt, j, i), spread, 1.0);
  Value products =
      g.make<CumulativeOp>(ReduceKind::prod, after, axis + 1, false, false);
  Value terms = g.mul(g.broadcast(grad, shape, alongJ), products);
  Value masked =
      g.where(g.compare(CompareKind::ge, j, i), terms, g.splat(square, 0));
  Value before = g.make<CumulativeOp>(ReduceKind::prod, x, axis,
                                      /*exclusive=*/true, false);
  Value result = g.mul(before, g.sum(masked, {axis + 1}));
  return op.getReverse() ? g.make<ReverseOp>(result, ArrayRef<int64_t>{axis})
                         : result;
}

void cumulativeRule(CumulativeOp op, OpGradient &g) {
  if (op.getKind() == ReduceKind::prod)
    g.give(0, cumulativeProdGradient(g, op));
  else
    g.give(0, g.make<CumulativeOp>(ReduceKind::sum, g.grad(), op.getAxis(),
                                   op.getExclusive(), !op.getReverse()));
}

void topKRule(TopKOp op, OpGradient &g) {
  Value zeros = g.like(op.getX(), 0);
  g.give(0,
         g.make<ScatterElementsOp>(zeros.getType(), ScatterKind::sum, zeros,
                                   op.getIndices(), g.grad(0), op.getAxis()));
}

} // namespace

void addReduceRules(GradientRules &rules) {
  rules.add<ReduceOp>(reduceRule);
  rules.add<ReduceWindowOp>(reduceWindowRule);
  rules.add<ReduceWindowGradOp>(reduceWindowGradRule);
  rules.add<CumulativeOp>(cumulativeRule);
  rules.add<TopKOp>(topKRule);
}

} // namespace sinter::passes
