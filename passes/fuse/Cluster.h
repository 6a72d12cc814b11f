//===- Cluster.h - ops that become one generated kernel ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What one kernel may hold, decided from the loops alone: which op may join,
// which reduction runs over them, which value is computed whole and once.
// Which of several kernels an op joins is decided in FuseLoops.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_CLUSTER_H
#define SINTER_PASSES_FUSE_CLUSTER_H

#include "ir/IndexMap.h"
#include "ir/Kernel.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace sinter::passes {

using ir::Index;
using ir::IndexVector;

/// True for ops whose elements are computed from their numbers, constants and
/// scalars by a few ops of integers: cheaper to compute for each user than to
/// keep. The random numbers of all dropouts begin with such.
bool isFreeOfMemory(mlir::Operation *op);

struct Cluster {
  ir::KernelKind kind = ir::KernelKind::loop;
  llvm::SetVector<mlir::Operation *> ops; // users before producers
  ir::Domain domain;                      // views are kept in `roots`
  llvm::MapVector<mlir::Value, IndexVector> roots;
  /// The one index of each value that has one; absent from it: unknown.
  llvm::DenseMap<mlir::Value, IndexVector> indices;

  Cluster() = default;
  /// The cluster whose results are those of `op`, over loops of its own.
  explicit Cluster(mlir::Operation *op);

  bool hasReduction() const { return !domain.reduced.empty(); }

  /// The one index at which the members read `value`, if there is one.
  std::optional<IndexVector> indexOf(mlir::Value value) const;

  /// True when `index` reaches each element once: distinct loops, all of them,
  /// or all that are not reduced.
  bool covers(llvm::ArrayRef<Index> index) const;

  /// True when a tensor of `type` read at `index` is computed whole and once by
  /// the loops.
  bool isResult(llvm::ArrayRef<Index> index, mlir::RankedTensorType type) const;

  /// Fits the reduction `op`, read at `index`, into the loops: over those that
  /// its result does not have, or over new ones. Changes nothing when it fails.
  bool fitReduction(mlir::Operation *op, llvm::ArrayRef<Index> index);

  /// True when `op`, read at `index` where that is known, may become a member,
  /// and a result of the kernel `asRoot`.
  bool mayTake(mlir::Operation *op, const std::optional<IndexVector> &index,
               bool asRoot) const;

  /// Makes `op` a member. Legal: mayTake.
  void take(mlir::Operation *op, const std::optional<IndexVector> &index,
            bool asRoot);

  /// The number of different values that the kernel would read and write with
  /// `others` as further members.
  unsigned numOperands(llvm::ArrayRef<mlir::Operation *> others = {}) const;
};

/// The two clusters as one, the loops renamed to those of the first, when they
/// run over the same loops and an element that both use is used in the same
/// iteration; nullopt otherwise. Roots are those of both.
std::optional<Cluster> mergeClusters(const Cluster &a, const Cluster &b);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_CLUSTER_H
