//===- FormVerifiers.h - what holds after each phase ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The phase table (Phases.cpp) names these functions. Each checks over a whole
// module what holds after one phase, and reports the first few violations as
// errors.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_CHECKS_FORMVERIFIERS_H
#define SINTER_COMPILER_CHECKS_FORMVERIFIERS_H

#include "compiler/Phases.h"

namespace sinter::compiler {

/// Static shapes; only functions, state and sinter ops; every op but constants
/// carries the name of a node of the model.
mlir::LogicalResult verifyImported(mlir::ModuleOp module,
                                   const PhaseContext &context);
/// Every op has a user: what can be dropped is gone.
mlir::LogicalResult verifySimplified(mlir::ModuleOp module,
                                     const PhaseContext &context);
/// With --train: @step and @eval and no @main; otherwise @main.
mlir::LogicalResult verifyTrained(mlir::ModuleOp module,
                                  const PhaseContext &context);
/// No composite is left that the op's target does not keep.
mlir::LogicalResult verifyPlaced(mlir::ModuleOp module,
                                 const PhaseContext &context);
/// No contraction multiplies 16-bit floats by float32.
mlir::LogicalResult verifyPrecision(mlir::ModuleOp module,
                                    const PhaseContext &context);
/// A product that the target calls a library for is one that a library can read
/// where its operands lie.
mlir::LogicalResult verifyLayout(mlir::ModuleOp module,
                                 const PhaseContext &context);
/// Sums over replicas exist only with --replicas.
mlir::LogicalResult verifyDistributed(mlir::ModuleOp module,
                                      const PhaseContext &context);
/// Outside of fusions only constants and ops that need no kernel are left.
mlir::LogicalResult verifyFused(mlir::ModuleOp module,
                                const PhaseContext &context);
/// Only the exec dialect and the bodies of its kernels are left.
mlir::LogicalResult verifyPlanned(mlir::ModuleOp module,
                                  const PhaseContext &context);

/// The node names of a location, in order, without duplicates.
llvm::SmallVector<llvm::StringRef> nodeNames(mlir::Location location);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_CHECKS_FORMVERIFIERS_H
