//===- FuseSiblings.cpp - small kernels merged with others ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A kernel that reads and writes a few elements costs little more than its
// launch. Examples are the numbers that Adam derives from its step count, and
// the second half of a split reduction. Such a kernel becomes a part of one
// that runs in the same stretch of the program anyway. Where launches are
// expensive, sums over many elements are also merged with the kernel that reads
// the same tensors; nothing is kept longer for it. Legal between the last of
// its operands and the first of its users: no op there depends on it, and it
// depends on none of them. Contractions and ops that are kernels on their own
// are not merged.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/FuseSiblings.h"
#include "ir/Remarks.h"
#include "passes/fuse/Fusion.h"
#include "passes/fuse/FusionInfo.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_FUSESIBLINGS
#include "passes/Passes.h.inc"

namespace {

bool isSmall(ir::KernelOp fusion) {
  int64_t elements = elementsRead(fusion);
  for (Value output : fusion.getOutputs())
    elements += ir::tensorType(output).getNumElements();
  return elements <= kSmallElements;
}

/// True for the kinds that may be parts of a kernel of kind multi.
bool mayBePart(ir::KernelOp fusion) {
  ir::KernelKind kind = fusion.getKind();
  return kind == ir::KernelKind::loop || kind == ir::KernelKind::reduce ||
         kind == ir::KernelKind::multi;
}

/// True when `fusion` is a reduction with far fewer results than it reads.
bool isSum(ir::KernelOp fusion) {
  int64_t results = 0;
  for (Value output : fusion.getOutputs())
    results += ir::tensorType(output).getNumElements();
  return fusion.getKind() == ir::KernelKind::reduce &&
         results * 8 <= elementsRead(fusion);
}

/// True when `host` reads every large tensor that `fusion` reads.
bool readsTheSame(ir::KernelOp host, ir::KernelOp fusion) {
  return llvm::all_of(fusion.getInputs(), [&](Value input) {
    return ir::tensorType(input).getNumElements() <= kSmallElements ||
           llvm::is_contained(host.getInputs(), input);
  });
}

struct FuseSiblingsPass : impl::FuseSiblingsBase<FuseSiblingsPass> {
  explicit FuseSiblingsPass(const Target *target) : target(target) {}

  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    int64_t merged = 0;
    for (Operation *op = &block.front(); op;) {
      auto fusion = dyn_cast<ir::KernelOp>(op);
      op = op->getNextNode();
      if (!fusion || !mayBePart(fusion))
        continue;
      bool isOfReaders =
          target && target->traits().hasExpensiveLaunches && isSum(fusion);
      ir::KernelOp host;
      if (isSmall(fusion))
        host = smallestBeside(fusion, [](ir::KernelOp) { return true; });
      else if (isOfReaders)
        host = smallestBeside(fusion, [&](ir::KernelOp other) {
          return readsTheSame(other, fusion);
        });
      if (!host || !becomeOneKernel("fuse-siblings", "merge",
                                    host.getOperation(), fusion.getOperation()))
        continue;
      if (op == host)
        op = host->getNextNode();
      OpBuilder builder(host);
      mergeKernels(builder, {host, fusion});
      ++merged;
    }
    if (merged)
      ir::remark("fuse-siblings", "merged", getOperation().getLoc(), "",
                 merged);
  }

private:
  /// The kernel that reads least of those between the last operand of `fusion`
  /// and its first user that fit and may be merged with it.
  static ir::KernelOp
  smallestBeside(ir::KernelOp fusion,
                 llvm::function_ref<bool(ir::KernelOp)> fits) {
    Block *block = fusion->getBlock();
    Operation *begin = nullptr, *end = block->getTerminator();
    for (Value input : fusion.getInputs())
      if (Operation *def = input.getDefiningOp();
          def && (!begin || begin->isBeforeInBlock(def)))
        begin = def;
    for (Operation *user : fusion->getUsers())
      if (user->isBeforeInBlock(end))
        end = user;
    ir::KernelOp best;
    for (Operation *op = begin ? begin->getNextNode() : &block->front();
         op != end; op = op->getNextNode()) {
      auto other = dyn_cast<ir::KernelOp>(op);
      if (!other || other == fusion || !mayBePart(other) ||
          other->getNumOperands() + other->getNumResults() +
                  fusion->getNumOperands() + fusion->getNumResults() >
              kMostBuffers ||
          !fits(other))
        continue;
      if (!best || elementsRead(other) < elementsRead(best))
        best = other;
    }
    return best;
  }

  const Target *target;
};

} // namespace

std::unique_ptr<Pass> createFuseSiblings(const Target *target) {
  return std::make_unique<FuseSiblingsPass>(target);
}

} // namespace sinter::passes
