//===- FuseCasts.cpp - one kernel that rounds the weights -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// With 16-bit contractions each weight that KeepRounded leaves alone is rounded
// once per step, by as many small kernels as there are weights. They are
// independent of each other. Merged into one kernel of kind multi they are one
// launch at the head of the program. The 16-bit weights then live from there
// on, which costs at most half of the bytes of the weights. Legal, since these
// kernels read only arguments of the function.
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

/// True when `fusion` only casts arguments of the function, perhaps into one
/// concatenated tensor.
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
