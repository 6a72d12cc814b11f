//===- FuseStages.cpp - a kernel behind the one that it reads -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The norm of all gradients is the sum of the sums of their squares; what is
// computed of it is a handful of numbers. As a kernel of its own this waits for
// all blocks of the one before, is launched, and reads a few kilobytes. Here
// the block of the first kernel that is done last does it: blocks take tickets,
// and who has the last one sees what the others wrote. Each block pays an
// atomic addition for it, so kernels of very many blocks are left alone.
//
//===----------------------------------------------------------------------===//
#include "passes/FuseStages.h"
#include "ir/Remarks.h"
#include "passes/Fusion.h"
#include "passes/FusionInfo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_FUSESTAGES
#include "passes/Passes.h.inc"

namespace {

/// What a first stage reads at most: tickets are then a small part of it.
constexpr int64_t kMostOfFirstStage = int64_t(1) << 24;

bool mayBeStage(ir::FusionOp fusion) {
  StringRef kind = fusion.getKind();
  return kind == fusion_kind::kLoop || kind == fusion_kind::kReduce ||
         kind == fusion_kind::kMulti;
}

/// Elements that one block would read or write.
int64_t elementsMoved(ir::FusionOp fusion) {
  int64_t elements = elementsRead(fusion);
  for (Value output : fusion.getOutputs())
    elements += ir::tensorType(output).getNumElements();
  return elements;
}

/// The fusion that `second` may be the second stage of: the last that computes
/// an operand of it.
ir::FusionOp firstStageOf(ir::FusionOp second) {
  Operation *last = nullptr;
  for (Value input : second.getInputs())
    if (Operation *def = input.getDefiningOp();
        def && (!last || last->isBeforeInBlock(def)))
      last = def;
  auto first = dyn_cast_or_null<ir::FusionOp>(last);
  if (!first ||
      !(mayBeStage(first) || first.getKind() == fusion_kind::kConcat) ||
      elementsRead(first) > kMostOfFirstStage ||
      first->getNumOperands() + first->getNumResults() +
              second->getNumOperands() + second->getNumResults() >
          kMostBuffers)
    return nullptr;
  // What reads a state's old value after the first stage must still find it.
  auto function = second->getParentOfType<func::FuncOp>();
  for (Value input : second.getInputs()) {
    auto argument = dyn_cast<BlockArgument>(input);
    if (!argument || !function.getArgAttr(argument.getArgNumber(),
                                          ir::SinterDialect::kStateAttr))
      continue;
    for (Operation *user : argument.getUsers())
      if (user != second && first->isBeforeInBlock(user) &&
          !isa<func::ReturnOp>(user))
        return nullptr;
  }
  return first;
}

/// One fusion of both, where the first was. They are erased.
void join(ir::FusionOp first, ir::FusionOp second) {
  SmallVector<Value> results(first.getOutputs());
  llvm::append_range(results, second.getOutputs());
  OpBuilder builder(first->getContext());
  builder.setInsertionPointAfter(first);
  second->moveAfter(first);
  builder.setInsertionPointAfter(second);
  buildFusion(builder, fusion_kind::kStaged, {first, second}, results);
  second.erase();
  first.erase();
}

struct FuseStagesPass : impl::FuseStagesBase<FuseStagesPass> {
  FuseStagesPass(const Target *target, ArrayRef<ProgramDevice> devices)
      : mainTarget(target), devices(devices) {}

  void runOnOperation() override {
    const Target *target = mainTarget;
    if (auto module = getOperation()->getParentOfType<ModuleOp>())
      target = targetOf(module, ir::deviceNumber(getOperation()), devices,
                        mainTarget);
    if (!target || !target->launchesAreDear())
      return;
    SmallVector<ir::FusionOp> fusions(
        getOperation().getBody().front().getOps<ir::FusionOp>());
    llvm::SmallPtrSet<Operation *, 8> gone;
    int64_t joined = 0;
    for (ir::FusionOp second : fusions) {
      if (gone.contains(second) || !mayBeStage(second) ||
          elementsMoved(second) > kSmallElements)
        continue;
      ir::FusionOp first = firstStageOf(second);
      if (!first)
        continue;
      gone.insert(first);
      gone.insert(second);
      join(first, second);
      ++joined;
    }
    if (joined)
      ir::remark("fuse-stages", "joined", getOperation().getLoc(), "", joined);
  }

private:
  const Target *mainTarget;
  SmallVector<ProgramDevice> devices;
};

} // namespace

std::unique_ptr<Pass> createFuseStages(const Target *target,
                                       ArrayRef<ProgramDevice> devices) {
  return std::make_unique<FuseStagesPass>(target, devices);
}

} // namespace sinter::passes
