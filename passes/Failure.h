//===- Failure.h - what kind of failure ends a phase ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A pass that fails says in one error what is wrong. Where tools end with
// another code than that of the phase, it also leaves the kind in the module.
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
/// What was asked for contradicts itself or the model.
inline constexpr llvm::StringLiteral kUsageFailure = "usage";
/// What was asked for needs more memory than there may be.
inline constexpr llvm::StringLiteral kMemoryFailure = "memory";

/// Where errors about a whole module or function are: what these are called
/// after is the graph, which is no node.
inline mlir::Location locationOfGraph(mlir::Operation *graph) {
  mlir::Location loc = graph->getLoc();
  if (mlir::isa<mlir::NameLoc>(loc))
    return mlir::UnknownLoc::get(graph->getContext());
  return loc;
}
inline mlir::InFlightDiagnostic emitModuleError(mlir::ModuleOp module) {
  return mlir::emitError(locationOfGraph(module));
}

/// One of that kind.
inline mlir::InFlightDiagnostic emitFailure(mlir::ModuleOp module,
                                            llvm::StringRef kind) {
  module->setAttr(kFailureAttr,
                  mlir::StringAttr::get(module.getContext(), kind));
  return emitModuleError(module);
}

} // namespace sinter::passes

#endif // SINTER_PASSES_FAILURE_H
