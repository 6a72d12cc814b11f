//===- RecognizeAttention.cpp - attention in small ops --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/OpClasses.h"
#include "passes/ValueBuilder.h"
#include "passes/recognize/CausalMask.h"
#include "passes/recognize/RecognizeMatch.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// Whether `op` is a product of matrices, one per element of the batch
/// dimensions: each operand has two more dimensions, one of which is
/// contracted.
bool isMatrixProduct(DotGeneralOp op) {
  int64_t rank = tensorType(op.getLhs()).getRank();
  return rank >= 3 && tensorType(op.getRhs()).getRank() == rank &&
         static_cast<int64_t>(op.getLhsBatch().size()) == rank - 2 &&
         op.getLhsContract().size() == 1;
}

/// `operand` as [batch.., rows, columns].
Value asMatrices(ValueBuilder &b, Value operand, ArrayRef<int64_t> batch,
                 int64_t rows, int64_t columns) {
  SmallVector<int64_t> perm(batch);
  perm.append({rows, columns});
  return b.transpose(operand, perm);
}

/// If `value` is a product or quotient with a constant number, returns the
/// other operand, applies the number to `scale` and adds the op to `match`.
/// Otherwise returns `value`.
Value throughScale(Value value, double &scale, Match &match) {
  Operation *op = value.getDefiningOp();
  auto number = op && isa<MulOp, DivOp>(op) ? splatNumber(op->getOperand(1))
                                            : std::nullopt;
  if (!number || *number == 0)
    return value;
  match.add(op, CompositePart::scale);
  scale = isa<MulOp>(op) ? scale * *number : scale / *number;
  return op->getOperand(0);
}

/// The product of queries and keys that `masked`, the operand of the softmax,
/// is computed from, with the scale and the mask that are applied to it.
struct Scores {
  DotGeneralOp product;
  double scale = 1;
  Value mask; // null: none, or a causal one
  bool causal = false;

  static std::optional<Scores> of(Value masked, Match &match);

private:
  /// Follows `value` through a scale to the product.
  bool reach(Value value, Match &match) {
    product = throughScale(value, scale, match).getDefiningOp<DotGeneralOp>();
    return product != nullptr;
  }
};

std::optional<Scores> Scores::of(Value masked, Match &match) {
  Match start = match;
  auto restart = [&](Operation *op) {
    match = start;
    if (op)
      match.add(op, CompositePart::mask);
    return Scores();
  };
  if (Scores scores = restart(nullptr); scores.reach(masked, match))
    return scores;
  if (auto sum = masked.getDefiningOp<AddOp>())
    for (unsigned i : {0u, 1u}) {
      Scores scores = restart(sum);
      if (!scores.reach(sum->getOperand(i), match))
        continue;
      Value mask = sum->getOperand(1 - i);
      scores.causal = isCausalMask(mask);
      if (!scores.causal)
        scores.mask = mask;
      return scores;
    }
  // Any other condition is not the same as an added mask: if it masks a whole
  // row, the scores of that row get no gradient.
  if (auto where = masked.getDefiningOp<WhereOp>()) {
    Scores scores = restart(where);
    std::optional<double> other = splatNumber(where.getRhs());
    scores.causal = isCausalCondition(where.getCondition());
    if (other && *other <= kMasked && scores.causal &&
        scores.reach(where.getLhs(), match))
      return scores;
  }
  return std::nullopt;
}

/// Whether `scale` may move behind a product. With a scale this close to 1,
/// only products near the ends of the range of float32 overflow or underflow.
bool isNearOne(double scale) {
  constexpr double far = 1 << 16;
  return std::abs(scale) <= far && std::abs(scale) >= 1 / far;
}

/// `operand`, of the product of queries and keys, without a scale that is
/// applied to it or before moves of its elements. The moves are built again.
Value withoutScale(ValueBuilder &b, Value operand, double &scale,
                   Match &match) {
  if (!operand.hasOneUse())
    return operand;
  double own = 1;
  Match through = match;
  if (Value source = throughScale(operand, own, through); source != operand) {
    if (!isNearOne(own))
      return operand;
    scale *= own;
    match = through;
    return source;
  }
  auto transpose = operand.getDefiningOp<TransposeOp>();
  if (!transpose && !operand.getDefiningOp<ReshapeOp>())
    return operand;
  Value from = operand.getDefiningOp()->getOperand(0),
        source = withoutScale(b, from, scale, match);
  if (source == from)
    return operand;
  return transpose ? b.transpose(source, transpose.getPerm())
                   : b.reshape(source, tensorType(operand).getShape());
}

// Pattern: dot(softmax(dot(query, key^T) * scale + mask), value) -> attention
struct RecognizeAttention : OpRewritePattern<DotGeneralOp> {
  RecognizeAttention(MLIRContext *context, bool keepsScales)
      : OpRewritePattern(context), keepsScales(keepsScales) {}
  LogicalResult matchAndRewrite(DotGeneralOp op,
                                PatternRewriter &rewriter) const override {
    Match match(op, CompositePart::output);
    auto softmax = op.getLhs().getDefiningOp<SoftmaxOp>();
    int64_t rank = tensorType(op.getLhs()).getRank(), last = rank - 1;
    if (!softmax || static_cast<int64_t>(softmax.getAxis()) != last ||
        !isMatrixProduct(op) || op.getLhsContract()[0] != last ||
        op.getLhsBatch() != ArrayRef<int64_t>(firstDims(rank - 2)))
      return rewriter.notifyMatchFailure(op,
                                         "no softmax over keys times values");
    match.add(softmax, CompositePart::softmax);
    std::optional<Scores> scores = Scores::of(softmax.getX(), match);
    if (!scores || !isMatrixProduct(scores->product))
      return rewriter.notifyMatchFailure(
          op, "the scores are not a product of queries and keys");
    DotGeneralOp product = scores->product;
    match.add(product, CompositePart::scores);
    if (!match.isClosed())
      return rewriter.notifyMatchFailure(
          op, "an intermediate value has another user");

    ValueBuilder moves(rewriter, product.getLoc());
    auto unscaled = [&](Value operand) {
      return keepsScales ? operand
                         : withoutScale(moves, operand, scores->scale, match);
    };
    Value queries = unscaled(product.getLhs());
    Value keys = unscaled(product.getRhs());
    Value query =
        asMatrices(moves, queries, product.getLhsBatch(),
                   product.getLhsFree()[0], product.getLhsContract()[0]);
    Value key =
        asMatrices(moves, keys, product.getRhsBatch(), product.getRhsFree()[0],
                   product.getRhsContract()[0]);
    ValueBuilder after(rewriter, op.getLoc()), b(rewriter, match.location());
    Value value = asMatrices(after, op.getRhs(), op.getRhsBatch(),
                             op.getRhsContract()[0], op.getRhsFree()[0]);
    rewriter.replaceOp(op, b.make<AttentionOp>(query, key, value, scores->mask,
                                               scores->scale, scores->causal));
    return success();
  }

  const bool keepsScales;
};

} // namespace

void addAttentionRecognizers(RewritePatternSet &patterns, bool keepsScales) {
  patterns.add<RecognizeAttention>(patterns.getContext(), keepsScales);
}

} // namespace sinter::passes
