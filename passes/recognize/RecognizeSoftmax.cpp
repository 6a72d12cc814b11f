//===- RecognizeSoftmax.cpp - softmax and log_softmax in small ops --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/OpClasses.h"
#include "passes/ValueBuilder.h"
#include "passes/recognize/RecognizeMatch.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// x and the axis if `value` is x - max(x) along one axis.
std::optional<std::pair<Value, int64_t>> matchShifted(Value value,
                                                      Match &match) {
  auto sub = value.getDefiningOp<SubOp>();
  if (!sub)
    return std::nullopt;
  match.add(sub, CompositePart::shift);
  match.enter(CompositePart::maximum);
  auto dims =
      Spread(sub.getRhs(), match).reductionOf(ReduceKind::max, sub.getLhs());
  if (!dims || dims->size() != 1)
    return std::nullopt;
  return std::pair(sub.getLhs(), dims->front());
}

// Pattern: e / sum(e), e = exp(x - max(x)) -> softmax(x)
struct RecognizeSoftmax : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op,
                                PatternRewriter &rewriter) const override {
    Match match(op, CompositePart::quotient);
    auto exp = op.getLhs().getDefiningOp<ExpOp>();
    if (!exp)
      return rewriter.notifyMatchFailure(op, "the dividend is not an exp");
    match.add(exp, CompositePart::power);
    auto shifted = matchShifted(exp.getX(), match);
    match.enter(CompositePart::sum);
    auto dims = Spread(op.getRhs(), match).reductionOf(ReduceKind::sum, exp);
    if (!shifted || !dims || dims->size() != 1 ||
        dims->front() != shifted->second)
      return rewriter.notifyMatchFailure(
          op, "no subtracted maximum, or no division by the sum");
    if (!match.isClosed())
      return rewriter.notifyMatchFailure(
          op, "an intermediate value has another user");
    rewriter.replaceOp(
        op, rewriter.create<SoftmaxOp>(match.location(), shifted->first,
                                       uint64_t(shifted->second)));
    return success();
  }
};

// Pattern: d - log(sum(exp(d))), d = x - max(x) -> log_softmax(x)
struct RecognizeLogSoftmax : OpRewritePattern<SubOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SubOp op,
                                PatternRewriter &rewriter) const override {
    Match match(op, CompositePart::logarithm);
    Spread logarithm(op.getRhs(), match);
    auto shifted = matchShifted(op.getLhs(), match);
    match.enter(CompositePart::logarithm);
    if (!shifted || !logarithm.enter<LogOp>())
      return rewriter.notifyMatchFailure(op,
                                         "no subtracted maximum or logarithm");
    for (Operation *user : op.getLhs().getUsers()) {
      auto exp = dyn_cast<ExpOp>(user);
      if (!exp)
        continue;
      match.enter(CompositePart::sum);
      auto dims = logarithm.reductionOf(ReduceKind::sum, exp);
      match.add(exp, CompositePart::power);
      if (!dims || dims->size() != 1 || dims->front() != shifted->second ||
          !match.isClosed())
        return rewriter.notifyMatchFailure(
            op, "the sum is a different one, or is used elsewhere");
      rewriter.replaceOp(
          op, rewriter.create<LogSoftmaxOp>(match.location(), shifted->first,
                                            uint64_t(shifted->second)));
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no exp of the shifted value");
  }
};

// Pattern: log(softmax(x)) -> log_softmax(x), which keeps small probabilities
struct RecognizeLogOfSoftmax : OpRewritePattern<LogOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LogOp op,
                                PatternRewriter &rewriter) const override {
    auto softmax = op.getX().getDefiningOp<SoftmaxOp>();
    if (!softmax || !softmax->hasOneUse())
      return rewriter.notifyMatchFailure(op, "no softmax of one use");
    using Part = CompositePart;
    SmallVector<std::pair<Part, Location>> parts;
    for (Part part : {Part::maximum, Part::shift, Part::power, Part::sum})
      parts.push_back({part, partOfComposite(softmax.getLoc(), part)});
    parts.push_back({Part::logarithm, op.getLoc()});
    parts.push_back(
        {Part::logarithm, partOfComposite(softmax.getLoc(), Part::quotient)});
    Location loc = compositeLocation(getContext(), parts);
    rewriter.replaceOp(op, rewriter.create<LogSoftmaxOp>(loc, softmax.getX(),
                                                         softmax.getAxis()));
    return success();
  }
};

// Pattern: log(sigmoid(x)) -> min(x, 0) - log1p(exp(-|x|)); log(1 - sigmoid(x))
// -> the same of -x. For large |x|, sigmoid(x) rounds to 0 or 1.
struct RecognizeLogOfSigmoid : OpRewritePattern<LogOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LogOp op,
                                PatternRewriter &rewriter) const override {
    Value probability = op.getX();
    auto complement = probability.getDefiningOp<SubOp>();
    if (complement && splatNumber(complement.getLhs()) == 1.0)
      probability = complement.getRhs();
    else
      complement = nullptr;
    auto sigmoid = probability.getDefiningOp<SigmoidOp>();
    if (!sigmoid)
      return rewriter.notifyMatchFailure(op, "no sigmoid");
    SmallVector<Location> locs{sigmoid.getLoc(), op.getLoc()};
    if (complement)
      locs.push_back(complement.getLoc());
    ValueBuilder b(rewriter, rewriter.getFusedLoc(locs));
    Value x = sigmoid.getX();
    if (complement)
      x = b.neg(x);
    Value tail = b.make<Log1pOp>(b.exp(b.neg(b.make<AbsOp>(x))));
    rewriter.replaceOp(op, b.sub(b.min(x, b.like(x, 0)), tail));
    return success();
  }
};

// Pattern: log(exp(x) + exp(y)) -> max(x, y) + log1p(exp(-|x - y|)), which does
// not overflow
struct RecognizeLogAddExp : OpRewritePattern<LogOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LogOp op,
                                PatternRewriter &rewriter) const override {
    auto sum = op.getX().getDefiningOp<AddOp>();
    auto first = sum ? sum.getLhs().getDefiningOp<ExpOp>() : nullptr;
    auto second = sum ? sum.getRhs().getDefiningOp<ExpOp>() : nullptr;
    if (!first || !second)
      return rewriter.notifyMatchFailure(op, "not of a sum of exponentials");
    ValueBuilder b(rewriter,
                   rewriter.getFusedLoc({first.getLoc(), second.getLoc(),
                                         sum.getLoc(), op.getLoc()}));
    Value x = first.getX(), y = second.getX();
    // The difference of equal infinities would be NaN.
    Value difference =
        b.where(b.compare(CompareKind::eq, x, y), b.like(x, 0), b.sub(x, y));
    Value tail = b.make<Log1pOp>(b.exp(b.neg(b.make<AbsOp>(difference))));
    rewriter.replaceOp(op, b.add(b.max(x, y), tail));
    return success();
  }
};

} // namespace

void addSoftmaxRecognizers(RewritePatternSet &patterns) {
  patterns.add<RecognizeSoftmax, RecognizeLogSoftmax, RecognizeLogOfSoftmax,
               RecognizeLogOfSigmoid, RecognizeLogAddExp>(
      patterns.getContext());
}

} // namespace sinter::passes
