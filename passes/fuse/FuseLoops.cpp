//===- FuseLoops.cpp - ops that become one kernel -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Puts every op that is neither a library call nor free into a `sinter.kernel`.
// Clustering divides the ops of a function among clusters; each becomes one
// kernel. FuseEpilogues runs before, and takes the epilogues of contractions.
// FuseOutputs runs after, and merges the kernels that end a program.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/Clustering.h"
#include "passes/fuse/Fusion.h"
#include "passes/fuse/KeptStates.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_FUSELOOPS
#include "passes/Passes.h.inc"

LogicalResult Clustering::build() {
  Block &block = func.getBody().front();
  Operation *end = block.getTerminator();
  SmallVector<Operation *> order;
  for (Operation &op : block.without_terminator())
    order.push_back(&op);
  llvm::SmallPtrSet<Operation *, 32> placed;
  // The nodes that wait for their operands: an op, or the first op of a
  // cluster.
  llvm::SmallPtrSet<Operation *, 32> waiting;
  OpBuilder builder(end);

  auto place = [&](Operation *node) {
    unsigned number = numberOf(node);
    if (number == kNone) {
      node->moveBefore(end);
      placed.insert(node);
      return;
    }
    Cluster &cluster = clusters[number];
    SmallVector<Value> results;
    for (auto &[root, view] : cluster.roots) {
      results.push_back(root);
      cluster.domain.views.push_back(view);
    }
    ir::DomainAttr domain;
    if (ir::hasDomain(cluster.kind))
      domain = cluster.domain.toAttr(func.getContext());
    SmallVector<Operation *> members(cluster.ops.begin(), cluster.ops.end());
    // A copy for a cluster has the position of its first user.
    llvm::sort(members,
               [&](Operation *a, Operation *b) { return isBefore(a, b); });
    builder.setInsertionPoint(end);
    placed.insert(buildKernel(builder, cluster.kind, members, results, domain));
    placed.insert(members.begin(), members.end());
  };

  // Depth-first over operands; a cluster is one node.
  for (Operation *start : order) {
    SmallVector<Operation *> stack{start};
    while (!stack.empty()) {
      Operation *node = stack.back();
      if (placed.contains(node)) {
        stack.pop_back();
        continue;
      }
      bool ready = true;
      unsigned number = numberOf(node);
      Operation *first = number == kNone ? node : clusters[number].ops.front();
      auto need = [&](Operation *op) {
        for (Value operand : op->getOperands())
          if (Operation *def = operand.getDefiningOp();
              def && def->getBlock() == &block && !placed.contains(def) &&
              (number == kNone || numberOf(def) != number)) {
            stack.push_back(def);
            ready = false;
          }
      };
      if (number == kNone)
        need(node);
      else
        llvm::for_each(clusters[number].ops, need);
      if (!ready) {
        // A node is visited again only when all of its operands are placed.
        if (!waiting.insert(first).second)
          return emitError(node->getLoc(), "kernels depend on each other");
        continue;
      }
      stack.pop_back();
      place(node);
    }
  }
  // Members stay where they are until all kernels are built, so that
  // `positions` is valid.
  for (Operation *op : llvm::reverse(order))
    if (clusterOf.count(op))
      op->erase();
  return success();
}

namespace {

struct FuseLoopsPass : impl::FuseLoopsBase<FuseLoopsPass> {
  void runOnOperation() override {
    readKeptStates(getOperation());
    Clustering clustering(getOperation());
    clustering.run();
    clustering.explain();
    if (failed(clustering.build()))
      return signalPassFailure();
    // Kernels and library calls have copies of constants; the originals may
    // have no user left.
    IRRewriter rewriter(&getContext());
    (void)runRegionDCE(rewriter, getOperation()->getRegions());
  }
};

} // namespace
} // namespace sinter::passes
