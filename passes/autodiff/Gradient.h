//===- Gradient.h - reverse-mode differentiation ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Builds the cotangents of a program backwards from a loss. Called by the train
// phase; the rules are in one file per op family beside this one.
//
// What must stay true: only ops on a path from a `wrt` value to the loss are
// differentiated. Cotangents are summed in reverse program order, so the same
// program gives the same gradient program.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_AUTODIFF_GRADIENT_H
#define SINTER_PASSES_AUTODIFF_GRADIENT_H

#include "mlir/IR/Builders.h"

namespace sinter::passes {

/// How differentiation treats an op.
enum class GradientRuleKind {
  Missing,    // nothing is known: an error if a gradient must pass through it
  Rule,       // has a rule
  Decomposed, // a composite that is differentiated through its decomposition
  Zero, // its derivative is 0 wherever it exists (floor, sign, stop_gradient)
  NotDifferentiable, // explicitly: an error if a gradient must pass through it
};
GradientRuleKind gradientRuleKind(mlir::OperationName name);

/// Builds the gradients of `loss` by each of `wrt` at the insertion point of
/// `builder`, which must lie after the definition of `loss`, in the same block.
/// `loss` is a float; `seed`, of its type, is its cotangent (null: ones). A
/// gradient is null if the loss does not depend on the value.
///
/// Composites on the path that have no rule are replaced by their
/// decompositions in place: a caller must not hold their results.
///
/// Fails if a gradient is missing, with one error per kind of op and reason, at
/// the locations of all ONNX nodes of these ops.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
gradients(mlir::OpBuilder &builder, mlir::Value loss,
          llvm::ArrayRef<mlir::Value> wrt, mlir::Value seed = {});

} // namespace sinter::passes

#endif // SINTER_PASSES_AUTODIFF_GRADIENT_H
