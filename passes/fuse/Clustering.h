//===- Clustering.h - which ops share a kernel ------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_CLUSTERING_H
#define SINTER_PASSES_FUSE_CLUSTERING_H

#include "passes/fuse/Cluster.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::passes {

/// Divides the generated ops of a function among clusters, in two steps.
///
/// 1. From results to inputs, an op joins the cluster of its users when each of
///    its elements is then computed about once and its reduction, if it is one,
///    runs over the cluster's loops; it becomes a further result of the cluster
///    when others use it too and no cycle arises. It starts a cluster of its
///    own where it lies better with a reduction that it uses and that the
///    users' loops cannot hold.
/// 2. Clusters that run over the same loops and use the same elements become
///    one, when one uses the other's results, or when both are reductions.
class Clustering {
public:
  explicit Clustering(mlir::func::FuncOp func) : func(func) {}

  void run();

  /// Replaces the ops by one fusion per cluster, in an order in which
  /// definitions come before uses. Legal once, after `run`. Fails, with an
  /// error, when clusters depend on each other: `run` has a defect then.
  mlir::LogicalResult build();

private:
  static bool isGenerated(mlir::Operation *op);
  void copyFreeOpsToUsers();

  // Step 1.
  void assign(mlir::Operation *op);
  mlir::Operation *copyForCluster(mlir::Operation *op, unsigned number);
  static bool mayJoinUpdate(mlir::Operation *op, const Cluster &cluster,
                            bool asRoot);
  void join(mlir::Operation *op, const std::optional<IndexVector> &index,
            unsigned number, bool asRoot);
  void setSpan(unsigned number, std::pair<unsigned, unsigned> span);
  void start(mlir::Operation *op);
  bool liesBetterWithReduction(mlir::Operation *op, const IndexVector &index,
                               const Cluster &cluster, bool isStored) const;
  bool joiningMakesCycle(mlir::Operation *op, unsigned number) const;

  // Step 2.
  void mergeAll();
  bool tryMerge(unsigned number, unsigned other);
  bool mergingMakesCycle(unsigned number, unsigned other) const;
  bool pays(const Cluster &a, const Cluster &b) const;

  static constexpr unsigned kNone = ~0u;
  unsigned numberOf(mlir::Operation *op) const {
    auto it = clusterOf.find(op);
    return it == clusterOf.end() ? kNone : it->second;
  }
  bool reaches(llvm::ArrayRef<mlir::Operation *> from,
               llvm::function_ref<bool(mlir::Operation *)> isTarget,
               unsigned last) const;

  mlir::func::FuncOp func;
  std::vector<Cluster> clusters; // merged ones stay, without ops
  llvm::DenseMap<mlir::Operation *, unsigned> clusterOf;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  llvm::DenseMap<unsigned, std::pair<unsigned, unsigned>> spans;
  /// By position: where the clusters that begin there end, the latest; 0 if
  /// none does. Where clusters began before they grew counts too.
  std::vector<unsigned> ends;
};

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_CLUSTERING_H
