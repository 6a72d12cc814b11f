//===- SimplifyAlgebra.cpp - cheaper ops of equal value -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Applies every folder and canonicalizer of the dialect and the patterns of
// Simplify{Arithmetic,Shapes,Gathers,Contractions,Quantized,Scans}.cpp to a
// fixpoint, then merges equal ops and removes dead ones; repeats while ops are
// merged. Legal at every phase of the graph level. Evaluating constants is left
// to FoldConstants.
//
//===----------------------------------------------------------------------===//
#include "ir/Remarks.h"
#include "ir/Rewrites.h"
#include "passes/KeepInitializers.h"
#include "passes/Passes.h"
#include "passes/simplify/CommonSubexpressions.h"
#include "passes/simplify/SimplifyPatterns.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
#define GEN_PASS_DEF_SIMPLIFYALGEBRA
#include "passes/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral kPass = "simplify-algebra";
// A further round only applies what merging equal ops made possible.
constexpr int kMaxRounds = 8;

/// Adds the node names of a replaced op to the ops that replace it.
class KeepNodeNames : public RewriteListener {
public:
  using RewriteListener::RewriteListener;
  void notifyOperationReplaced(Operation *op, ValueRange replacement) override {
    ++numReplaced;
    for (Value value : replacement) {
      Operation *source = value.getDefiningOp();
      if (!source || isa<ConstantOp>(source))
        continue;
      source->setLoc(fuseLocations(source->getLoc(), op->getLoc()));
      notifyOperationModified(source);
    }
    RewriteListener::notifyOperationReplaced(op, replacement);
  }
  int64_t numReplaced = 0;
};

class SimplifyAlgebra : public impl::SimplifyAlgebraBase<SimplifyAlgebra> {
public:
  using SimplifyAlgebraBase::SimplifyAlgebraBase;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    addDerivativePatterns(set);
    if (!keepDerivatives) {
      addValuePatterns(set);
      addQuantizedPatterns(set);
    }
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    KeepNodeNames listener(&getContext());
    GreedyRewriteConfig config;
    config.listener = &listener;
    config.useTopDownTraversal = true;
    int64_t numMerged = 0;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      KeepInitializers initializers(function);
      for (int round = 0; round < kMaxRounds; ++round) {
        bool changed = false;
        (void)applyPatternsAndFoldGreedily(function, patterns, config,
                                           &changed);
        int64_t merged = 0;
        for (Block &block : function.getBody())
          merged += eliminateCommonSubexpressions(block);
        IRRewriter rewriter(&getContext());
        (void)runRegionDCE(rewriter, function->getRegions());
        numMerged += merged;
        if (merged == 0)
          break;
      }
      initializers.restore();
    }
    if (listener.numReplaced)
      remark(kPass, "replaced", getOperation().getLoc(), "",
             listener.numReplaced);
    if (numMerged)
      remark(kPass, "merged", getOperation().getLoc(), "", numMerged);
  }

private:
  FrozenRewritePatternSet patterns;
};

} // namespace

void addDerivativePatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  for (RegisteredOperationName name : context->getRegisteredOperations())
    if (isa<SinterDialect>(name.getDialect()))
      name.getCanonicalizationPatterns(patterns, context);
  addArithmeticPatterns(patterns);
  addShapePatterns(patterns);
  addGatherPatterns(patterns);
  addContractionPatterns(patterns);
  addScanPatterns(patterns);
}

} // namespace sinter::passes
