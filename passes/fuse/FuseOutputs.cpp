//===- FuseOutputs.cpp - one kernel for the end of a program --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Kernels whose results only leave the function are independent of each other.
// Merged into one kernel of kind multi they are one launch, whatever their
// shapes: the whole optimizer, with the last small steps of the loss. Kernels
// with larger results of other kinds stay separate, since what they read would
// have to be kept until the end.
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

/// True for the update of a state that is a single number, such as the step
/// count of Adam. FuseSiblings merges it with another kernel; among the updates
/// it would make one of the runs different from the others.
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
