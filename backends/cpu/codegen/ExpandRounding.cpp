//===- ExpandRounding.cpp - floor, ceil and round without SSE4.1 ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/codegen/ExpandRounding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace sinter::cpu {
namespace {

Value number(ImplicitLocOpBuilder &b, Type type, double value) {
  TypedAttr attr = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return b.create<arith::ConstantOp>(attr);
}

/// The nearest integer, halves to even: adding 2^23 (2^52 in float64) leaves no
/// bits for a fraction. Larger numbers, infinities and NaN stay unchanged.
Value nearestInteger(ImplicitLocOpBuilder &b, Value x) {
  Type type = x.getType();
  bool isDouble = getElementTypeOrSelf(type).isF64();
  Value limit = number(b, type, isDouble ? 0x1p52 : 0x1p23);
  Value magnitude = b.create<math::AbsFOp>(x);
  Value rounded = b.create<arith::SubFOp>(
      b.create<arith::AddFOp>(magnitude, limit).getResult(), limit);
  Value isSmall =
      b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, magnitude, limit);
  Value result = b.create<math::CopySignOp>(rounded, x);
  return b.create<arith::SelectOp>(isSmall, result, x);
}

/// Pattern: roundeven(x) -> (|x| + 2^23) - 2^23
struct ExpandRoundEven : OpRewritePattern<math::RoundEvenOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::RoundEvenOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, nearestInteger(b, op.getOperand()));
    return success();
  }
};

/// Pattern: floor(x) -> the nearest integer, minus 1 if that is above x; ceil
/// likewise
template <class Op, arith::CmpFPredicate isBeyond, int step>
struct ExpandDirected : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = op.getOperand();
    Value nearest = nearestInteger(b, x);
    Value moved =
        b.create<arith::AddFOp>(nearest, number(b, x.getType(), step));
    Value beyond = b.create<arith::CmpFOp>(isBeyond, nearest, x);
    Value result = b.create<arith::SelectOp>(beyond, moved, nearest);
    // A zero keeps the sign of x.
    rewriter.replaceOpWithNewOp<math::CopySignOp>(op, result, x);
    return success();
  }
};

class ExpandRounding
    : public PassWrapper<ExpandRounding, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandRounding)
  StringRef getName() const override { return "ExpandRounding"; }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandRoundEven,
                 ExpandDirected<math::FloorOp, arith::CmpFPredicate::OGT, -1>,
                 ExpandDirected<math::CeilOp, arith::CmpFPredicate::OLT, 1>>(
        &getContext());
    if (failed(
            applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createExpandRounding() {
  return std::make_unique<ExpandRounding>();
}

} // namespace sinter::cpu
