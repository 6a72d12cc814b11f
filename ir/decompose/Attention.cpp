//===- Attention.cpp - decomposition of scaled dot-product attention ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/decompose/Compute.h"

#include "llvm/ADT/Sequence.h"

#include <limits>

using namespace mlir;
using namespace sinter::ir;

/// `scores` [.., T, S] with -inf where the key's position exceeds the query's.
static Value maskFuture(Compute &c, Value scores) {
  RankedTensorType type = tensorType(scores);
  ArrayRef<int64_t> square = type.getShape().take_back(2);
  auto positions = RankedTensorType::get(square, c.b.getI64Type());
  Value query = c.b.create<IotaOp>(c.loc, positions, 0);
  Value key = c.b.create<IotaOp>(c.loc, positions, 1);
  Value isFuture = c.compare(CompareKind::gt, key, query);
  isFuture = broadcastTo(c.b, c.loc, isFuture, type.getShape());
  return c.where(isFuture,
                 c.constant(scores, -std::numeric_limits<double>::infinity()),
                 scores);
}

/// Softmax along the last dimension that gives 0, not NaN, where all is -inf.
static Value softmaxMasked(Compute &c, Value scores) {
  int64_t axis = tensorType(scores).getRank() - 1;
  Value greatest = c.max(scores, axis);
  Value lowest = c.constant(greatest, -std::numeric_limits<double>::infinity());
  Value isMasked = c.compare(CompareKind::eq, greatest, lowest);
  greatest = c.where(isMasked, c.constant(greatest, 0), greatest);
  Value shifted =
      c.sub(scores, c.spread(c.make<StopGradientOp>(greatest), scores, axis));
  Value power = c.make<ExpOp>(shifted);
  Value sum = c.sum(power, axis);
  sum = c.where(isMasked, c.constant(sum, 1), sum);
  return c.div(power, c.spread(sum, scores, axis));
}

SmallVector<Value> AttentionOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getQuery());
  int64_t rank = getType().getRank();
  auto batch = llvm::to_vector(llvm::seq<int64_t>(0, rank - 2));
  auto dot = [&](Value lhs, Value rhs, int64_t lhsDim,
                 int64_t rhsDim) -> Value {
    return c.b.create<DotGeneralOp>(c.loc, lhs, rhs, batch, batch,
                                    ArrayRef<int64_t>(lhsDim),
                                    ArrayRef<int64_t>(rhsDim));
  };
  Value scores = dot(c.load(getQuery()), c.load(getKey()), rank - 1, rank - 1);
  scores = c.mul(scores, getScale().convertToDouble());
  if (getMask())
    scores = c.add(scores, c.load(getMask()));
  if (getCausal())
    scores = maskFuture(c, scores);
  return {c.store(
      dot(softmaxMasked(c, scores), c.load(getValue()), rank - 1, rank - 2))};
}
