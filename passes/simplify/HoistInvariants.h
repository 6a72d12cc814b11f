//===- HoistInvariants.h - what each trip of a scan repeats -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_SIMPLIFY_HOISTINVARIANTS_H
#define SINTER_PASSES_SIMPLIFY_HOISTINVARIANTS_H

#include "ir/Dialect.h"

#include "mlir/IR/PatternMatch.h"

namespace sinter::passes {

/// Computes the ops of the body that are the same in each trip in front of
/// `scan`; their results become whole operands. Broadcasts and widening casts
/// stay in the body: kernels there read their operands, which are smaller.
/// Drops operands that the body does not read. Returns whether anything
/// changed.
bool hoistInvariants(mlir::RewriterBase &rewriter, ir::ScanOp scan);

} // namespace sinter::passes

#endif // SINTER_PASSES_SIMPLIFY_HOISTINVARIANTS_H
