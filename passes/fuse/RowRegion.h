//===- RowRegion.h - what is computed row by row ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The logits of a language model are much larger than what they are computed
// from and what is computed from them. The row region of such a value consists
// of the product that computes it, its readers, and the readers of their large
// results. Every result of the region either has rows, each of which depends on
// one row of the product; or it is a sum over rows. So the region can be
// computed in chunks of rows (ChunkRows.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_ROWREGION_H
#define SINTER_PASSES_FUSE_ROWREGION_H

#include "ir/Dialect.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <string>

namespace sinter::passes {

class RowRegion {
public:
  /// The region around the result of `root`, whose rows are along dimension
  /// `dim`. If there is none, nothing, and the reason in `why`.
  static std::optional<RowRegion> around(ir::DotGeneralOp root, int64_t dim,
                                         std::string &why);

  ir::DotGeneralOp product() const { return root; }
  /// In the order of the block.
  llvm::ArrayRef<mlir::Operation *> operations() const {
    return ops.getArrayRef();
  }
  int64_t numRows() const { return size; }
  /// Where `value`, an operand or a result of the region, has its rows; nothing
  /// if it is needed as a whole or is a sum over rows. `outer` is 1.
  std::optional<ir::RowDim> rowsOf(mlir::Value value) const;
  bool isSum(mlir::Value value) const { return sums.contains(value); }

  /// Operands that are computed outside and have rows.
  llvm::SmallVector<mlir::Value> rowOperands() const;
  /// Operands of products that are computed outside and needed as a whole.
  llvm::SmallVector<mlir::Value> wholeFactors() const;
  /// Results that are read outside.
  llvm::SmallVector<mlir::Value> results() const;

private:
  RowRegion(ir::DotGeneralOp root, int64_t dim);

  mlir::LogicalResult follow(std::string &why);
  mlir::LogicalResult follow(mlir::Operation *op, std::string &why);
  mlir::LogicalResult followProduct(ir::DotGeneralOp dot, std::string &why);
  void followBack(mlir::Operation *op);
  mlir::LogicalResult place(mlir::Value value, const ir::RowDim &where,
                            std::string &why);
  mlir::FailureOr<bool> addReaders(std::string &why);
  bool addPaths();
  bool addMakers();
  bool isLarge(mlir::Value value) const;
  bool isInside(mlir::Value value) const {
    return ops.contains(value.getDefiningOp());
  }

  ir::DotGeneralOp root;
  int64_t size;
  ir::RowDim rowsOfRoot;
  llvm::SetVector<mlir::Operation *> ops;
  llvm::MapVector<mlir::Value, ir::RowDim> rows;
  llvm::SetVector<mlir::Value> sums, wholes;
  /// Members that do not depend on the root: they make large values of small
  /// ones, and each chunk makes its own.
  llvm::DenseSet<mlir::Operation *> makers;
};

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_ROWREGION_H
