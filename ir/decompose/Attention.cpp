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
static Value maskFuture(Compute c, Value scores) {
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
static Probabilities softmaxMasked(Compute c, Value scores) {
  int64_t axis = tensorType(scores).getRank() - 1;
  Compute max = c.in(CompositePart::maximum),
          shift = c.in(CompositePart::shift), exp = c.in(CompositePart::power),
          add = c.in(CompositePart::sum), div = c.in(CompositePart::quotient);
  Value greatest = max.max(scores, axis);
  Value lowest =
      max.constant(greatest, -std::numeric_limits<double>::infinity());
  Value isMasked = max.compare(CompareKind::eq, greatest, lowest);
  greatest = max.where(isMasked, max.constant(greatest, 0), greatest);
  greatest = max.make<StopGradientOp>(greatest);
  Value power =
      exp.make<ExpOp>(shift.sub(scores, shift.spread(greatest, scores, axis)));
  Value total = add.sum(power, axis);
  Value sum = add.where(isMasked, add.constant(total, 1), total);
  return {div.div(power, div.spread(sum, scores, axis)),
          c.add(greatest, c.make<LogOp>(total))};
}

namespace {
/// The products of attention: all but the last two dimensions are batch.
class Products {
public:
  explicit Products(int64_t rank)
      : rank(rank), batch(llvm::to_vector(llvm::seq<int64_t>(0, rank - 2))) {}

  enum Side { rows, columns }; // which of the last two is summed over
  Value dot(Compute c, Value lhs, Side lhsSide, Value rhs, Side rhsSide) {
    return c.b.create<DotGeneralOp>(c.loc, lhs, rhs, batch, batch,
                                    ArrayRef<int64_t>(rank - 2 + lhsSide),
                                    ArrayRef<int64_t>(rank - 2 + rhsSide));
  }

private:
  int64_t rank;
  SmallVector<int64_t> batch;
};
} // namespace

/// The common beginning of an attention and its gradient. Both get the same
/// ops, which are merged if both are decomposed.
template <class OpTy>
static Probabilities probabilities(Compute &c, Products &products, OpTy op) {
  Compute product = c.in(CompositePart::scores),
          mask = c.in(CompositePart::mask);
  Value scores =
      products.dot(product, product.load(op.getQuery()), Products::columns,
                   product.load(op.getKey()), Products::columns);
  scores =
      c.in(CompositePart::scale).mul(scores, op.getScale().convertToDouble());
  if (op.getMask())
    scores = mask.add(scores, mask.load(op.getMask()));
  if (op.getCausal())
    scores = maskFuture(mask, scores);
  return softmaxMasked(c.in(CompositePart::softmax), scores);
}

SmallVector<Value> AttentionOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getQuery());
  Products products(tensorType(getQuery()).getRank());
  Probabilities p = probabilities(c, products, *this);
  Compute output = c.in(CompositePart::output);
  return {output.store(products.dot(output, p.values, Products::columns,
                                    output.load(getValue()), Products::rows)),
          p.stats};
}

SmallVector<Value> AttentionGradOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getQuery());
  int64_t rank = tensorType(getQuery()).getRank();
  Products products(rank);
  Value p = probabilities(c, products, *this).values;
  Compute output = c.in(CompositePart::output),
          softmax = c.in(CompositePart::softmax),
          product = c.in(CompositePart::scores);
  Value outputGrad = output.load(getOutputGrad());
  Value valueGrad =
      products.dot(output, p, Products::rows, outputGrad, Products::rows);
  Value dp = products.dot(output, outputGrad, Products::columns,
                          output.load(getValue()), Products::columns);
  Value along = softmax.sum(softmax.mul(dp, p), rank - 1);
  Value maskGrad =
      softmax.mul(p, softmax.sub(dp, softmax.spread(along, dp, rank - 1)));
  Value scoreGrad =
      c.in(CompositePart::scale).mul(maskGrad, getScale().convertToDouble());
  SmallVector<Value> results = {
      product.store(products.dot(product, scoreGrad, Products::columns,
                                 product.load(getKey()), Products::rows)),
      product.store(products.dot(product, scoreGrad, Products::rows,
                                 product.load(getQuery()), Products::rows)),
      output.store(valueGrad)};
  if (getMask())
    results.push_back(
        castTo(builder, c.in(CompositePart::mask).loc, maskGrad,
               cast<FloatType>(tensorType(getMask()).getElementType())));
  return results;
}
