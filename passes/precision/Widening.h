//===- Widening.h - ops of 16-bit floats as ops of float32 ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// All arithmetic on 16-bit floats is float32, and the result of an op is
// rounded once. To ensure that, composites and ops that accumulate in their
// result become float32 ops between casts. Called wherever composites are
// decomposed (autodiff, place), by PlaceOps, and by SplitReductions.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PRECISION_WIDENING_H
#define SINTER_PASSES_PRECISION_WIDENING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::passes {

/// Builds a copy of `op` before it, in which bf16 and f16 are f32. `results`
/// are the results of the copy, cast to the types of those of `op`. Builds
/// nothing and returns null if `op` has neither type.
mlir::Operation *buildWidened(mlir::Operation *op,
                              llvm::SmallVectorImpl<mlir::Value> &results);

/// Widens the ops that sum or multiply several updates in one element.
void widenAccumulations(mlir::func::FuncOp function);

} // namespace sinter::passes

#endif // SINTER_PASSES_PRECISION_WIDENING_H
