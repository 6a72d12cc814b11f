//===- UpdateBuckets.cpp - early updates of states ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/UpdateBuckets.h"

#include "passes/fuse/Fusion.h"
#include "passes/fuse/FusionInfo.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace sinter::passes::plan {
namespace {

/// The last op that computes an operand; null if there is none.
Operation *lastDefinition(Operation *op) {
  Operation *last = nullptr;
  for (Value operand : op->getOperands())
    if (Operation *def = operand.getDefiningOp();
        def && (!last || last->isBeforeInBlock(def)))
      last = def;
  return last;
}

/// Replaces `multi` by its parts and returns them.
SmallVector<ir::KernelOp> unpacked(ir::KernelOp multi) {
  OpBuilder builder(multi);
  Block &body = multi.getBody().front();
  IRMapping mapping;
  mapping.map(body.getArguments(), multi.getInputs());
  SmallVector<ir::KernelOp> parts;
  for (Operation &part : body.without_terminator())
    parts.push_back(cast<ir::KernelOp>(builder.clone(part, mapping)));
  for (auto [output, yielded] :
       llvm::zip_equal(multi.getOutputs(), body.getTerminator()->getOperands()))
    output.replaceAllUsesWith(mapping.lookup(yielded));
  multi.erase();
  return parts;
}

/// Merges the kernels of `bucket` into one, right after the last definition of
/// an operand.
void place(ArrayRef<ir::KernelOp> bucket) {
  Operation *last = nullptr;
  for (ir::KernelOp part : bucket)
    if (Operation *def = lastDefinition(part);
        def && (!last || last->isBeforeInBlock(def)))
      last = def;
  OpBuilder builder(bucket.front());
  if (last)
    builder.setInsertionPointAfter(last);
  if (bucket.size() > 1)
    mergeKernels(builder, bucket);
  else if (last)
    ir::KernelOp(bucket.front())->moveAfter(last);
}

} // namespace

bool isUpdate(ir::KernelOp fusion) {
  return fusion.getKind() == ir::KernelKind::multi &&
         !fusion.getBody().front().without_terminator().empty() &&
         llvm::all_of(fusion.getBody().front().without_terminator(),
                      [](Operation &op) { return isa<ir::KernelOp>(op); }) &&
         llvm::any_of(fusion->getUses(), isNewState);
}

std::optional<unsigned> splitUpdates(func::FuncOp func, unsigned buckets) {
  SmallVector<ir::KernelOp> updates;
  for (auto fusion : func.getBody().front().getOps<ir::KernelOp>())
    if (isUpdate(fusion))
      updates.push_back(fusion);
  if (updates.empty())
    return std::nullopt;
  unsigned added = 0;
  for (ir::KernelOp update : updates) {
    SmallVector<ir::KernelOp> parts = unpacked(update);
    llvm::stable_sort(parts, [](ir::KernelOp x, ir::KernelOp y) {
      Operation *a = lastDefinition(x), *b = lastDefinition(y);
      return b && (!a || a->isBeforeInBlock(b));
    });
    int64_t all = 0, done = 0;
    for (ir::KernelOp part : parts)
      all += elementsRead(part);
    unsigned made = 0;
    SmallVector<ir::KernelOp> bucket;
    for (ir::KernelOp part : parts) {
      bucket.push_back(part);
      done += elementsRead(part);
      if (done * buckets < all * (made + 1) && part != parts.back())
        continue;
      place(bucket);
      bucket.clear();
      ++made;
    }
    added += made - 1;
  }
  return added;
}

} // namespace sinter::passes::plan
