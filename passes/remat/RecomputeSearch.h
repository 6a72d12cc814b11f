//===- RecomputeSearch.h - choosing values to compute again -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_REMAT_RECOMPUTESEARCH_H
#define SINTER_PASSES_REMAT_RECOMPUTESEARCH_H

#include "passes/remat/Recompute.h"

namespace sinter::passes::plan {

/// The result of the search.
struct RecomputeChoice {
  Recompute::Outcome outcome;
  int64_t bytes = 0; // of the arena
};

/// Looks for values to compute again so that the arena takes at most
/// `limitBytes`. First it tries only results of generated kernels that are
/// larger than what they are computed from, which is kept. Then it also
/// recomputes whole segments of the forward pass, of which only the values that
/// pass into them are kept; segments grow until the program fits ("sublinear
/// memory", Chen et al. 2016). Values with the most bytes per operation come
/// first, no more than are needed, and values that turn out not to be needed
/// are kept after all. If nothing fits, the result is the smallest arena found.
/// The same program and limit give the same choice.
RecomputeChoice searchRecompute(Recompute &recompute, int64_t limitBytes);

/// Looks for the smallest arena that costs at most `share` of the program's
/// time more, as `cpuTimeOf` estimates it. Values that save next to nothing are
/// not computed again.
RecomputeChoice searchCheapRecompute(Recompute &recompute, double share);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_REMAT_RECOMPUTESEARCH_H
