//===- CommonSubexpressions.h - merge equal ops -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Unlike with MLIR's own pass, the op that remains carries the node names of
// all ops that it replaces.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_SIMPLIFY_COMMONSUBEXPRESSIONS_H
#define SINTER_PASSES_SIMPLIFY_COMMONSUBEXPRESSIONS_H

#include "ir/Dialect.h"

namespace sinter::passes {

/// A location with the node names of both locations, each once. An unknown
/// location is left out.
mlir::Location fuseLocations(mlir::Location a, mlir::Location b);

/// Replaces every pure op without regions by an equal op before it in `block`,
/// and does the same in the bodies of scans. Returns the number of replaced
/// ops.
int64_t eliminateCommonSubexpressions(mlir::Block &block);

} // namespace sinter::passes

#endif // SINTER_PASSES_SIMPLIFY_COMMONSUBEXPRESSIONS_H
