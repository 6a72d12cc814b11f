//===- Failure.h - the kind of failure that ends a phase --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A pass that fails reports what is wrong in one error. If tools must exit with
// another code than that of the phase, it also stores the kind of failure in
// the module.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FAILURE_H
#define SINTER_PASSES_FAILURE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace sinter::passes {

inline constexpr llvm::StringLiteral kFailureAttr = "sinter.failure";
/// Something in the model cannot be compiled, whatever the options are.
inline constexpr llvm::StringLiteral kUnsupportedFailure = "unsupported";
/// The request contradicts itself or the model.
inline constexpr llvm::StringLiteral kUsageFailure = "usage";
/// The request needs more memory than is allowed.
inline constexpr llvm::StringLiteral kMemoryFailure = "memory";
/// A program that the compiler starts does not work on this machine.
inline constexpr llvm::StringLiteral kToolFailure = "tool";

/// The location of errors about a whole module or function. Its name is that of
/// the graph, which is not a node.
inline mlir::Location locationOfGraph(mlir::Operation *graph) {
  mlir::Location loc = graph->getLoc();
  if (mlir::isa<mlir::NameLoc>(loc))
    return mlir::UnknownLoc::get(graph->getContext());
  return loc;
}
inline mlir::InFlightDiagnostic emitModuleError(mlir::ModuleOp module) {
  return mlir::emitError(locationOfGraph(module));
}

/// Emits an error and stores its kind.
inline mlir::InFlightDiagnostic emitFailure(mlir::ModuleOp module,
                                            llvm::StringRef kind) {
  module->setAttr(kFailureAttr,
                  mlir::StringAttr::get(module.getContext(), kind));
  return emitModuleError(module);
}

} // namespace sinter::passes

#endif // SINTER_PASSES_FAILURE_H
