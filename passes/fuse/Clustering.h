//===- Clustering.h - which ops become one kernel ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_CLUSTERING_H
#define SINTER_PASSES_FUSE_CLUSTERING_H

#include "passes/fuse/Cluster.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::passes {

/// Divides the generated ops of a function among clusters, in three steps.
///
/// 1. From results to inputs, an op joins the cluster of its users if each of
///    its elements is then computed about once. A reduction must run over the
///    loops of the cluster. If the op has other users, too, it becomes a result
///    of the cluster, unless that makes a cycle. The op starts a cluster of its
///    own if it belongs with a reduction that it uses and that does not fit the
///    loops of its users (belongsWithReduction).
/// 2. Clusters that run over the same loops and use the same elements are
///    merged if one uses a result of the other, or if both are reductions.
/// 3. A result that a cluster computes by a few cheap ops from 16-bit floats is
///    computed again by the other clusters that use it.
class Clustering {
public:
  explicit Clustering(mlir::func::FuncOp func) : func(func) {}

  void run();

  /// Reports why clusters that use a value of each other, or a common one, are
  /// several kernels. Call it after `run`.
  void explain() const;

  /// Replaces the ops by one kernel per cluster, with definitions before uses.
  /// Call it once, after `run`. Fails with an error if clusters depend on each
  /// other, which is a defect of `run`.
  mlir::LogicalResult build();

private:
  static bool isGenerated(mlir::Operation *op);
  void copyFreeOpsToUsers();

  // Step 1.
  void assign(mlir::Operation *op);
  bool shallJoin(mlir::Operation *op, unsigned number) const;
  mlir::Operation *copyForCluster(mlir::Operation *op, unsigned number);
  bool mayJoinUpdate(mlir::Operation *op, const Cluster &cluster,
                     bool asRoot) const;
  void join(mlir::Operation *op, const std::optional<IndexVector> &index,
            unsigned number, bool asRoot);
  void setSpan(unsigned number, std::pair<unsigned, unsigned> span);
  void start(mlir::Operation *op);
  bool belongsWithReduction(mlir::Operation *op, const IndexVector &index,
                            const Cluster &cluster, bool isStored) const;
  bool joiningMakesCycle(mlir::Operation *op, unsigned number) const;

  // Step 2.
  using Sharers =
      llvm::MapVector<mlir::Value, llvm::SmallSetVector<unsigned, 4>>;
  Sharers sharers() const;
  void mergeAll();
  bool tryMerge(unsigned number, unsigned other);
  std::string whyApart(unsigned number, unsigned other) const;
  bool mergingMakesCycle(unsigned number, unsigned other) const;
  bool pays(const Cluster &a, const Cluster &b) const;

  // Step 3.
  void copyCheapValues();
  bool isAvailable(mlir::Value value) const;
  bool copyInto(mlir::Operation *op, unsigned number);
  void dropRoot(mlir::Value root, unsigned number);

  static constexpr unsigned kNone = ~0u;
  /// The most users of one value that are tried pairwise.
  static constexpr unsigned kMaxUsers = 12;
  unsigned numberOf(mlir::Operation *op) const {
    auto it = clusterOf.find(op);
    return it == clusterOf.end() ? kNone : it->second;
  }
  bool isBefore(mlir::Operation *a, mlir::Operation *b) {
    unsigned ofA = positions[a], ofB = positions[b];
    return ofA == ofB ? a->isBeforeInBlock(b) : ofA < ofB;
  }
  bool reaches(llvm::ArrayRef<mlir::Operation *> from,
               llvm::function_ref<bool(mlir::Operation *)> isTarget,
               unsigned last) const;

  mlir::func::FuncOp func;
  std::vector<Cluster> clusters; // merged ones stay as empty entries
  llvm::DenseMap<mlir::Operation *, unsigned> clusterOf;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  llvm::DenseMap<unsigned, std::pair<unsigned, unsigned>> spans;
  /// For each position, the latest end of the clusters that begin there; 0 if
  /// none does. Positions where clusters began before they grew count, too.
  std::vector<unsigned> ends;
};

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_CLUSTERING_H
