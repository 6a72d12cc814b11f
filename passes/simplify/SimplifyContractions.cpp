//===- SimplifyContractions.cpp - ops that contractions absorb ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/ValueBuilder.h"
#include "passes/simplify/SimplifyPatterns.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

// Pattern: a contraction with an empty operand -> zeros
template <class Op> struct EmptyContraction : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (llvm::none_of(op->getOperands(), [](Value operand) {
          return tensorType(operand).getNumElements() == 0;
        }))
      return rewriter.notifyMatchFailure(op, "there are products to sum");
    rewriter.replaceOp(
        op, splat(rewriter, op.getLoc(), tensorType(op->getResult(0)), 0));
    return success();
  }
};

/// Maps dimensions of a transpose's result to those of its operand.
SmallVector<int64_t> throughTranspose(TransposeOp op, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> mapped;
  for (int64_t dim : dims)
    mapped.push_back(op.getPerm()[dim]);
  return mapped;
}

// Pattern: dot_general(transpose(a), b) -> dot_general(a, b), where the free
// dimensions of a keep their order; the same for b
struct TransposeIntoDot : OpRewritePattern<DotGeneralOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotGeneralOp op,
                                PatternRewriter &rewriter) const override {
    auto absorb = [](Value side, SmallVector<int64_t> free) -> TransposeOp {
      auto transpose = side.getDefiningOp<TransposeOp>();
      bool keepsOrder =
          transpose && llvm::is_sorted(throughTranspose(transpose, free));
      return keepsOrder ? transpose : TransposeOp();
    };
    TransposeOp left = absorb(op.getLhs(), op.getLhsFree());
    TransposeOp right = absorb(op.getRhs(), op.getRhsFree());
    if (!left && !right)
      return rewriter.notifyMatchFailure(
          op, "no transpose that keeps the order of the free dimensions");
    SmallVector<Location> locs{op.getLoc()};
    Value lhs = op.getLhs(), rhs = op.getRhs();
    SmallVector<int64_t> lhsBatch(op.getLhsBatch()), rhsBatch(op.getRhsBatch());
    SmallVector<int64_t> lhsContract(op.getLhsContract()),
        rhsContract(op.getRhsContract());
    if (left) {
      lhs = left.getX();
      lhsBatch = throughTranspose(left, lhsBatch);
      lhsContract = throughTranspose(left, lhsContract);
      locs.push_back(left.getLoc());
    }
    if (right) {
      rhs = right.getX();
      rhsBatch = throughTranspose(right, rhsBatch);
      rhsContract = throughTranspose(right, rhsContract);
      locs.push_back(right.getLoc());
    }
    Location loc = rewriter.getFusedLoc(locs);
    rewriter.replaceOp(op, rewriter.create<DotGeneralOp>(
                               loc, lhs, rhs, lhsBatch, rhsBatch, lhsContract,
                               rhsContract, op.getTf32()));
    return success();
  }
};

// Pattern: transpose(dot_general(a, b)) -> transpose'(dot_general(b, a)), where
// a's free dimensions come last. The transpose that is left, if any, moves
// whole rows, which a contraction can store in that order.
struct TransposeOfDot : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto dot = op.getX().getDefiningOp<DotGeneralOp>();
    if (!dot || !dot->hasOneUse())
      return rewriter.notifyMatchFailure(op, "no contraction of one use");
    int64_t numBatch = dot.getLhsBatch().size(), rank = op.getPerm().size();
    int64_t numLeft = dot.getLhsFree().size(),
            numRight = rank - numBatch - numLeft;
    SmallVector<int64_t> perm;
    for (int64_t dim : op.getPerm())
      perm.push_back(dim < numBatch             ? dim
                     : dim < numBatch + numLeft ? dim + numRight
                                                : dim - numLeft);
    bool isDone = llvm::is_sorted(perm);
    // Libraries want the weight second. With batch dimensions no operand is a
    // weight, so the roles may be swapped.
    bool isFromLeft =
        numLeft > 0 && perm.back() >= numBatch + numRight && numBatch > 0;
    if (!isDone && !isFromLeft)
      return rewriter.notifyMatchFailure(
          op, "the operands already have the right roles");
    if (numLeft == 0 || numRight == 0)
      return rewriter.notifyMatchFailure(op, "there are no roles to swap");
    Location loc = rewriter.getFusedLoc({dot.getLoc(), op.getLoc()});
    Value swapped = rewriter.create<DotGeneralOp>(
        loc, dot.getRhs(), dot.getLhs(), dot.getRhsBatch(), dot.getLhsBatch(),
        dot.getRhsContract(), dot.getLhsContract(), dot.getTf32());
    if (!isDone)
      swapped = rewriter.create<TransposeOp>(loc, swapped, perm);
    rewriter.replaceOp(op, swapped);
    return success();
  }
};

// Pattern: transpose(concat(a, b)) -> concat(transpose(a), transpose(b)), where
// contractions compute a and b: they can store transposed results.
struct TransposeOfConcat : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  /// The contraction that computes `value`, possibly reshaped by an additional
  /// dimension of size 1 at `axis`; null if there is none.
  static DotGeneralOp contractionOf(Value value, int64_t axis) {
    if (!value.hasOneUse())
      return nullptr;
    if (auto reshape = value.getDefiningOp<ReshapeOp>()) {
      SmallVector<int64_t> shape(tensorType(value).getShape());
      if (shape[axis] != 1 || !reshape.getX().hasOneUse())
        return nullptr;
      shape.erase(shape.begin() + axis);
      if (tensorType(reshape.getX()).getShape() != ArrayRef<int64_t>(shape))
        return nullptr;
      value = reshape.getX();
    }
    return value.getDefiningOp<DotGeneralOp>();
  }

  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto concat = op.getX().getDefiningOp<ConcatOp>();
    if (!concat || !concat->hasOneUse())
      return rewriter.notifyMatchFailure(op, "no concat of one use");
    auto axis = static_cast<int64_t>(concat.getAxis());
    for (Value input : concat.getInputs())
      if (!contractionOf(input, axis))
        return rewriter.notifyMatchFailure(
            op, "an operand is not the result of a contraction");
    SmallVector<int64_t> perm(op.getPerm()), without;
    for (int64_t dim : perm)
      if (dim != axis)
        without.push_back(dim - (dim > axis));
    SmallVector<Value> inputs;
    for (Value input : concat.getInputs()) {
      Location loc = rewriter.getFusedLoc({input.getLoc(), op.getLoc()});
      auto reshape = input.getDefiningOp<ReshapeOp>();
      if (!reshape) {
        inputs.push_back(rewriter.create<TransposeOp>(loc, input, perm));
        continue;
      }
      Value moved = rewriter.create<TransposeOp>(loc, reshape.getX(), without);
      SmallVector<int64_t> shape;
      for (int64_t dim : perm)
        shape.push_back(tensorType(input).getDimSize(dim));
      inputs.push_back(rewriter.create<ReshapeOp>(
          loc, tensorType(input).clone(shape), moved));
    }
    int64_t newAxis = llvm::find(perm, axis) - perm.begin();
    Location loc = rewriter.getFusedLoc({concat.getLoc(), op.getLoc()});
    rewriter.replaceOp(
        op, rewriter.create<ConcatOp>(loc, ValueRange(inputs), newAxis));
    return success();
  }
};

// Pattern: conv(x, w) + bias -> dot_general(patches of x, w) + bias, where the
// windows neither overlap nor leave gaps, and x has few channels: the patch
// embedding of a transformer. Libraries compute the product several times
// faster, and those of its gradients. The bias is optional.
struct PatchesIntoDot : OpRewritePattern<ConvOp> {
  using OpRewritePattern::OpRewritePattern;
  static constexpr int64_t kFewChannels = 4;

  LogicalResult matchAndRewrite(ConvOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> shape = tensorType(op.getInput()).getShape(),
                      filter = tensorType(op.getFilter()).getShape(),
                      kernel = filter.drop_front(2),
                      out = tensorType(op.getResult()).getShape().drop_front(2);
    if (op.getChannelsLast() || op.getGroups() != 1 || shape[1] > kFewChannels)
      return rewriter.notifyMatchFailure(op, "channels or groups do not fit");
    if (ArrayRef<int64_t>(op.getStrides()) != kernel ||
        ShapedType::getNumElements(kernel) == 1 ||
        !areAll(op.getPadsLow(), 0) || !areAll(op.getPadsHigh(), 0) ||
        !areAll(op.getDilations(), 1))
      return rewriter.notifyMatchFailure(op, "windows are not side by side");
    if (isNormalized(op.getResult()))
      return rewriter.notifyMatchFailure(
          op, "a batch_norm may become part of the weights first");

    ValueBuilder b(rewriter, op.getLoc());
    const int64_t batch = shape[0], channels = shape[1], filters = filter[0],
                  columns = channels * ShapedType::getNumElements(kernel);
    const auto rank = static_cast<int64_t>(kernel.size());
    // N C (out kernel).. -> N out.. C kernel..
    SmallVector<int64_t> whole{batch, channels}, split{batch, channels},
        perm{0}, patches{batch}, toChannelsFirst{0, rank + 1};
    for (int64_t i = 0; i < rank; ++i) {
      whole.push_back(out[i] * kernel[i]);
      split.append({out[i], kernel[i]});
      perm.push_back(2 + 2 * i);
      patches.push_back(out[i]);
      toChannelsFirst.push_back(1 + i);
    }
    perm.push_back(1);
    for (int64_t i = 0; i < rank; ++i)
      perm.push_back(3 + 2 * i);
    patches.push_back(columns);
    Value x = op.getInput();
    if (shape != ArrayRef<int64_t>(whole))
      x = b.make<SliceOp>(x, SmallVector<int64_t>(shape.size(), 0), whole,
                          SmallVector<int64_t>(shape.size(), 1));
    x = b.reshape(b.transpose(b.reshape(x, split), perm), patches);
    Value w = b.reshape(op.getFilter(), {filters, columns});
    Value y = b.make<DotGeneralOp>(
        x, w, ArrayRef<int64_t>(), ArrayRef<int64_t>(),
        ArrayRef<int64_t>{rank + 1}, ArrayRef<int64_t>{1}, op.getTf32());
    Operation *last = op;
    if (auto [add, bias] = addedBias(op); add) {
      y = b.add(y, b.broadcast(bias, tensorType(y).getShape(), {rank + 1}));
      y.getDefiningOp()->setLoc(add.getLoc());
      last = add;
    }
    rewriter.replaceOp(last, b.transpose(y, toChannelsFirst));
    if (last != op)
      rewriter.eraseOp(op);
    return success();
  }

private:
  /// Whether a batch_norm with constant parameters reads `value`, or its sum
  /// with a bias.
  static bool isNormalized(Value value) {
    return llvm::any_of(value.getUsers(), [](Operation *user) {
      auto norm = dyn_cast<BatchNormOp>(user);
      return norm ? norm.getScale().getDefiningOp<ConstantOp>() != nullptr
                  : isa<AddOp>(user) && isNormalized(user->getResult(0));
    });
  }
  /// The only reader of the convolution, if it adds a bias, and the bias.
  static std::pair<AddOp, Value> addedBias(ConvOp op) {
    auto add = op->hasOneUse() ? dyn_cast<AddOp>(*op->user_begin()) : AddOp();
    if (!add)
      return {};
    Value other = add.getLhs() == op.getResult() ? add.getRhs() : add.getLhs();
    auto broadcast = other.getDefiningOp<BroadcastOp>();
    return broadcast && broadcast.getDims() == ArrayRef<int64_t>{1}
               ? std::pair(add, broadcast.getX())
               : std::pair<AddOp, Value>();
  }
  static bool areAll(ArrayRef<int64_t> values, int64_t value) {
    return llvm::all_of(values, [&](int64_t v) { return v == value; });
  }
};

bool isConstant(Value value) {
  return value.getDefiningOp<ConstantOp>() != nullptr;
}

/// The number of the constant operand of `contraction` whose weights belong to
/// dimension 1 of the result, and the dimension of the operand that becomes it;
/// nothing if there is no such constant.
std::optional<std::pair<unsigned, int64_t>>
channelWeights(Operation *contraction) {
  if (auto conv = dyn_cast_or_null<ConvOp>(contraction))
    if (!conv.getChannelsLast() && isConstant(conv.getFilter()))
      return std::pair(1u, int64_t(0));
  if (auto dot = dyn_cast_or_null<DotGeneralOp>(contraction))
    if (isConstant(dot.getRhs()) && dot.getLhsBatch().empty() &&
        dot.getLhsFree().size() == 1 && dot.getRhsFree().size() >= 1)
      return std::pair(1u, dot.getRhsFree().front());
  return std::nullopt;
}

// Pattern: batch_norm(conv(x, w) + b) -> conv(x, w s) + t, with s = scale /
// sqrt(variance + epsilon) and t = (b - mean) s + bias, all but x constants;
// the same for dot_general
struct BatchNormIntoWeights : OpRewritePattern<BatchNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BatchNormOp op,
                                PatternRewriter &rewriter) const override {
    for (Value operand : op->getOperands().drop_front())
      if (!isConstant(operand))
        return rewriter.notifyMatchFailure(
            op, "a statistic or parameter is not a constant");
    Operation *input = op.getX().getDefiningOp();
    BroadcastOp bias;
    Operation *contraction = input;
    if (auto add = dyn_cast_or_null<AddOp>(input)) {
      for (unsigned i : {0u, 1u}) {
        auto broadcast = add->getOperand(i).getDefiningOp<BroadcastOp>();
        if (broadcast && isConstant(broadcast.getX()) &&
            broadcast.getDims().size() == 1 && broadcast.getDims()[0] == 1 &&
            broadcast.getX().getType() == op.getBias().getType()) {
          bias = broadcast;
          contraction = add->getOperand(1 - i).getDefiningOp();
        }
      }
    }
    auto weights = channelWeights(contraction);
    if (!weights || !input->hasOneUse() || !contraction->hasOneUse())
      return rewriter.notifyMatchFailure(
          op, "no contraction with constant weights and one use");

    Location loc = rewriter.getFusedLoc(
        {contraction->getLoc(), input->getLoc(), op.getLoc()});
    ValueBuilder b(rewriter, loc);
    Value factor = b.div(
        op.getScale(),
        b.sqrt(b.add(op.getVariance(), op.getEpsilon().convertToDouble())));
    Value offset =
        bias ? b.sub(bias.getX(), op.getMean()) : b.make<NegOp>(op.getMean());
    Value shift = b.add(b.mul(offset, factor), op.getBias());
    auto [operand, dim] = *weights;
    Value weight = contraction->getOperand(operand);
    Value scaled = b.mul(
        weight, b.broadcast(factor, tensorType(weight).getShape(), {dim}));
    Operation *product = rewriter.clone(*contraction);
    product->setOperand(operand, scaled);
    product->setLoc(loc);
    Value result = product->getResult(0);
    rewriter.replaceOp(
        op,
        b.add(result, b.broadcast(shift, tensorType(result).getShape(), {1})));
    return success();
  }
};

} // namespace

void addContractionPatterns(RewritePatternSet &patterns) {
  patterns
      .add<EmptyContraction<DotGeneralOp>, EmptyContraction<ConvOp>,
           EmptyContraction<ConvInputGradOp>,
           EmptyContraction<ConvFilterGradOp>, TransposeIntoDot, TransposeOfDot,
           TransposeOfConcat, PatchesIntoDot, BatchNormIntoWeights>(
          patterns.getContext());
}

} // namespace sinter::passes
