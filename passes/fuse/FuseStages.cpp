//===- FuseStages.cpp - a kernel after the one it reads -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The norm of all gradients is the sum of the sums of their squares, and only a
// handful of numbers is computed from it. As a separate kernel that computation
// waits for all blocks of the kernel before, is launched, and reads a few
// kilobytes. Here the block of the first kernel that finishes last runs it:
// blocks take tickets, and the block with the last ticket sees what the others
// wrote. A kernel that reads the results of this one may follow in the same
// block. Each block pays for an atomic addition, so kernels of very many blocks
// are left alone.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/FuseStages.h"
#include "ir/Remarks.h"
#include "passes/fuse/Fusion.h"
#include "passes/fuse/FusionInfo.h"
#include "passes/fuse/SplitContractions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_FUSESTAGES
#include "passes/Passes.h.inc"

namespace {

/// The most elements that the first kernel may read, so that its tickets are a
/// small part of its cost.
constexpr int64_t kMostElements = int64_t(1) << 24;

bool mayBeStage(ir::KernelOp fusion) {
  ir::KernelKind kind = fusion.getKind();
  return kind == ir::KernelKind::loop || kind == ir::KernelKind::reduce ||
         kind == ir::KernelKind::multi;
}

/// True when another kernel may become a stage after `fusion`. Products of
/// matrices have too many blocks, and their threads too many registers.
bool mayBeFirst(ir::KernelOp fusion) {
  ir::KernelKind kind = fusion.getKind();
  if (kind == ir::KernelKind::matmul)
    return llvm::all_of(fusion.getBody().front().getOps<ir::DotGeneralOp>(),
                        isOfVector);
  return mayBeStage(fusion) || kind == ir::KernelKind::concat ||
         kind == ir::KernelKind::rows || kind == ir::KernelKind::staged;
}

/// True when the first stage of `fusion`, or all of it, is of kind rows.
bool beginsWithRows(ir::KernelOp fusion) {
  if (fusion.getKind() == ir::KernelKind::staged)
    fusion = *fusion.getBody().front().getOps<ir::KernelOp>().begin();
  return fusion.getKind() == ir::KernelKind::rows;
}

/// True when `second` is little work for one block: sums of some thousands of
/// elements, a few numbers, but not updates of parameters. Behind a product of
/// a vector it is work on a vector, which has few blocks in any case. Behind
/// rows it combines what they computed: one block takes longer than a launch if
/// that is much.
bool isSmall(ir::KernelOp second, ir::KernelOp first) {
  constexpr int64_t kMostWritten = 1024, kMostOfVector = 4096,
                    kMostOfRows = 4096;
  int64_t written = 0;
  for (Value output : second.getOutputs())
    written += ir::tensorType(output).getNumElements();
  bool isOfVector = first.getKind() == ir::KernelKind::matmul;
  int64_t mostRead = beginsWithRows(first) ? kMostOfRows : kSmallElements;
  return elementsRead(second) <= mostRead &&
         written <= (isOfVector ? kMostOfVector : kMostWritten);
}

/// True when `second` computes the new value of a state whose old value is read
/// between `first` and `second`.
bool updatesWhatIsRead(ir::KernelOp second, ir::KernelOp first) {
  auto function = second->getParentOfType<func::FuncOp>();
  for (OpOperand &use : second->getUses()) {
    if (!isNewState(use))
      continue;
    Attribute state = function.getResultAttr(use.getOperandNumber(),
                                             ir::SinterDialect::kStateAttr);
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(),
                              ir::SinterDialect::kStateAttr) == state)
        for (Operation *user : argument.getUsers())
          if (user != second && first->isBeforeInBlock(user) &&
              !isa<func::ReturnOp>(user))
            return true;
  }
  return false;
}

/// The kernel that `second` may become a stage of: the last one that computes
/// an operand of it. Null if there is none; if there is one that may not have
/// it, `whyNot` tells.
ir::KernelOp
firstStageOf(ir::KernelOp second,
             llvm::function_ref<void(ir::KernelOp, const Twine &)> whyNot) {
  Operation *last = nullptr;
  for (Value input : second.getInputs())
    if (Operation *def = input.getDefiningOp();
        def && !isa<ir::ConstantOp>(def) &&
        (!last || last->isBeforeInBlock(def)))
      last = def;
  auto first = dyn_cast_or_null<ir::KernelOp>(last);
  if (!first)
    return nullptr;
  unsigned buffers = first->getNumOperands() + first->getNumResults() +
                     second->getNumOperands() + second->getNumResults();
  if (!mayBeFirst(first))
    whyNot(first, "no stage may follow a kernel of kind " +
                      ir::stringifyKernelKind(first.getKind()));
  else if (elementsRead(first) > kMostElements)
    whyNot(first, "the earlier one reads " + Twine(elementsRead(first)) +
                      " elements: beyond " + Twine(kMostElements) +
                      " a launch costs little in comparison");
  else if (buffers > kMostBuffers)
    whyNot(first, "one kernel would have " + Twine(buffers) +
                      " buffers; a launch takes at most " +
                      Twine(kMostBuffers));
  else if (updatesWhatIsRead(second, first))
    whyNot(first, "the later one updates a state that is read in between");
  else if (!isSmall(second, first))
    whyNot(first, "the later one reads " + Twine(elementsRead(second)) +
                      " elements: as a stage it would be computed by one "
                      "block, which pays only for small ones");
  else
    return first;
  return nullptr;
}

/// Merges both into one staged kernel in the position of `first` and erases
/// them.
void join(ir::KernelOp first, ir::KernelOp second) {
  for (Value input : second.getInputs())
    if (auto constant = input.getDefiningOp<ir::ConstantOp>();
        constant && first->isBeforeInBlock(constant))
      constant->moveBefore(first);
  second->moveAfter(first);
  OpBuilder builder(second);
  SmallVector<Operation *> stages;
  unpackKernel(first, ir::KernelKind::staged, stages);
  stages.push_back(second);
  SmallVector<Value> results;
  for (Operation *stage : stages)
    llvm::append_range(results, stage->getResults());
  builder.setInsertionPointAfter(second);
  buildKernel(builder, ir::KernelKind::staged, stages, results);
  for (Operation *stage : llvm::reverse(stages))
    stage->erase();
}

struct FuseStagesPass : impl::FuseStagesBase<FuseStagesPass> {
  FuseStagesPass(const Target *target, ArrayRef<ProgramDevice> devices)
      : mainTarget(target), devices(devices) {}

  void runOnOperation() override {
    const Target *target = targetOf(getOperation(), devices, mainTarget);
    if (!target || !target->traits().hasExpensiveLaunches)
      return;
    // Each step merges the kernel at hand with one from before, so later
    // entries stay valid.
    SmallVector<ir::KernelOp> fusions(
        getOperation().getBody().front().getOps<ir::KernelOp>());
    int64_t joined = 0;
    for (ir::KernelOp second : fusions) {
      if (!mayBeStage(second))
        continue;
      ir::KernelOp first =
          firstStageOf(second, [&](ir::KernelOp other, const Twine &why) {
            ir::explain("fuse-stages", "not-fused", other.getLoc(),
                        second.getLoc(), why);
          });
      if (!first ||
          !becomeOneKernel("fuse-stages", "join", first.getOperation(),
                           second.getOperation()))
        continue;
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
