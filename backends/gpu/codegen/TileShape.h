//===- TileShape.h - how a contraction is cut into blocks -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A block of threads computes a tile of `rows` x `columns` results, `depth`
// steps of the sum at a time. A group of threads computes the whole tile, each
// thread `threadRows` x `threadColumns` of it. With several groups, each takes
// its share of every `depth` steps, and the groups' sums are added in order at
// the end.
//
// The order of a sum is part of a program's meaning and depends only on the
// shape of the product. Products are added by fused multiply-add, in ascending
// steps within a group. Group g of G takes steps [g * depth / G, (g + 1) *
// depth / G) of each `depth` steps. If the last `depth` steps are not full,
// they overlap with those before, and only the new steps are added. The groups'
// sums are added in order.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_GPU_CODEGEN_TILESHAPE_H
#define SINTER_BACKENDS_GPU_CODEGEN_TILESHAPE_H

#include <cstdint>

namespace sinter::gpu {

/// Blocks that keep a GPU of some 130 multiprocessors busy.
inline constexpr int64_t kManyBlocks = 128;
/// Shared memory that a block may use without a special request.
inline constexpr int64_t kMostSharedBytes = 48 << 10;

/// All numbers are powers of two; threads() is a multiple of a warp's.
struct TileShape {
  int64_t rows, columns, depth;
  int64_t threadRows, threadColumns;
  int64_t groups;

  int64_t groupThreads() const {
    return rows / threadRows * (columns / threadColumns);
  }
  int64_t threads() const { return groupThreads() * groups; }
  /// The largest number of bytes of shared memory for sums of `elementBytes`.
  int64_t sharedBytes(int64_t elementBytes) const;

  /// For `batch` products of rows x depth and depth x columns matrices, whose
  /// sums have `elementBytes`.
  static TileShape choose(int64_t batch, int64_t rows, int64_t columns,
                          int64_t depth, int64_t elementBytes);
};

} // namespace sinter::gpu

#endif // SINTER_BACKENDS_GPU_CODEGEN_TILESHAPE_H
