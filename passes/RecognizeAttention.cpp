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

/// A product of matrices, one per element of the batch dimensions: its
/// operands' dimensions with the batch first, then rows and columns of which
/// the columns (lhs) and `rhsColumns` or rows (rhs) are summed over.
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

/// What exporters write for "masked": in a softmax next to scores of any use it
/// weighs exactly 0, like -inf.
constexpr double kMasked = -1e4;

/// The constant that `value` repeats along all but its last two dimensions.
ConstantOp lastTwoDims(Value value) {
  int64_t rank = tensorType(value).getRank();
  ArrayRef<int64_t> square = tensorType(value).getShape().take_back(2);
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    ArrayRef<int64_t> dims = broadcast.getDims();
    if (dims.size() < 2 || dims.take_back(2) != ArrayRef{rank - 2, rank - 1})
      return nullptr;
    value = broadcast.getX();
  }
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || constant.getType().getShape().take_back(2) != square)
    return nullptr;
  return constant;
}

/// Whether `isKept(elements[i])` is "the key's position is not beyond the
/// query's" in every matrix of `shape`'s last two dimensions.
template <class Elements, class Function>
bool isCausal(const Elements &elements, ArrayRef<int64_t> shape,
              Function isKept) {
  int64_t keys = shape.back(), queries = shape[shape.size() - 2];
  for (auto [i, element] : llvm::enumerate(elements)) {
    int64_t at = static_cast<int64_t>(i), key = at % keys,
            query = at / keys % queries;
    std::optional<bool> kept = isKept(element);
    if (!kept || *kept != (key <= query))
      return false;
  }
  return true;
}

/// A mask that is added: 0 where the key counts, else -inf or what stands for
/// it.
bool isCausalMask(Value mask) {
  ConstantOp constant = lastTwoDims(mask);
  if (!constant || constant.getType().getNumElements() == 0)
    return false;
  FailureOr<Tensor> tensor = Tensor::fromAttr(constant.getValue());
  return succeeded(tensor) && tensor->isFloat() &&
         isCausal(tensor->floats, tensor->shape(),
                  [](double x) -> std::optional<bool> {
                    return x == 0         ? std::optional(true)
                           : x <= kMasked ? std::optional(false)
                                          : std::nullopt;
                  });
}

/// The same as the condition under which a score counts.
bool isCausalCondition(Value condition) {
  ConstantOp constant = lastTwoDims(condition);
  if (!constant || constant.getType().getNumElements() == 0)
    return false;
  FailureOr<Tensor> tensor = Tensor::fromAttr(constant.getValue());
  return succeeded(tensor) &&
         isCausal(tensor->ints, tensor->shape(),
                  [](int64_t x) { return std::optional(x != 0); });
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

/// The product of queries and keys under `masked`, the operand of the softmax,
/// and what happens on the way.
struct Scores {
  DotGeneralOp product;
  double scale = 1;
  Value mask; // null: none
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
      match.add(op);
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
  // Other conditions are no masks that are added: where a row keeps nothing, no
  // gradient goes to its scores.
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

/// Goes from an operand of the product of queries and keys to what is scaled
/// there, behind moves of its elements, which are made again.
Value withoutScale(ValueBuilder &b, Value operand, double &scale,
                   Match &match) {
  if (!operand.hasOneUse())
    return operand;
  if (Value source = throughScale(operand, scale, match); source != operand)
    return source;
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
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotGeneralOp op,
                                PatternRewriter &rewriter) const override {
    Match match(op);
    auto softmax = op.getLhs().getDefiningOp<SoftmaxOp>();
    int64_t rank = tensorType(op.getLhs()).getRank(), last = rank - 1;
    if (!softmax || static_cast<int64_t>(softmax.getAxis()) != last ||
        !isMatrixProduct(op) || op.getLhsContract()[0] != last ||
        op.getLhsBatch() != ArrayRef<int64_t>(firstDims(rank - 2)))
      return rewriter.notifyMatchFailure(op,
                                         "no softmax over keys times values");
    match.add(softmax);
    std::optional<Scores> scores = Scores::of(softmax.getX(), match);
    if (!scores || !isMatrixProduct(scores->product))
      return rewriter.notifyMatchFailure(
          op, "the scores are no product of queries and keys");
    DotGeneralOp product = scores->product;
    match.add(product);
    if (!match.isClosed())
      return rewriter.notifyMatchFailure(
          op, "an intermediate value has another user");

    ValueBuilder moves(rewriter, product.getLoc());
    Value queries = withoutScale(moves, product.getLhs(), scores->scale, match);
    Value keys = withoutScale(moves, product.getRhs(), scores->scale, match);
    ValueBuilder b(rewriter, match.location());
    Value query =
        asMatrices(b, queries, product.getLhsBatch(), product.getLhsFree()[0],
                   product.getLhsContract()[0]);
    Value key =
        asMatrices(b, keys, product.getRhsBatch(), product.getRhsFree()[0],
                   product.getRhsContract()[0]);
    Value value = asMatrices(b, op.getRhs(), op.getRhsBatch(),
                             op.getRhsContract()[0], op.getRhsFree()[0]);
    rewriter.replaceOp(op, b.make<AttentionOp>(query, key, value, scores->mask,
                                               scores->scale, scores->causal));
    return success();
  }
};

} // namespace

void addAttentionRecognizers(RewritePatternSet &patterns) {
  patterns.add<RecognizeAttention>(patterns.getContext());
}

} // namespace sinter::passes
