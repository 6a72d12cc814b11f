//===- PartialClone.h - fusions that compute part of another ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_REMAT_PARTIALCLONE_H
#define SINTER_PASSES_REMAT_PARTIALCLONE_H

#include "ir/Dialect.h"

namespace sinter::passes::plan {

/// What part of a fusion's results a partial clone of it has.
struct PartialClone {
  ir::FusionOpInterface fusion;           // in no block; erase it or insert it
  llvm::SmallVector<unsigned, 4> outputs; // of the original, one per result
};

/// A fusion that computes the results `wanted` (ascending) of `fusion` to the
/// same bits: its loops are the same, what only other results need is gone. It
/// may have further results where the kernel cannot do without them (library
/// calls, results that share a part of a fusion of kind multi). Its operands
/// are those of `fusion` that are left.
PartialClone cloneOutputs(ir::FusionOpInterface fusion,
                          llvm::ArrayRef<unsigned> wanted);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_REMAT_PARTIALCLONE_H
