//===- FuseEpilogues.h - contractions and their epilogues -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_FUSEEPILOGUES_H
#define SINTER_PASSES_FUSE_FUSEEPILOGUES_H

#include "passes/Target.h"

#include <memory>

namespace sinter::passes {

/// Creates the pass that wraps contractions with their epilogues. `target`,
/// which must outlive the pass, says which of them are library calls and which
/// are generated kernels; without one all are library calls.
std::unique_ptr<mlir::Pass>
createFuseEpilogues(const Target *target,
                    llvm::ArrayRef<ProgramDevice> devices = {});

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_FUSEEPILOGUES_H
