//===- SplitContractions.h - long sums of few products, in parts -*- C++
//-*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_SPLITCONTRACTIONS_H
#define SINTER_PASSES_SPLITCONTRACTIONS_H

#include "passes/Target.h"

#include <memory>

namespace sinter::passes {

/// Splits contractions that `target`, which must outlive the pass, makes
/// kernels of; without one none.
std::unique_ptr<mlir::Pass> createSplitContractions(const Target *target);

} // namespace sinter::passes

#endif // SINTER_PASSES_SPLITCONTRACTIONS_H
