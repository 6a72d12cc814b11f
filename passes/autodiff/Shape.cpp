//===- Shape.cpp - gradient rules of ops that move elements ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each is linear; its cotangent moves the elements back. Gather and scatter are
// in GatherScatter.cpp.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/Rules.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

void broadcastRule(BroadcastOp op, OpGradient &g) {
  RankedTensorType from = tensorType(op.getX()),
                   to = tensorType(op.getResult());
  SmallVector<int64_t> repeated;
  for (int64_t dim = 0; dim < to.getRank(); ++dim) {
    const int64_t *source = llvm::find(op.getDims(), dim);
    bool isNew = source == op.getDims().end();
    if (isNew ||
        from.getDimSize(source - op.getDims().begin()) != to.getDimSize(dim))
      repeated.push_back(dim);
  }
  g.give(0, g.reshape(g.sum(g.grad(), repeated), from.getShape()));
}

void reshapeRule(ReshapeOp op, OpGradient &g) {
  g.give(0, g.reshape(g.grad(), tensorType(op.getX()).getShape()));
}

void transposeRule(TransposeOp op, OpGradient &g) {
  g.give(0, g.transpose(g.grad(), inversePermutation(op.getPerm())));
}

void sliceRule(SliceOp op, OpGradient &g) {
  RankedTensorType from = tensorType(op.getX()),
                   to = tensorType(op.getResult());
  if (to.getNumElements() == 0)
    return g.give(0, g.like(op.getX(), 0));
  SmallVector<int64_t> high, interior;
  for (int64_t i = 0; i < from.getRank(); ++i) {
    int64_t last =
        op.getStarts()[i] + (to.getDimSize(i) - 1) * op.getStrides()[i];
    high.push_back(from.getDimSize(i) - 1 - last);
    interior.push_back(op.getStrides()[i] - 1);
  }
  Value zero = g.splat(RankedTensorType::get({}, from.getElementType()), 0);
  g.give(0, g.make<PadOp>(g.grad(), zero, op.getStarts(), high, interior));
}

void padRule(PadOp op, OpGradient &g) {
  RankedTensorType from = tensorType(op.getX());
  Value inner = g.like(op.getX(), 0);
  bool isEmpty = from.getNumElements() == 0;
  if (!isEmpty) {
    SmallVector<int64_t> limits, strides;
    for (int64_t i = 0; i < from.getRank(); ++i) {
      strides.push_back(op.getInterior()[i] + 1);
      limits.push_back(op.getLow()[i] +
                       (from.getDimSize(i) - 1) * strides.back() + 1);
    }
    inner = g.make<SliceOp>(g.grad(), op.getLow(), limits, strides);
  }
  if (g.wants(0))
    g.give(0, inner);
  if (!g.wants(1))
    return;
  // The elements that do not come from x come from the value. In the
  // difference, those of x are exactly 0.
  Value zero = g.like(op.getValue(), 0);
  Value outer =
      isEmpty ? g.grad()
              : g.sub(g.grad(), g.make<PadOp>(inner, zero, op.getLow(),
                                              op.getHigh(), op.getInterior()));
  g.give(1, g.sum(outer, firstDims(from.getRank())));
}

void concatRule(ConcatOp op, OpGradient &g) {
  int64_t axis = op.getAxis(), rank = tensorType(op.getResult()).getRank(),
          start = 0;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    RankedTensorType type = tensorType(input);
    SmallVector<int64_t> starts(rank, 0), limits(type.getShape()),
        strides(rank, 1);
    starts[axis] = start;
    start += type.getDimSize(axis);
    limits[axis] = start;
    if (g.wants(i))
      g.give(i, g.make<SliceOp>(g.grad(), starts, limits, strides));
  }
}

void reverseRule(ReverseOp op, OpGradient &g) {
  g.give(0, g.make<ReverseOp>(g.grad(), op.getDims()));
}

} // namespace

void addShapeRules(GradientRules &rules) {
  rules.add<BroadcastOp>(broadcastRule);
  rules.add<ReshapeOp>(reshapeRule);
  rules.add<TransposeOp>(transposeRule);
  rules.add<SliceOp>(sliceRule);
  rules.add<PadOp>(padRule);
  rules.add<ConcatOp>(concatRule);
  rules.add<ReverseOp>(reverseRule);
}

} // namespace sinter::passes
