//===- RecognizeNorm.cpp - layer_norm and group_norm in small ops ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/OpClasses.h"
#include "passes/recognize/RecognizeMatch.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// The only user of `value` if there is one and it is an OpTy; null otherwise.
template <class OpTy> OpTy onlyUser(Value value) {
  return value.hasOneUse() ? dyn_cast<OpTy>(*value.getUsers().begin()) : OpTy();
}

/// The other operand of a binary op that reads `value`.
Value otherOperand(Operation *op, Value value) {
  return op->getOperand(op->getOperand(0) == value ? 1 : 0);
}

/// (x - mean) (variance + epsilon)^(-1/2), as matched at the op that multiplies
/// or divides.
struct Standardised {
  Value x; // before centring
  SmallVector<int64_t> dims;
  double epsilon = 0;
};

/// Matches a product of `centredValue` and `deviationValue`, or their quotient
/// if `isDivision`.
std::optional<Standardised> matchFactors(Value centredValue,
                                         Value deviationValue, bool isDivision,
                                         Match &match) {
  auto centred = centredValue.getDefiningOp<SubOp>();
  if (!centred)
    return std::nullopt;
  match.add(centred, CompositePart::centred);
  Standardised result{centred.getLhs(), {}, 0};
  match.enter(CompositePart::mean);
  auto dims = Spread(centred.getRhs(), match).meanOf(result.x);
  if (!dims)
    return std::nullopt;

  match.enter(CompositePart::deviation);
  Spread deviation(deviationValue, match);
  bool isInverse = isDivision || deviation.enterReciprocal();
  if (isInverse ? !deviation.enter<SqrtOp>() : !deviation.enter<RsqrtOp>())
    return std::nullopt;
  match.enter(CompositePart::epsilon);
  if (!deviation.enter<AddOp>(&result.epsilon))
    result.epsilon = 0;
  match.enter(CompositePart::variance);
  // The variance is the mean of the squares. meanOf() takes the value that is
  // reduced, so every square of `centred` is tried.
  for (Operation *user : centred->getUsers()) {
    bool isSquare =
        isa<MulOp>(user) && user->getOperand(0) == user->getOperand(1);
    if (auto pow = dyn_cast<PowOp>(user))
      isSquare = pow.getLhs() == centred && splatNumber(pow.getRhs()) == 2.0;
    Spread mean = deviation;
    if (!isSquare || mean.meanOf(user->getResult(0)) != dims)
      continue;
    match.add(user, CompositePart::square);
    result.dims = *dims;
    return result;
  }
  return std::nullopt;
}

std::optional<Standardised> matchStandardised(Operation *op, Match &match) {
  for (unsigned i : {0u, 1u}) {
    if (i == 1 && isa<DivOp>(op))
      break;
    Match attempt(op, CompositePart::normalised);
    auto found = matchFactors(op->getOperand(i), op->getOperand(1 - i),
                              isa<DivOp>(op), attempt);
    if (!found)
      continue;
    match = attempt;
    return found;
  }
  return std::nullopt;
}

/// The value that `spread` repeats and that has the dimensions from `first` on
/// (`alone`: dimension `first` only), or is a splat; null otherwise.
Value parameterOf(Value spread, int64_t first, bool alone) {
  Match match(nullptr, CompositePart::scale);
  Spread source(spread, match);
  source.peel();
  SplatElementsAttr splat;
  if (matchPattern(source.value, m_Constant(&splat)))
    return source.value;
  return source.liesFrom(first, alone) ? source.value : Value();
}

/// What parameterOf found, in the shape of a parameter.
Value shapeParameter(PatternRewriter &rewriter, Value parameter,
                     ArrayRef<int64_t> shape) {
  SplatElementsAttr splat;
  if (matchPattern(parameter, m_Constant(&splat)))
    return rewriter.create<ConstantOp>(
        parameter.getLoc(), splat.resizeSplat(splat.getType().clone(shape)));
  return reshapeTo(rewriter, parameter.getLoc(), parameter, shape);
}

// Pattern: (x - mean) / sqrt(variance + epsilon) [* scale [+ bias]], the
// statistics over trailing dimensions -> layer_norm
struct RecognizeLayerNorm : RewritePattern {
  RecognizeLayerNorm(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<MulOp, DivOp>(op))
      return failure();
    Match match(op, CompositePart::normalised);
    auto found = matchStandardised(op, match);
    if (!found)
      return rewriter.notifyMatchFailure(op,
                                         "no centred value over its deviation");
    RankedTensorType type = tensorType(op->getResult(0));
    int64_t rank = type.getRank(),
            axis = rank - static_cast<int64_t>(found->dims.size());
    if (found->dims.empty() || found->dims.front() != axis)
      return rewriter.notifyMatchFailure(
          op, "the statistics are not over trailing dimensions");
    if (!match.isClosed())
      return rewriter.notifyMatchFailure(
          op, "an intermediate value has another user");

    // The affine part, if there is one.
    Operation *root = op;
    Value scale, bias;
    if (auto mul = onlyUser<MulOp>(op->getResult(0))) {
      scale = parameterOf(otherOperand(mul, op->getResult(0)), axis, false);
      auto add = scale ? onlyUser<AddOp>(mul.getResult()) : AddOp();
      if (add)
        bias = parameterOf(otherOperand(add, mul), axis, false);
      if (scale) {
        root = mul;
        match.add(mul, CompositePart::scale);
      }
      if (bias) {
        root = add;
        match.add(add, CompositePart::bias);
      }
    }
    ArrayRef<int64_t> shape = type.getShape().drop_front(axis);
    Location loc = match.location();
    // Parameters may be defined after `op`, but not after the root.
    rewriter.setInsertionPoint(root);
    scale = scale ? shapeParameter(rewriter, scale, shape)
                  : splat(rewriter, loc, withShape(type, shape), 1);
    if (bias)
      bias = shapeParameter(rewriter, bias, shape);
    rewriter.replaceOp(
        root, rewriter.create<LayerNormOp>(loc, found->x, scale, bias,
                                           static_cast<uint64_t>(axis),
                                           llvm::APFloat(found->epsilon)));
    return success();
  }
};

bool isSplatOf(Value value, double number) {
  return splatNumber(value) == number;
}

// Pattern: reshape(group_norm(reshape(x) : N G .., 1, 0)) * scale + bias ->
// group_norm(x). PyTorch writes GroupNorm like this, with
// InstanceNormalization.
struct RecognizeGroupNorm : OpRewritePattern<GroupNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GroupNormOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<ReshapeOp>();
    auto outer = onlyUser<ReshapeOp>(op.getResult());
    RankedTensorType grouped = tensorType(op.getX());
    if (!inner || !outer ||
        static_cast<int64_t>(op.getGroups()) != grouped.getDimSize(1) ||
        !isSplatOf(op.getScale(), 1) || !isSplatOf(op.getBias(), 0))
      return rewriter.notifyMatchFailure(
          op, "not an instance norm of a regrouped value");
    RankedTensorType type = tensorType(inner.getX());
    if (type != tensorType(outer.getResult()) || type.getRank() < 3 ||
        type.getDimSize(0) != grouped.getDimSize(0) ||
        type.getDimSize(1) % grouped.getDimSize(1) != 0)
      return rewriter.notifyMatchFailure(
          op, "the groups are not groups of channels");
    auto mul = onlyUser<MulOp>(outer.getResult());
    auto add = mul ? onlyUser<AddOp>(mul.getResult()) : AddOp();
    if (!add)
      return rewriter.notifyMatchFailure(op, "no scale and bias");
    Value scale = parameterOf(otherOperand(mul, outer), 1, true);
    Value bias = parameterOf(otherOperand(add, mul), 1, true);
    if (!scale || !bias)
      return rewriter.notifyMatchFailure(op,
                                         "scale and bias are not per channel");
    rewriter.setInsertionPoint(add);
    SmallVector<int64_t> channels{type.getDimSize(1)};
    scale = shapeParameter(rewriter, scale, channels);
    bias = shapeParameter(rewriter, bias, channels);
    using Part = CompositePart;
    Location core =
        rewriter.getFusedLoc({inner.getLoc(), op.getLoc(), outer.getLoc()});
    SmallVector<std::pair<Part, Location>> parts;
    for (Part part : {Part::mean, Part::centred, Part::square, Part::variance,
                      Part::epsilon, Part::deviation, Part::normalised})
      parts.push_back({part, core});
    parts.push_back({Part::scale, mul.getLoc()});
    parts.push_back({Part::bias, add.getLoc()});
    Location loc = compositeLocation(getContext(), parts);
    rewriter.replaceOp(add, rewriter.create<GroupNormOp>(
                                loc, inner.getX(), scale, bias,
                                op.getGroupsAttr(), op.getEpsilonAttr()));
    return success();
  }
};

} // namespace

void addNormRecognizers(RewritePatternSet &patterns) {
  patterns.add<RecognizeLayerNorm, RecognizeGroupNorm>(patterns.getContext());
}

} // namespace sinter::passes
