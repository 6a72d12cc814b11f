//===- SplitAttention.h - attention with one query, in parts ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_SPLITATTENTION_H
#define SINTER_PASSES_FUSE_SPLITATTENTION_H

#include "passes/Target.h"

#include <memory>

namespace sinter::passes {

/// Splits attention with one query on targets whose launches are expensive:
/// `target`, or that of `devices` which the function is on. Without a target
/// nothing is done. They must outlive the pass.
std::unique_ptr<mlir::Pass>
createSplitAttention(const Target *target,
                     llvm::ArrayRef<ProgramDevice> devices);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_SPLITATTENTION_H
