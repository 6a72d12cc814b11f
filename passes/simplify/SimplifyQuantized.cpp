//===- SimplifyQuantized.cpp - patterns on values of 8-bit codes ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Every pattern here gives the same bits.
//
//===----------------------------------------------------------------------===//
#include "passes/QuantizedPostOps.h"
#include "passes/simplify/SimplifyPatterns.h"

#include <cmath>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

// Pattern: quantised(max_window(dequantised(codes))) -> max_window(codes), with
// one scale and one zero point. A code that is dequantised and quantised again
// is the same: two roundings change a number below 2^9 by less than 2^-13.
struct MaximumOfCodes : OpRewritePattern<ReduceWindowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceWindowOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<CodedValue> from = codedValueOf(op.getX());
    if (op.getKind() != ReduceKind::max || !from)
      return rewriter.notifyMatchFailure(op, "not a maximum of codes");
    std::optional<QuantizedPostOp> to = matchQuantize(op.getResult());
    if (!to)
      return rewriter.notifyMatchFailure(op, "the maximum is not quantised");
    Type code = tensorType(from->codes).getElementType();
    if (tensorType(to->result()).getElementType() != code ||
        to->postOp.alpha.getValue().convertToFloat() != from->scale ||
        to->postOp.beta.getValue().convertToFloat() != from->zero)
      return rewriter.notifyMatchFailure(op, "the codes have another scale");
    constexpr float greatest = 512;
    if (!(from->scale > 0) || !std::isnormal(from->scale) ||
        !std::isfinite(greatest * from->scale))
      return rewriter.notifyMatchFailure(op, "products may not be normal");
    rewriter.setInsertionPoint(op);
    auto maximum = rewriter.create<ReduceWindowOp>(
        op.getLoc(), to->result().getType(), op.getKind(), from->codes,
        op.getWindow(), op.getStrides(), op.getDilations(), op.getPadsLow(),
        op.getPadsHigh());
    rewriter.replaceOp(to->members.back(), maximum.getResult());
    return success();
  }
};

} // namespace

void addQuantizedPatterns(RewritePatternSet &patterns) {
  patterns.add<MaximumOfCodes>(patterns.getContext());
}

} // namespace sinter::passes
