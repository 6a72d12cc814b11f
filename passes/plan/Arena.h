//===- Arena.h - offsets for buffers with known lifetimes -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_ARENA_H
#define SINTER_PASSES_PLAN_ARENA_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace sinter::passes::plan {

/// A buffer that is live at commands [first, last].
struct Lifetime {
  int64_t bytes; // a multiple of the alignment, or 0
  unsigned first, last;
};

struct ArenaLayout {
  std::vector<int64_t>
      offsets;       // one per buffer; multiples of the alignment of all sizes
  int64_t bytes = 0; // size of the arena
};

/// The sum of the live bytes at each command.
std::vector<int64_t> liveBytes(llvm::ArrayRef<Lifetime> buffers);
/// The largest of these sums: no layout is smaller.
int64_t maxLiveBytes(llvm::ArrayRef<Lifetime> buffers);

/// Finds offsets such that no two buffers that are live at once overlap. Best
/// fit into the gaps between buffers that are already placed (Pisarchyk and
/// Lee, "Efficient memory management for deep neural net inference", 2020), in
/// several orders, each improved for some rounds. The same buffers give the
/// same layout.
ArenaLayout layOutArena(llvm::ArrayRef<Lifetime> buffers);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_ARENA_H
