//===- SimplifyArithmetic.cpp - patterns on numbers -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Every pattern here gives the same bits for every operand, except for NaN
// payloads and the sign of zero under max. Those of addArithmeticPatterns also
// have the same derivatives at every point; test/ops/RewritesTest.cpp checks
// that.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "passes/OpClasses.h"
#include "passes/simplify/SimplifyPatterns.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

bool isFloat(Value value) {
  return isa<FloatType>(tensorType(value).getElementType());
}

bool isPowerOfTwo(double number) {
  int exponent;
  return std::isfinite(number) && number != 0 &&
         std::fabs(std::frexp(number, &exponent)) == 0.5;
}

/// Whether the element type holds `number` exactly, as a normal number.
bool isExact(Type element, double number) {
  llvm::APFloat value(number);
  bool losesInfo;
  value.convert(cast<FloatType>(element).getFloatSemantics(),
                llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return !losesInfo && value.isNormal();
}

/// Whether `value` is a splat of integer 0 or of float +0.
bool isZero(Value value) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)))
    return false;
  if (isFloat(value))
    return splat.getSplatValue<llvm::APFloat>().isPosZero();
  return splat.getSplatValue<llvm::APInt>().isZero();
}

// Pattern: div(x, 2^k) -> mul(x, 2^-k)
struct DivideByPowerOfTwo : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op,
                                PatternRewriter &rewriter) const override {
    auto number = splatNumber(op.getRhs());
    if (!number || !isPowerOfTwo(*number))
      return rewriter.notifyMatchFailure(op,
                                         "the divisor is not a power of two");
    if (!isExact(tensorType(op.getRhs()).getElementType(), 1 / *number))
      return rewriter.notifyMatchFailure(op, "the reciprocal is not exact");
    rewriter.replaceOpWithNewOp<MulOp>(
        op, op.getLhs(),
        splatLike(rewriter, op.getLoc(), op.getRhs(), 1 / *number));
    return success();
  }
};

// Pattern: mul(mul(x, 2^i), 2^j) -> mul(x, 2^(i+j)), where i, j >= 0: with
// negative powers a subnormal product would be rounded twice.
struct MergePowersOfTwo : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getLhs().getDefiningOp<MulOp>();
    auto outerNumber = splatNumber(op.getRhs());
    auto innerNumber = inner ? splatNumber(inner.getRhs()) : std::nullopt;
    if (!outerNumber || !innerNumber)
      return rewriter.notifyMatchFailure(op, "no chain of factors");
    double product = *outerNumber * *innerNumber;
    auto isLarge = [](double number) {
      return isPowerOfTwo(number) && std::fabs(number) >= 1;
    };
    if (!isLarge(*outerNumber) || !isLarge(*innerNumber) ||
        !isExact(tensorType(op.getRhs()).getElementType(), product))
      return rewriter.notifyMatchFailure(
          op, "the factors cannot be merged exactly");
    Location loc = rewriter.getFusedLoc({inner.getLoc(), op.getLoc()});
    Value factor = splatLike(rewriter, loc, op.getRhs(), product);
    rewriter.replaceOp(op, rewriter.create<MulOp>(loc, inner.getLhs(), factor));
    return success();
  }
};

// Pattern: (x op c) op d -> x op (c op d), for integer add and mul
template <class OpTy> struct MergeIntegerConstants : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getLhs().template getDefiningOp<OpTy>();
    if (isFloat(op.getLhs()) || !inner ||
        !matchPattern(op.getRhs(), m_Constant()) ||
        !matchPattern(inner.getRhs(), m_Constant()))
      return rewriter.notifyMatchFailure(op, "no chain of integer constants");
    Location loc = rewriter.getFusedLoc({inner.getLoc(), op.getLoc()});
    Value merged = rewriter.create<OpTy>(loc, inner.getRhs(), op.getRhs());
    rewriter.replaceOp(op, rewriter.create<OpTy>(loc, inner.getLhs(), merged));
    return success();
  }
};

// Pattern: max(x, 0) -> relu(x)
struct RecognizeRelu : OpRewritePattern<MaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MaxOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [x, zero] : {std::pair{op.getLhs(), op.getRhs()},
                           std::pair{op.getRhs(), op.getLhs()}})
      if (isZero(zero)) {
        rewriter.replaceOpWithNewOp<ReluOp>(op, x);
        return success();
      }
    return rewriter.notifyMatchFailure(op, "no operand is zero");
  }
};

/// Whether comparing max(x, bound) (`isMax`; else min) with `number` gives the
/// same as comparing x with it.
bool isSameOfBounded(CompareKind kind, double number, double bound,
                     bool isMax) {
  double above = isMax ? number - bound : bound - number;
  bool includesEqual = isMax
                           ? kind == CompareKind::le || kind == CompareKind::gt
                           : kind == CompareKind::ge || kind == CompareKind::lt;
  bool isOrder = kind != CompareKind::eq && kind != CompareKind::ne;
  return isOrder && (includesEqual ? above >= 0 : above > 0);
}

// Pattern: where(x < c, c, x) -> max(x, c); where(x > c, c, x) -> min(x, c);
// the same for <= and >=. Later comparisons of x, for example in gradients,
// become comparisons of the result if they are equal, so that x need not be
// kept.
struct RecognizeBound : OpRewritePattern<WhereOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(WhereOp op,
                                PatternRewriter &rewriter) const override {
    auto compare = op.getCondition().getDefiningOp<CompareOp>();
    auto bound = splatNumber(op.getLhs());
    if (!compare || compare.getLhs() != op.getRhs() ||
        compare.getRhs() != op.getLhs())
      return rewriter.notifyMatchFailure(op, "does not compare its operands");
    // max would propagate a NaN, for which every comparison is false.
    if (!bound || std::isnan(*bound))
      return rewriter.notifyMatchFailure(op, "the bound is not a number");
    CompareKind kind = compare.getKind();
    bool isMax = kind == CompareKind::lt || kind == CompareKind::le;
    if (!isMax && kind != CompareKind::gt && kind != CompareKind::ge)
      return rewriter.notifyMatchFailure(op, "is not a bound");
    Value x = op.getRhs();
    Value result =
        isMax ? rewriter.create<MaxOp>(op.getLoc(), x, op.getLhs()).getResult()
              : rewriter.create<MinOp>(op.getLoc(), x, op.getLhs()).getResult();
    for (Operation *user : llvm::make_early_inc_range(x.getUsers())) {
      auto other = dyn_cast<CompareOp>(user);
      auto number = other && other.getLhs() == x ? splatNumber(other.getRhs())
                                                 : std::nullopt;
      if (number && isSameOfBounded(other.getKind(), *number, *bound, isMax))
        compareResult(other, result, op, rewriter);
    }
    rewriter.replaceOp(op, result);
    return success();
  }

  /// Lets the users of `compare` after `op` read the same comparison of
  /// `result`.
  static void compareResult(CompareOp compare, Value result, WhereOp op,
                            PatternRewriter &rewriter) {
    auto isLater = [&](OpOperand &use) {
      return op->getBlock() == use.getOwner()->getBlock() &&
             op->isBeforeInBlock(use.getOwner());
    };
    if (llvm::none_of(compare->getUses(), isLater) ||
        compare.getRhs().getDefiningOp()->getBlock() != op->getBlock() ||
        !compare.getRhs().getDefiningOp()->isBeforeInBlock(op))
      return;
    auto same =
        rewriter.create<CompareOp>(compare.getLoc(), compare.getType(),
                                   compare.getKind(), result, compare.getRhs());
    rewriter.replaceUsesWithIf(compare.getResult(), same.getResult(), isLater);
  }
};

// Pattern: max(max(x, c), d) -> max(x, max(c, d)); the same for min
template <class OpTy> struct MergeBounds : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getLhs().template getDefiningOp<OpTy>();
    auto outerBound = splatNumber(op.getRhs());
    auto innerBound = inner ? splatNumber(inner.getRhs()) : std::nullopt;
    if (!outerBound || !innerBound || std::isnan(*outerBound) ||
        std::isnan(*innerBound))
      return rewriter.notifyMatchFailure(op, "no chain of bounds");
    bool isMax = std::is_same_v<OpTy, MaxOp>;
    bool keepsInner =
        isMax ? *innerBound >= *outerBound : *innerBound <= *outerBound;
    Location loc = rewriter.getFusedLoc({inner.getLoc(), op.getLoc()});
    Value bound = keepsInner ? inner.getRhs() : op.getRhs();
    rewriter.replaceOp(op, rewriter.create<OpTy>(loc, inner.getLhs(), bound));
    return success();
  }
};

// Pattern: max(relu(x), c) -> relu(x) where c <= 0
struct DropReluBound : OpRewritePattern<MaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MaxOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getLhs().getDefiningOp<ReluOp>();
    auto bound = splatNumber(op.getRhs());
    if (!inner || !bound || !(*bound <= 0))
      return rewriter.notifyMatchFailure(op, "the bound is not below a relu");
    rewriter.replaceOp(op, inner);
    return success();
  }
};

// Pattern: pow(x, 2) -> mul(x, x)
struct ExpandPower : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PowOp op,
                                PatternRewriter &rewriter) const override {
    if (splatNumber(op.getRhs()) != 2.0)
      return rewriter.notifyMatchFailure(op, "the exponent is not 2");
    rewriter.replaceOpWithNewOp<MulOp>(op, op.getLhs(), op.getLhs());
    return success();
  }
};

// Pattern: add(x, neg(y)) -> sub(x, y); sub(x, neg(y)) -> add(x, y)
struct AbsorbNegation : RewritePattern {
  AbsorbNegation(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<AddOp, SubOp>(op))
      return failure();
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    if (isa<AddOp>(op) && !rhs.getDefiningOp<NegOp>())
      std::swap(lhs, rhs);
    auto negation = rhs.getDefiningOp<NegOp>();
    if (!negation)
      return rewriter.notifyMatchFailure(op, "no operand is negated");
    Location loc = rewriter.getFusedLoc({negation.getLoc(), op->getLoc()});
    Value result =
        isa<AddOp>(op)
            ? rewriter.create<SubOp>(loc, lhs, negation.getX()).getResult()
            : rewriter.create<AddOp>(loc, lhs, negation.getX()).getResult();
    rewriter.replaceOp(op, result);
    return success();
  }
};

// Pattern: mul(x, -1) -> neg(x); neg(mul(x, c)) -> mul(x, -c); mul(neg(x), c)
// -> mul(x, -c)
struct MoveSignIntoFactor : RewritePattern {
  MoveSignIntoFactor(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (auto product = dyn_cast<MulOp>(op)) {
      auto factor = splatNumber(product.getRhs());
      if (factor == -1.0) {
        rewriter.replaceOpWithNewOp<NegOp>(op, product.getLhs());
        return success();
      }
      auto negation = product.getLhs().getDefiningOp<NegOp>();
      if (!factor || !negation)
        return rewriter.notifyMatchFailure(op, "no sign to move");
      return replace(op, negation, negation.getX(), product.getRhs(), *factor,
                     rewriter);
    }
    auto negation = dyn_cast<NegOp>(op);
    auto product = negation ? negation.getX().getDefiningOp<MulOp>() : nullptr;
    auto factor = product ? splatNumber(product.getRhs()) : std::nullopt;
    if (!factor || !product->hasOneUse())
      return failure();
    return replace(op, product, product.getLhs(), product.getRhs(), *factor,
                   rewriter);
  }

  static LogicalResult replace(Operation *op, Operation *inner, Value x,
                               Value factorValue, double factor,
                               PatternRewriter &rewriter) {
    Location loc = rewriter.getFusedLoc({inner->getLoc(), op->getLoc()});
    Value negated = splatLike(rewriter, loc, factorValue, -factor);
    rewriter.replaceOp(op, rewriter.create<MulOp>(loc, x, negated));
    return success();
  }
};

// Pattern: where(not(c), x, y) -> where(c, y, x)
struct SwapWhere : OpRewritePattern<WhereOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(WhereOp op,
                                PatternRewriter &rewriter) const override {
    auto inverted = op.getCondition().getDefiningOp<NotOp>();
    if (!inverted)
      return rewriter.notifyMatchFailure(op, "the condition is not inverted");
    rewriter.replaceOpWithNewOp<WhereOp>(op, op.getType(), inverted.getX(),
                                         op.getRhs(), op.getLhs());
    return success();
  }
};

} // namespace

void addArithmeticPatterns(RewritePatternSet &patterns) {
  patterns
      .add<DivideByPowerOfTwo, MergePowersOfTwo, MergeIntegerConstants<AddOp>,
           MergeIntegerConstants<MulOp>, DropReluBound, ExpandPower,
           AbsorbNegation, MoveSignIntoFactor, SwapWhere>(
          patterns.getContext());
}

void addValuePatterns(RewritePatternSet &patterns) {
  patterns.add<RecognizeRelu, RecognizeBound, MergeBounds<MaxOp>,
               MergeBounds<MinOp>>(patterns.getContext());
}

} // namespace sinter::passes
