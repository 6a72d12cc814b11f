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

/// `scores` [.., T, S], with -inf where the position of the key exceeds that of
/// the query.
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

namespace {
/// The values between the two products of attention.
struct Probabilities {
  Value values; // [.., T, S]; rows of 0 where all scores are -inf
  Value stats;  // [.., T]
};
} // namespace

/// Softmax along the last dimension; it gives 0, not NaN, where all scores are
/// -inf.
static Probabilities softmaxMasked(Compute &c, Value scores) {
  int64_t axis = tensorType(scores).getRank() - 1;
  Value greatest = c.max(scores, axis);
  Value lowest = c.constant(greatest, -std::numeric_limits<double>::infinity());
  Value isMasked = c.compare(CompareKind::eq, greatest, lowest);
  greatest = c.where(isMasked, c.constant(greatest, 0), greatest);
  greatest = c.make<StopGradientOp>(greatest);
  Value power = c.make<ExpOp>(c.sub(scores, c.spread(greatest, scores, axis)));
  Value total = c.sum(power, axis);
  Value sum = c.where(isMasked, c.constant(total, 1), total);
  return {c.div(power, c.spread(sum, scores, axis)),
          c.add(greatest, c.make<LogOp>(total))};
}

namespace {
/// The products of attention: all but the last two dimensions are batch.
class Products {
public:
  Products(Compute &c, int64_t rank)
      : c(c), rank(rank),
        batch(llvm::to_vector(llvm::seq<int64_t>(0, rank - 2))) {}

  enum Side { rows, columns }; // which of the last two is summed over
  Value dot(Value lhs, Side lhsSide, Value rhs, Side rhsSide) {
    return c.b.create<DotGeneralOp>(c.loc, lhs, rhs, batch, batch,
                                    ArrayRef<int64_t>(rank - 2 + lhsSide),
                                    ArrayRef<int64_t>(rank - 2 + rhsSide));
  }

private:
  Compute &c;
  int64_t rank;
  SmallVector<int64_t> batch;
};
} // namespace

/// The common beginning of an attention and its gradient. Both get the same
/// ops, which are merged if both are decomposed.
template <class OpTy>
static Probabilities probabilities(Compute &c, Products &products, OpTy op) {
  Value scores = products.dot(c.load(op.getQuery()), Products::columns,
                              c.load(op.getKey()), Products::columns);
  scores = c.mul(scores, op.getScale().convertToDouble());
  if (op.getMask())
    scores = c.add(scores, c.load(op.getMask()));
  if (op.getCausal())
    scores = maskFuture(c, scores);
  return softmaxMasked(c, scores);
}

SmallVector<Value> AttentionOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getQuery());
  Products products(c, tensorType(getQuery()).getRank());
  Probabilities p = probabilities(c, products, *this);
  return {c.store(products.dot(p.values, Products::columns, c.load(getValue()),
                               Products::rows)),
          p.stats};
}

SmallVector<Value> AttentionGradOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getQuery());
  int64_t rank = tensorType(getQuery()).getRank();
  Products products(c, rank);
  Value p = probabilities(c, products, *this).values;
  Value outputGrad = c.load(getOutputGrad());
  Value valueGrad = products.dot(p, Products::rows, outputGrad, Products::rows);
  Value dp = products.dot(outputGrad, Products::columns, c.load(getValue()),
                          Products::columns);
  Value along = c.sum(c.mul(dp, p), rank - 1);
  Value maskGrad = c.mul(p, c.sub(dp, c.spread(along, dp, rank - 1)));
  Value scoreGrad = c.mul(maskGrad, getScale().convertToDouble());
  SmallVector<Value> results = {
      c.store(products.dot(scoreGrad, Products::columns, c.load(getKey()),
                           Products::rows)),
      c.store(products.dot(scoreGrad, Products::rows, c.load(getQuery()),
                           Products::rows)),
      c.store(valueGrad)};
  if (getMask())
    results.push_back(
        castTo(builder, getLoc(), maskGrad,
               cast<FloatType>(tensorType(getMask()).getElementType())));
  return results;
}
