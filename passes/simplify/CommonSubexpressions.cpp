//===- CommonSubexpressions.cpp - merge equal ops -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/simplify/CommonSubexpressions.h"

#include "ir/Rewrites.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// Equality of ops, ignoring their locations.
struct EqualOps : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::directHashValue,
        OperationEquivalence::ignoreHashValue,
        OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    auto *left = const_cast<Operation *>(a),
         *right = const_cast<Operation *>(b);
    if (left == right)
      return true;
    if (left == getTombstoneKey() || left == getEmptyKey() ||
        right == getTombstoneKey() || right == getEmptyKey())
      return false;
    return OperationEquivalence::isEquivalentTo(
        left, right, OperationEquivalence::IgnoreLocations);
  }
};

} // namespace

Location fuseLocations(Location a, Location b) {
  if (a == b || isa<UnknownLoc>(b))
    return a;
  if (isa<UnknownLoc>(a))
    return b;
  return FusedLoc::get(a.getContext(), {a, b});
}

int64_t eliminateCommonSubexpressions(Block &block) {
  llvm::DenseSet<Operation *, EqualOps> seen;
  int64_t count = 0;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto scan = dyn_cast<ScanOp>(op))
      count += eliminateCommonSubexpressions(scan.getBody().front());
    if (op.getNumRegions() != 0 || op.getNumResults() == 0 ||
        !isMemoryEffectFree(&op))
      continue;
    auto [found, isNew] = seen.insert(&op);
    if (isNew)
      continue;
    Rewrite rewrite("merge equal ops", {&op, *found});
    rewrite.inserted(*found);
    if (!isa<ConstantOp>(op))
      (*found)->setLoc(fuseLocations((*found)->getLoc(), op.getLoc()));
    op.replaceAllUsesWith(*found);
    op.erase();
    ++count;
  }
  return count;
}

} // namespace sinter::passes
