//===- Cluster.h - ops that become one generated kernel ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Decides from the loops alone what one kernel may hold: which op may join,
// which reduction runs over the loops, which value is computed whole and once.
// Clustering.cpp decides which of several kernels an op joins.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_CLUSTER_H
#define SINTER_PASSES_FUSE_CLUSTER_H

#include "ir/IndexMap.h"
#include "ir/Kernel.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <string>

namespace sinter::passes {

using ir::Index;
using ir::IndexVector;

/// True for ops whose elements are computed from their indices, constants and
/// scalars by a few integer ops. It is cheaper to compute them for each user
/// than to store them. The random numbers of all dropouts begin with such ops.
bool isFreeOfMemory(mlir::Operation *op);

struct Cluster {
  /// More operands than this make a kernel spill.
  static constexpr unsigned kMaxOperands = 48;

  ir::KernelKind kind = ir::KernelKind::loop;
  llvm::SetVector<mlir::Operation *> ops; // users before producers
  ir::Domain domain;                      // views are kept in `roots`
  llvm::MapVector<mlir::Value, IndexVector> roots;
  /// The one index of each value that has one; absent from it: unknown.
  llvm::DenseMap<mlir::Value, IndexVector> indices;

  Cluster() = default;
  /// Creates the cluster whose results are those of `op`, over loops of its
  /// own.
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

  /// True when `op`, read at `index` if that is known, may become a member;
  /// with `asRoot`, also a result of the kernel.
  bool mayTake(mlir::Operation *op, const std::optional<IndexVector> &index,
               bool asRoot) const;

  /// Makes `op` a member. Only legal after mayTake.
  void take(mlir::Operation *op, const std::optional<IndexVector> &index,
            bool asRoot);

  /// The number of different values that the kernel would read and write if
  /// `others` were members, too.
  unsigned numOperands(llvm::ArrayRef<mlir::Operation *> others = {}) const;
};

/// Merges two clusters that run over the same loops and use each shared result
/// in the iteration that computes it; nullopt if they do not, and then `why`
/// says what is in the way. The loops are renamed to those of `a`. The roots
/// are those of both.
std::optional<Cluster> mergeClusters(const Cluster &a, const Cluster &b,
                                     std::string *why = nullptr);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_CLUSTER_H
