//===- RowDependence.h - which rows of a batch a value reads ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The rows of a batch are the leading dimension of the inputs. Every value of a
// function either does not depend on the batch, or has its rows along one
// dimension, each computed from the same row of the inputs and from nothing
// else of them, or is mixed: computed from several rows, or in a way that is
// not known. Ops answer by RowsOpInterface; one without it mixes. What is
// computed from a slice within one row is followed, too: a concatenation of
// the results of all rows, in order, has rows again.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_ROWDEPENDENCE_H
#define SINTER_PASSES_ROWDEPENDENCE_H

#include "ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::passes {

using ir::RowDim;

/// The values of a function with one block, as it is when this is made.
class RowDependence {
public:
  /// Rows are those of the inputs whose leading dimension is `batch`. With
  /// fewer than two there are none to tell apart: nothing depends on them.
  RowDependence(mlir::func::FuncOp function, int64_t batch);

  /// Where `value` has its rows; nothing where it does not depend on the batch
  /// or is mixed.
  std::optional<RowDim> dimOf(mlir::Value value) const;
  /// The first op on the way to `value` that mixes rows; null where none does.
  mlir::Operation *mixedBy(mlir::Value value) const;
  /// Whether `value` is the same for every batch.
  bool isSame(mlir::Value value) const {
    return !dimOf(value) && !mixedBy(value);
  }

private:
  bool followOneRow(mlir::Operation &op, int64_t batch);
  std::optional<int64_t> onlyRowOf(mlir::Operation &op) const;

  llvm::DenseMap<mlir::Value, RowDim> rows;
  llvm::DenseMap<mlir::Value, mlir::Operation *> mixed;
  /// The row of a value that is computed from one alone; `mixed` has it too.
  llvm::DenseMap<mlir::Value, int64_t> onlyRow;
};

} // namespace sinter::passes

#endif // SINTER_PASSES_ROWDEPENDENCE_H
