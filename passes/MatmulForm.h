//===- MatmulForm.h - contractions as strided matrix products ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The library's matrix product takes up to four batch dimensions, and one
// stride per operand for each of m, n and k. The fuse phase asks here which
// dot_generals have that form, the plan phase for the numbers.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_MATMULFORM_H
#define SINTER_PASSES_MATMULFORM_H

#include "ir/Dialect.h"

#include <optional>

namespace sinter::passes {

/// A loop over elements that are `stride` elements apart.
struct StridedLoop {
  int64_t size, stride;
};

/// A value as elements of the dense row-major bytes of another value.
struct StridedView {
  mlir::Value base;
  int64_t offset = 0; // of the first element, in elements
  /// For each dimension the loops that it consists of, outer ones first: none
  /// for size 1, one for most, several if a reshape joined dimensions that are
  /// not adjacent in memory. Strides are 0 where elements repeat.
  llvm::SmallVector<llvm::SmallVector<StridedLoop, 1>> dims;
  /// The ops that lead from the base to the value, in that order.
  llvm::SmallVector<mlir::Operation *> ops;
};

/// How far to look: not at all, as long as every dimension is one loop, or as
/// long as every dimension consists of loops.
enum class ViewDepth { none, oneLoop, loops };

/// Looks through transposes, broadcasts, slices and reshapes. Any other value
/// is its own base.
StridedView viewOf(mlir::Value value, ViewDepth depth);

/// The reverse: `view` is the position of the result of `op` (a reshape,
/// transpose or concat) in some bytes. Returns the position of its operand
/// `operand`, which occurs once. Nothing if dimensions do not divide.
std::optional<StridedView> operandView(mlir::Value operand, mlir::Operation &op,
                                       const StridedView &view);

/// C[b,m,n] = sum over k of A[b,m,k] * B[b,k,n]. Lists of strides have the
/// batch strides first, then those of m, k (a), k, n (b) and m, n (c), in
/// elements. The first elements are at aOffset and bOffset.
struct MatmulForm {
  mlir::Value a, b;
  int64_t aOffset = 0, bOffset = 0;
  llvm::SmallVector<int64_t> batch;
  int64_t m = 1, n = 1, k = 1;
  llvm::SmallVector<int64_t> aStrides, bStrides, cStrides;

  /// True when A and B are dense along their rows or their columns, and C along
  /// its rows. Libraries are fast for these.
  bool hasUnitStrides() const;
};

/// The form of `op`, if it has one. Operands are taken as views of their bases,
/// and the result is stored with the strides `resultStrides` (empty: dense
/// row-major). Free dimensions beyond one stride become batch dimensions along
/// which the other operand repeats.
std::optional<MatmulForm>
matmulForm(ir::DotGeneralOp op, ViewDepth lhs, ViewDepth rhs,
           llvm::ArrayRef<int64_t> resultStrides = {});

/// How far a library can look through the views of the operands of a product.
struct OperandViews {
  ViewDepth lhs = ViewDepth::none, rhs = ViewDepth::none;
};
/// `joinsColumns`: only so far that the columns of the result are one loop, as
/// a bias needs.
OperandViews operandViews(ir::DotGeneralOp dot, bool joinsColumns = false);

/// True when `op` on dense operands is one library call; if not, it needs
/// transposes before it.
bool isMatmulExpressible(ir::DotGeneralOp op);

} // namespace sinter::passes

#endif // SINTER_PASSES_MATMULFORM_H
