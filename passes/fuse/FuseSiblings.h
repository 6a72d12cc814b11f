//===- FuseSiblings.h - small kernels merged with others --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_FUSESIBLINGS_H
#define SINTER_PASSES_FUSE_FUSESIBLINGS_H

#include "passes/Target.h"

#include <memory>

namespace sinter::passes {

/// Merges kernels that are independent of each other. `target`, which must
/// outlive the pass, says whether launches are expensive; without one they are
/// not.
std::unique_ptr<mlir::Pass> createFuseSiblings(const Target *target);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_FUSESIBLINGS_H
