//===- ChunkRows.h - large values, some rows at a time ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_CHUNKROWS_H
#define SINTER_PASSES_FUSE_CHUNKROWS_H

#include "passes/Target.h"

#include <memory>

namespace sinter::passes {

/// Computes the logits of large vocabularies in chunks of rows. `target`, or
/// that of `devices` which the function is on, says how expensive that is;
/// without one it counts as a CPU. They must outlive the pass.
std::unique_ptr<mlir::Pass>
createChunkRows(const Target *target, llvm::ArrayRef<ProgramDevice> devices);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_CHUNKROWS_H
