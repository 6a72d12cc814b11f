//===- PlaceOps.h - each op on a device -------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLACEOPS_H
#define SINTER_PASSES_PLACEOPS_H

#include "passes/Target.h"

#include <memory>

namespace sinter::passes {

/// The place phase for a program that runs on `target`, which must outlive the
/// pass. Without a target the pass fails. `policy` is that of the precision
/// phase: composites that will have 16-bit operands are kept for it.
std::unique_ptr<mlir::Pass> createPlaceOps(const Target *target,
                                           llvm::StringRef policy = "fp32");

} // namespace sinter::passes

#endif // SINTER_PASSES_PLACEOPS_H
