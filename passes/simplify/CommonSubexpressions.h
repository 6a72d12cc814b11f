//===- CommonSubexpressions.h - equal ops once ------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Unlike the upstream pass, what remains carries the node names of all that it
// replaces.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_SIMPLIFY_COMMONSUBEXPRESSIONS_H
#define SINTER_PASSES_SIMPLIFY_COMMONSUBEXPRESSIONS_H

#include "ir/Dialect.h"

namespace sinter::passes {

/// A location with the node names of both, each once; unknown locations are
/// left out.
mlir::Location fuseLocations(mlir::Location a, mlir::Location b);

/// Replaces every pure op without regions by an equal one before it in its
/// block. Returns how many.
int64_t eliminateCommonSubexpressions(mlir::Block &block);

} // namespace sinter::passes

#endif // SINTER_PASSES_SIMPLIFY_COMMONSUBEXPRESSIONS_H
