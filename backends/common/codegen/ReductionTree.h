//===- ReductionTree.h - the order of every sum -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The order in which a reduction combines its elements is part of a program's
// meaning: it depends on the shape alone, so that all targets and all
// instruction sets give the same bits. Reduce.cpp says how the numbers here
// make a tree.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_CODEGEN_REDUCTIONTREE_H
#define SINTER_BACKENDS_COMMON_CODEGEN_REDUCTIONTREE_H

#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cstdint>

namespace sinter::codegen {

/// Steps of a loop without lanes that are combined one after the other before
/// their sum joins the others: keeps the rounding error of long sums from
/// growing with their length.
inline constexpr int64_t kChunkSteps = 16;
/// The same for passes of a loop with lanes.
inline constexpr int64_t kChunkPasses = 8;

/// Running sums: a line is cut into runs of so many steps, and its runs into
/// groups. An element is (what the groups before come to + what the runs before
/// in its group come to) + what is before it in its run, itself included, each
/// of the three summed up one after the other. A line of one run has the last
/// alone.
inline constexpr int64_t kRunSteps = 32, kGroupRuns = 32;

/// Lanes along a reduced loop of `size` steps, when that is the one along which
/// what is reduced lies contiguous. A power of two.
inline int64_t reductionLanes(int64_t size) {
  constexpr int64_t kMostLanes = 64;
  return std::min<int64_t>(kMostLanes, llvm::bit_ceil(static_cast<uint64_t>(
                                           std::max<int64_t>(size, 1))));
}

} // namespace sinter::codegen

#endif // SINTER_BACKENDS_COMMON_CODEGEN_REDUCTIONTREE_H
