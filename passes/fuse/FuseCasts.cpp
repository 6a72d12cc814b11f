//===- FuseCasts.cpp - one kernel that rounds the weights -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// With 16-bit contractions each weight is rounded once per step: as many small
// kernels as there are weights, which need nothing from each other. Merged into
// one fusion of kind multi they are one launch at the head of the program. The
// 16-bit weights then live from there on; that costs half of the weights' bytes
// at most. Legal: the fusions read arguments of the function only.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/Fusion.h"
#include "passes/fuse/FusionInfo.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_FUSECASTS
#include "passes/Passes.h.inc"

namespace {

/// Casts nothing else than arguments of the function, maybe to one place.
bool isCastOfArguments(ir::KernelOp fusion) {
  ir::KernelKind kind = fusion.getKind();
  if ((kind != ir::KernelKind::loop && kind != ir::KernelKind::concat) ||
      !llvm::all_of(fusion.getInputs(), llvm::IsaPred<BlockArgument>))
    return false;
  return llvm::all_of(fusion.getBody().front(), [](Operation &op) {
    if (auto concat = dyn_cast<ir::ConcatOp>(op))
      return llvm::all_of(concat.getInputs(), [](Value input) {
        return input.getDefiningOp<ir::CastOp>() != nullptr;
      });
    return isa<ir::CastOp, ir::YieldOp>(op);
  });
}

struct FuseCastsPass : impl::FuseCastsBase<FuseCastsPass> {
  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    SmallVector<ir::KernelOp> casts;
    for (auto fusion : block.getOps<ir::KernelOp>())
      if (isCastOfArguments(fusion))
        casts.push_back(fusion);
    for (const KernelRun &run : kernelRuns(casts))
      if (run.size() > 1) {
        OpBuilder builder(*llvm::min_element(
            run, [](auto a, auto b) { return a->isBeforeInBlock(b); }));
        mergeKernels(builder, run);
      }
  }
};

} // namespace
} // namespace sinter::passes
