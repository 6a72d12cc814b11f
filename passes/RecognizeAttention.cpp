//===- RecognizeAttention.cpp - attention in small ops --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/OpClasses.h"
#include "passes/RecognizeMatch.h"
#include "passes/ValueBuilder.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// Whether all but the last two dimensions of both operands are batch
/// dimensions, in order.
bool hasLeadingBatch(DotGeneralOp op, int64_t rank) {
  SmallVector<int64_t> leading = firstDims(rank - 2);
  return rank >= 3 && tensorType(op.getLhs()).getRank() == rank &&
         tensorType(op.getRhs()).getRank() == rank &&
         op.getLhsContract().size() == 1 &&
         op.getLhsBatch() == ArrayRef<int64_t>(leading) &&
         op.getRhsBatch() == ArrayRef<int64_t>(leading);
}

/// Goes from a product with a number to the other factor.
Value throughScale(Value value, double &scale, Match &match) {
  Operation *op = value.getDefiningOp();
  auto number = op && isa<MulOp, DivOp>(op) ? splatNumber(op->getOperand(1))
                                            : std::nullopt;
  if (!number || *number == 0)
    return value;
  match.add(op);
  scale = isa<MulOp>(op) ? scale * *number : scale / *number;
  return op->getOperand(0);
}

// Pattern: dot(softmax(dot(query, key^T) * scale + mask), value) -> attention
struct RecognizeAttention : OpRewritePattern<DotGeneralOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotGeneralOp op,
                                PatternRewriter &rewriter) const override {
    Match match(op);
    auto softmax = op.getLhs().getDefiningOp<SoftmaxOp>();
    int64_t rank = tensorType(op.getLhs()).getRank(), last = rank - 1;
    if (!softmax || static_cast<int64_t>(softmax.getAxis()) != last ||
        !hasLeadingBatch(op, rank) || op.getLhsContract()[0] != last ||
        op.getRhsContract()[0] != last - 1)
      return rewriter.notifyMatchFailure(op,
                                         "no softmax over keys times values");
    match.add(softmax);

    double scale = 1;
    Value mask, scores = throughScale(softmax.getX(), scale, match);
    auto product = scores.getDefiningOp<DotGeneralOp>();
    auto sum = softmax.getX().getDefiningOp<AddOp>();
    for (unsigned i : {0u, 1u}) {
      if (product || !sum)
        break;
      Match attempt = match;
      double attemptScale = 1;
      product = throughScale(sum->getOperand(i), attemptScale, attempt)
                    .getDefiningOp<DotGeneralOp>();
      if (!product)
        continue;
      match = attempt;
      match.add(sum);
      scale = attemptScale;
      mask = sum->getOperand(1 - i);
    }
    if (!product || !hasLeadingBatch(product, rank) ||
        product.getLhsContract()[0] != last)
      return rewriter.notifyMatchFailure(
          op, "the scores are no product of queries and keys");
    match.add(product);
    if (!match.isClosed())
      return rewriter.notifyMatchFailure(
          op, "an intermediate value has another user");

    ValueBuilder b(rewriter, match.location());
    Value key = product.getRhs();
    if (product.getRhsContract()[0] != last) {
      SmallVector<int64_t> perm = firstDims(rank);
      std::swap(perm[last], perm[last - 1]);
      key = b.transpose(key, perm);
    }
    rewriter.replaceOp(op, b.make<AttentionOp>(op.getType(), product.getLhs(),
                                               key, op.getRhs(), mask,
                                               rewriter.getF64FloatAttr(scale),
                                               UnitAttr()));
    return success();
  }
};

} // namespace

void addAttentionRecognizers(RewritePatternSet &patterns) {
  patterns.add<RecognizeAttention>(patterns.getContext());
}

} // namespace sinter::passes
