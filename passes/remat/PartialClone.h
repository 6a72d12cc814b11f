//===- PartialClone.h - a fusion with some of its results -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_REMAT_PARTIALCLONE_H
#define SINTER_PASSES_REMAT_PARTIALCLONE_H

#include "ir/Dialect.h"

namespace sinter::passes::plan {

/// A clone of a fusion with some of its results.
struct PartialClone {
  ir::FusionOpInterface fusion;           // in no block; erase it or insert it
  llvm::SmallVector<unsigned, 4> outputs; // of the original, one per result
};

/// A fusion that computes the results `wanted` (ascending) of `fusion` to the
/// same bits: its loops are the same, and ops that only other results need are
/// gone. It has further results if the kernel cannot do without them (library
/// calls, results that share a part of a kernel of kind multi). Its operands
/// are the remaining ones of `fusion`.
PartialClone cloneOutputs(ir::FusionOpInterface fusion,
                          llvm::ArrayRef<unsigned> wanted);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_REMAT_PARTIALCLONE_H
