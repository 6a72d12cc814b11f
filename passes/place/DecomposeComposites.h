//===- DecomposeComposites.h - composites into the compact set --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Called by the train, place, precision and fuse phases.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLACE_DECOMPOSECOMPOSITES_H
#define SINTER_PASSES_PLACE_DECOMPOSECOMPOSITES_H

#include "ir/Dialect.h"

namespace sinter::passes {

/// Replaces the composites of `function` for which `keeps` is false by their
/// decompositions, and the composites in these likewise. Returns how many.
int64_t decomposeComposites(mlir::func::FuncOp function,
                            llvm::function_ref<bool(mlir::Operation *)> keeps);

/// Replaces every stop_gradient by its operand. Legal once nothing is
/// differentiated any more.
void dropStopGradients(mlir::func::FuncOp function);

} // namespace sinter::passes

#endif // SINTER_PASSES_PLACE_DECOMPOSECOMPOSITES_H
