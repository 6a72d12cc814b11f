//===- TileShape.h - how a contraction is cut into blocks -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A block of threads computes a tile of `rows` x `columns` results, taking
// `depth` steps of the sum at a time. A group of threads computes the whole
// tile, each thread `threadRows` x `threadColumns` of it; with several groups,
// each takes its share of every `depth` steps, and the groups' sums are added
// in order at the end.
//
// The order of a sum is part of a program's meaning, and depends on the shape
// of the product alone: products are added by fused multiply-add, and steps
// ascend within a group. Group g of G takes the steps from g * depth / G to
// below (g + 1) * depth / G of each `depth` steps; the last `depth` steps
// overlap with those before where they are not full, and only what is new is
// added. The groups' sums are added in order.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_CODEGEN_TILESHAPE_H
#define SINTER_BACKENDS_CUDA_CODEGEN_TILESHAPE_H

#include <cstdint>

namespace sinter::cuda {

/// Blocks that keep a GPU of some 130 multiprocessors busy.
inline constexpr int64_t kManyBlocks = 128;
/// Shared memory that a block may have without asking for more.
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
  /// Bytes of shared memory for sums of `elementBytes`, at most.
  int64_t sharedBytes(int64_t elementBytes) const;

  /// For `batch` products of rows x depth and depth x columns matrices, the
  /// sums of which have `elementBytes`.
  static TileShape choose(int64_t batch, int64_t rows, int64_t columns,
                          int64_t depth, int64_t elementBytes);
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_CODEGEN_TILESHAPE_H
