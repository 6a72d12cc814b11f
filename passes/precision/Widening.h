//===- Widening.h - ops of 16-bit floats as ops of float32 ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// All arithmetic on 16-bit floats is float32, and the result of an op is
// rounded once. Ops that are made of several, or that add up in their result,
// become ops of float32 between casts for that.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PRECISION_WIDENING_H
#define SINTER_PASSES_PRECISION_WIDENING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::passes {

/// A copy of `op`, before it, in which bf16 and f16 are f32; `results` are its
/// results with the types of `op`. Null, and nothing is built, when `op` has
/// neither.
mlir::Operation *buildWidened(mlir::Operation *op,
                              llvm::SmallVectorImpl<mlir::Value> &results);

/// Widens the ops that add or multiply what several updates bring to one
/// element.
void widenAccumulations(mlir::func::FuncOp function);

} // namespace sinter::passes

#endif // SINTER_PASSES_PRECISION_WIDENING_H
