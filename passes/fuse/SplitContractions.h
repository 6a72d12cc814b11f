//===- SplitContractions.h - long sums in parts -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_SPLITCONTRACTIONS_H
#define SINTER_PASSES_FUSE_SPLITCONTRACTIONS_H

#include "ir/Dialect.h"
#include "passes/Target.h"

#include <memory>

namespace sinter::passes {

/// How many stretches the sum of `dot` makes where a kernel computes it; 1: it
/// is left whole.
int64_t stretchesOf(ir::DotGeneralOp dot);

/// Splits contractions that `target`, which must outlive the pass, makes
/// kernels of; without one none.
std::unique_ptr<mlir::Pass> createSplitContractions(const Target *target);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_SPLITCONTRACTIONS_H
