//===- FuseUpdates.cpp - one kernel for all updates of state --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Fusions whose results are only new values of state need nothing from each
// other. Merged into one fusion of kind multi they are one launch, whatever
// their shapes: the optimizer is one kernel.
//
//===----------------------------------------------------------------------===//
#include "passes/Fusion.h"
#include "passes/FusionInfo.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_FUSEUPDATES
#include "passes/Passes.h.inc"

namespace {

struct FuseUpdatesPass : impl::FuseUpdatesBase<FuseUpdatesPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    Operation *terminator = func.getBody().front().getTerminator();
    SmallVector<Operation *> updates;
    SmallVector<Value> results;
    for (auto fusion : func.getBody().front().getOps<ir::FusionOp>()) {
      if (fusion.getKind() != fusion_kind::kLoop &&
          fusion.getKind() != fusion_kind::kReduce)
        continue;
      bool onlyState = llvm::all_of(fusion->getUses(), [&](OpOperand &use) {
        return use.getOwner() == terminator &&
               func.getResultAttr(use.getOperandNumber(),
                                  ir::SinterDialect::kStateAttr);
      });
      if (!onlyState || fusion->use_empty())
        continue;
      updates.push_back(fusion);
      llvm::append_range(results, fusion.getOutputs());
    }
    if (updates.size() < 2)
      return;
    OpBuilder builder(terminator);
    buildFusion(builder, fusion_kind::kMulti, updates, results);
    for (Operation *update : updates)
      update->erase();
  }
};

} // namespace
} // namespace sinter::passes
