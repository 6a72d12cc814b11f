//===- RecognizeComposites.cpp - composites in small ops ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Exporters write softmax, layer_norm, gelu and attention as small ops; as
// composites they get better gradients and kernels. Legal if no intermediate
// value has another user. A composite rounds differently from the small ops, as
// the small ops of different exporters do. Expects the form that
// SimplifyAlgebra produces. The patterns are in Recognize*.cpp.
//
//===----------------------------------------------------------------------===//
#include "ir/Remarks.h"
#include "ir/Rewrites.h"
#include "passes/KeepInitializers.h"
#include "passes/Passes.h"
#include "passes/recognize/RecognizeMatch.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
#define GEN_PASS_DEF_RECOGNIZECOMPOSITES
#include "passes/Passes.h.inc"

namespace {

class Reporter : public RewriteListener {
public:
  using RewriteListener::RewriteListener;
  void notifyOperationInserted(Operation *op,
                               OpBuilder::InsertPoint from) override {
    RewriteListener::notifyOperationInserted(op, from);
    if (isa<CompositeOpInterface>(op))
      remark("recognize-composites", "recognized", op->getLoc(),
             op->getName().getStringRef());
  }
};

class RecognizeComposites
    : public impl::RecognizeCompositesBase<RecognizeComposites> {
public:
  using RecognizeCompositesBase::RecognizeCompositesBase;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    addSoftmaxRecognizers(set);
    addGeluRecognizers(set);
    addNormRecognizers(set);
    addAttentionRecognizers(set, keepScales);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    Reporter reporter(&getContext());
    GreedyRewriteConfig config;
    config.listener = &reporter;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      KeepInitializers initializers(function);
      (void)applyPatternsAndFoldGreedily(function, patterns, config);
      initializers.restore();
    }
  }

private:
  FrozenRewritePatternSet patterns;
};

} // namespace
} // namespace sinter::passes
