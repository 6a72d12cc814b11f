//===- ChooseCalls.cpp - library calls or generated kernels ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/ChooseCalls.h"
#include "ir/Decisions.h"
#include "passes/Passes.h"
#include "passes/fuse/PersistentKernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_CHOOSECALLS
#include "passes/Passes.h.inc"

Implementation implementationOf(Operation *contraction, const Target *target) {
  if (!target)
    return Implementation::Library;
  std::string reason;
  Implementation own = target->implementationOf(contraction, reason);
  auto function = contraction->getParentOfType<func::FuncOp>();
  bool isGenerated = contraction->hasAttr(kGeneratedAttr) ||
                     (function && function->hasAttr(kPersistentAttr));
  return own == Implementation::Library && isGenerated
             ? Implementation::Generated
             : own;
}

namespace {

struct ChooseCallsPass : impl::ChooseCallsBase<ChooseCallsPass> {
  ChooseCallsPass(const Target *target, ArrayRef<ProgramDevice> devices)
      : mainTarget(target), devices(devices) {}

  void runOnOperation() override {
    const Target *target = targetOf(getOperation(), devices, mainTarget);
    for (Operation &op : getOperation().getBody().front()) {
      if (!target || !ir::isContraction(&op) || !target->canGenerate(&op) ||
          implementationOf(&op, target) != Implementation::Library)
        continue;
      Operation *ops[] = {&op};
      if (!ir::decide({.pass = "choose-calls",
                       .what = "implementation",
                       .ops = ops,
                       .keepsBits = false},
                      /*byRule=*/true, "library", "generated"))
        op.setAttr(kGeneratedAttr, UnitAttr::get(&getContext()));
    }
  }

private:
  const Target *mainTarget;
  SmallVector<ProgramDevice> devices;
};

} // namespace

std::unique_ptr<Pass> createChooseCalls(const Target *target,
                                        ArrayRef<ProgramDevice> devices) {
  return std::make_unique<ChooseCallsPass>(target, devices);
}

} // namespace sinter::passes
