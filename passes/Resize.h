//===- Resize.h - ops on another number of rows -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Rows that pass through an op (RowsOpInterface) may be fewer or more: the op
// does the same to each. They may lie along any dimension.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_RESIZE_H
#define SINTER_PASSES_RESIZE_H

#include "ir/Dialect.h"

#include <optional>

namespace sinter::passes {

/// True for ops of one operand, or whose other operands have no rows, whose
/// attributes do not depend on the number of rows. `copyResized` changes the
/// limits of a slice.
bool mapsOneOperand(mlir::Operation *op);

/// Copies `op` with `operands`, at the insertion point. The results have `size`
/// elements along `dim`; without `dim` their shapes stay. `op` is elementwise,
/// maps one operand, or is an `iota` along another dimension, a contraction or
/// a constant that is a splat.
mlir::Operation *copyResized(mlir::OpBuilder &builder, mlir::Operation *op,
                             mlir::ValueRange operands,
                             std::optional<int64_t> dim, int64_t size);

} // namespace sinter::passes

#endif // SINTER_PASSES_RESIZE_H
