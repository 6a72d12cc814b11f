//===- MatmulForm.h - contractions as strided matrix products ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The library's matrix product takes up to four batch dimensions and one stride
// per operand for each of m, n and k. The fuse phase asks here which
// dot_generals are of that form, the plan phase for the numbers.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_MATMULFORM_H
#define SINTER_PASSES_MATMULFORM_H

#include "ir/Dialect.h"

#include <optional>

namespace sinter::passes {

/// A value as elements of another value's dense row-major bytes; strides in
/// elements, 0 along dimensions that repeat.
struct StridedView {
  mlir::Value base;
  llvm::SmallVector<int64_t> shape, strides;
};

/// Looks through transposes, broadcasts and reshapes as far as strides can
/// express them. Not beyond: the base of any other value is itself.
StridedView viewOf(mlir::Value value);

/// C[b,m,n] = sum over k of A[b,m,k] * B[b,k,n]. Stride lists have the batch
/// strides first, then those of m, k (a), k, n (b) and m, n (c), in elements.
struct MatmulForm {
  mlir::Value a, b;
  llvm::SmallVector<int64_t> batch;
  int64_t m = 1, n = 1, k = 1;
  llvm::SmallVector<int64_t> aStrides, bStrides, cStrides;
};

/// The form of `op`, if it has one, when its result lies with the strides
/// `resultStrides` (empty: dense row-major). With `throughViews` its operands
/// are the bases of their views, otherwise they are dense as they are. Free
/// dimensions beyond one stride become batch dimensions along which the other
/// operand repeats.
std::optional<MatmulForm>
matmulForm(ir::DotGeneralOp op, bool throughViews,
           llvm::ArrayRef<int64_t> resultStrides = {});

/// Whether `op` on dense operands is one library call; if not, transposes must
/// come before it.
bool isMatmulExpressible(ir::DotGeneralOp op);

} // namespace sinter::passes

#endif // SINTER_PASSES_MATMULFORM_H
