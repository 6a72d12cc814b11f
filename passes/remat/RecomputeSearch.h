//===- RecomputeSearch.h - what is computed again to fit --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_REMAT_RECOMPUTESEARCH_H
#define SINTER_PASSES_REMAT_RECOMPUTESEARCH_H

#include "passes/remat/Recompute.h"

namespace sinter::passes::plan {

/// What the search came to.
struct RecomputeChoice {
  Recompute::Outcome outcome;
  int64_t bytes = 0; // of the arena
};

/// Looks for what must be computed again so that the arena takes at most
/// `limitBytes`. First only results of generated kernels that take more than
/// what they are computed from, which is kept. Then whole segments of the
/// forward pass as well, of which only what passes into them is kept; their
/// length grows until that fits ("sublinear memory", Chen et al. 2016). What
/// has most bytes per operation comes first, no more of it than is needed, and
/// what turns out not to be needed is kept after all. When nothing fits: the
/// least that was found. The same program and limit give the same choice.
RecomputeChoice searchRecompute(Recompute &recompute, int64_t limitBytes);

/// The same without a limit: looks for the smallest arena among what takes at
/// most `share` of the program's time more, as `cpuTimeOf` estimates it. What
/// saves next to nothing is not computed again.
RecomputeChoice searchCheapRecompute(Recompute &recompute, double share);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_REMAT_RECOMPUTESEARCH_H
