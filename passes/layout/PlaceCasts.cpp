//===- PlaceCasts.cpp - casts next to the ops that compute ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Casts between 16-bit floats and float32 commute with ops that only move
// elements. Widening casts are moved behind such ops and narrowing ones before
// them. So fewer bytes are moved, and casts are where FuseEpilogues looks for
// them: at the operands of a contraction and after its post-ops. Always legal.
// A float32 view with other users is not narrowed.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "ir/Rewrites.h"
#include "passes/KeepInitializers.h"
#include "passes/OpClasses.h"
#include "passes/Passes.h"
#include "passes/simplify/HoistInvariants.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_PLACECASTS
#include "passes/Passes.h.inc"

namespace {

/// A copy of `view` that moves `source` instead of its operand.
Value moveAlike(OpBuilder &builder, Operation *view, Value source) {
  OperationState state(view->getLoc(), view->getName());
  state.addOperands(source);
  state.addAttributes(view->getAttrs());
  state.addTypes(ir::tensorType(view->getResult(0))
                     .clone(ir::tensorType(source).getElementType()));
  return builder.create(state)->getResult(0);
}

// Pattern: view(cast(x : 16 bits) : f32) -> cast(view(x)); the same for 8-bit
// integers cast to i32
struct WidenAfterView : RewritePattern {
  explicit WidenAfterView(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!ir::isView(op))
      return rewriter.notifyMatchFailure(op, "not a view");
    Value narrow = widened(op->getOperand(0));
    if (!narrow)
      narrow = widenedBytes(op->getOperand(0));
    if (!narrow)
      return rewriter.notifyMatchFailure(op, "the operand is not widened");
    Value moved = moveAlike(rewriter, op, narrow);
    rewriter.replaceOpWithNewOp<ir::CastOp>(op, op->getResult(0).getType(),
                                            moved);
    return success();
  }
};

// Pattern: concat(cast(x : 16 bits), cast(y), ..) -> cast(concat(x, y, ..))
struct WidenAfterConcat : OpRewritePattern<ir::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ConcatOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> narrow;
    for (Value input : op.getInputs())
      if (Value from = widened(input))
        narrow.push_back(from);
    auto elementOf = [](Value value) {
      return ir::tensorType(value).getElementType();
    };
    if (narrow.size() != op.getInputs().size() ||
        llvm::any_of(narrow, [&](Value value) {
          return elementOf(value) != elementOf(narrow[0]);
        }))
      return rewriter.notifyMatchFailure(
          op, "an operand is not widened, or types differ");
    Value joined =
        rewriter.create<ir::ConcatOp>(op.getLoc(), narrow, op.getAxis());
    rewriter.replaceOpWithNewOp<ir::CastOp>(op, op.getType(), joined);
    return success();
  }
};

// Pattern: cast(view(x : f32)) -> view(cast(x)), if the view has one use and is
// not a slice
struct NarrowBeforeView : OpRewritePattern<ir::CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::CastOp op,
                                PatternRewriter &rewriter) const override {
    Type to = op.getType().getElementType();
    Operation *view = op.getX().getDefiningOp();
    if (!op.getX().getType().getElementType().isF32() ||
        !(to.isF16() || to.isBF16()))
      return rewriter.notifyMatchFailure(op, "not a narrowing cast");
    // A slice leaves elements out: they would be cast in vain.
    if (!ir::isView(view) || isa<ir::SliceOp>(view) || !view->hasOneUse())
      return rewriter.notifyMatchFailure(
          op, "the operand is not a view with one use");
    Value narrow = ir::castTo(rewriter, op.getLoc(), view->getOperand(0), to);
    rewriter.replaceOp(op, moveAlike(rewriter, view, narrow));
    return success();
  }
};

// Pattern: scan(x) -> scan(view(x)), where a body moves its operand x after the
// cast was moved behind the view
struct HoistViews : OpRewritePattern<ir::ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ScanOp op,
                                PatternRewriter &rewriter) const override {
    return success(hoistInvariants(rewriter, op));
  }
};

struct PlaceCastsPass : impl::PlaceCastsBase<PlaceCastsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns
        .add<WidenAfterView, WidenAfterConcat, NarrowBeforeView, HoistViews>(
            &getContext());
    KeepInitializers initializers(getOperation());
    ir::RewriteListener listener(&getContext());
    GreedyRewriteConfig config;
    config.listener = &listener;
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns),
                                            config)))
      return signalPassFailure();
    initializers.restore();
  }
};

} // namespace
} // namespace sinter::passes
