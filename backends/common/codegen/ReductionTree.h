//===- ReductionTree.h - the order of every sum -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The order in which a reduction combines its elements is part of a program's
// meaning. It depends only on the shape, so that all targets and instruction
// sets give the same bits. Reduce.cpp describes the tree that these constants
// define.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_CODEGEN_REDUCTIONTREE_H
#define SINTER_BACKENDS_COMMON_CODEGEN_REDUCTIONTREE_H

#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cstdint>

namespace sinter::codegen {

/// Steps of a loop without lanes that are combined in sequence before their sum
/// is added to the total. Chunks limit the rounding error of long sums.
inline constexpr int64_t kChunkSteps = 16;
/// The same for passes of a loop with lanes.
inline constexpr int64_t kChunkPasses = 8;

/// Running sums: a line is divided into runs of kRunSteps steps, and the runs
/// into groups of kGroupRuns. An element is (sum of the groups before + sum of
/// the runs before in its group) + sum of its run up to and including itself;
/// each of the three is summed in sequence. A line of one run has only the last
/// sum.
inline constexpr int64_t kRunSteps = 32, kGroupRuns = 32;

/// The number of lanes along a reduced loop of `size` steps, along which the
/// operand is contiguous. A power of two.
inline int64_t reductionLanes(int64_t size) {
  constexpr int64_t kMostLanes = 64;
  return std::min<int64_t>(kMostLanes, llvm::bit_ceil(static_cast<uint64_t>(
                                           std::max<int64_t>(size, 1))));
}

} // namespace sinter::codegen

#endif // SINTER_BACKENDS_COMMON_CODEGEN_REDUCTIONTREE_H
