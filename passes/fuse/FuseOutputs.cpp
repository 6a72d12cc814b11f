//===- FuseOutputs.cpp - one kernel for what ends a program ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Fusions whose results only leave the function need nothing from each other.
// Merged into one fusion of kind multi they are one launch, whatever their
// shapes: the whole optimizer, and with it the last small steps of the loss.
// Larger results of other kinds stay apart, since what they read would have to
// be kept until the end.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/Fusion.h"
#include "passes/fuse/FusionInfo.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_FUSEOUTPUTS
#include "passes/Passes.h.inc"

namespace {

/// A state that is a number, such as Adam's count of steps, which FuseSiblings
/// puts beside another kernel: among the updates it would make one of their
/// kernels unlike the others.
bool isNumber(ir::KernelOp fusion) {
  constexpr int64_t kMostRead = 8;
  return fusion->getNumResults() == 1 &&
         llvm::all_of(fusion->getUses(), isNewState) &&
         ir::tensorType(fusion->getResult(0)).getNumElements() == 1 &&
         elementsRead(fusion) <= kMostRead;
}

struct FuseOutputsPass : impl::FuseOutputsBase<FuseOutputsPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    Operation *terminator = func.getBody().front().getTerminator();
    SmallVector<ir::KernelOp> ends;
    for (auto fusion : func.getBody().front().getOps<ir::KernelOp>()) {
      if (fusion.getKind() != ir::KernelKind::loop &&
          fusion.getKind() != ir::KernelKind::reduce)
        continue;
      bool onlyLeaves = llvm::all_of(fusion->getUsers(), [&](Operation *user) {
        return user == terminator;
      });
      if (fusion->use_empty() || !onlyLeaves || isNumber(fusion) ||
          !(llvm::all_of(fusion->getUses(), isNewState) ||
            elementsRead(fusion) <= kSmallElements))
        continue;
      ends.push_back(fusion);
    }
    OpBuilder builder(terminator);
    for (const KernelRun &run : kernelRuns(ends))
      if (run.size() > 1) {
        builder.setInsertionPoint(terminator);
        mergeKernels(builder, run);
      }
  }
};

} // namespace
} // namespace sinter::passes
