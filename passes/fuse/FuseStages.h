//===- FuseStages.h - a kernel behind the one that it reads -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_FUSESTAGES_H
#define SINTER_PASSES_FUSE_FUSESTAGES_H

#include "passes/Target.h"

#include <memory>

namespace sinter::passes {

/// Makes small kernels the second stages of those whose results they read, on
/// targets whose launches are expensive: `target`, or of `devices` the
/// function's. Without one nothing is done. They must outlive the pass.
std::unique_ptr<mlir::Pass>
createFuseStages(const Target *target, llvm::ArrayRef<ProgramDevice> devices);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_FUSESTAGES_H
