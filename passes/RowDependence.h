//===- RowDependence.h - which rows of a batch a value reads ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The rows of a batch are the leading dimension of the inputs. A value of a
// function either does not depend on the batch; or has its rows along one
// dimension, each computed from the same row of the inputs and from no other;
// or is mixed: computed from several rows, or in a way that is not known. Ops
// answer by RowsOpInterface; an op without it mixes. Values that are computed
// from a slice within one row are followed, too: if the results of all rows are
// concatenated in order, the result has rows again. Scans are followed through
// their bodies.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_ROWDEPENDENCE_H
#define SINTER_PASSES_ROWDEPENDENCE_H

#include "ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::passes {

using ir::RowDim;

/// The values of a function with one block, in the state in which it is when
/// this object is made.
class RowDependence {
public:
  /// Rows are those of the inputs whose leading dimension is `batch`. With
  /// fewer than two rows, nothing depends on them.
  RowDependence(mlir::func::FuncOp function, int64_t batch);

  /// The dimension along which `value` has its rows; nothing if it does not
  /// depend on the batch or is mixed.
  std::optional<RowDim> dimOf(mlir::Value value) const;
  /// The first op on the way to `value` that mixes rows; null if none does.
  mlir::Operation *mixedBy(mlir::Value value) const;
  /// True when `value` is the same for every batch.
  bool isSame(mlir::Value value) const {
    return !dimOf(value) && !mixedBy(value);
  }

private:
  void follow(mlir::Block &block, int64_t batch);
  void followScan(ir::ScanOp scan, int64_t batch);
  bool followOneRow(mlir::Operation &op, int64_t batch);
  std::optional<int64_t> onlyRowOf(mlir::Operation &op) const;

  llvm::DenseMap<mlir::Value, RowDim> rows;
  llvm::DenseMap<mlir::Value, mlir::Operation *> mixed;
  /// The row of each value that is computed from a single one; it is in
  /// `mixed`, too.
  llvm::DenseMap<mlir::Value, int64_t> onlyRow;
};

} // namespace sinter::passes

#endif // SINTER_PASSES_ROWDEPENDENCE_H
