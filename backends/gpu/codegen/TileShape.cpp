//===- TileShape.cpp - how blocks share a contraction ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/TileShape.h"
#include "backends/gpu/codegen/Threads.h"

#include "llvm/Support/MathExtras.h"

namespace sinter::gpu {

namespace {

/// Tiles do not become smaller than this to get more blocks: they would compute
/// too little with the data they read.
constexpr int64_t kSmallTile = 32;
constexpr int64_t kMostThreads = 256;
/// The fewest steps of a sum that are worth a group of threads.
constexpr int64_t kGroupSteps = 16;

int64_t powerOf2(int64_t size, int64_t least, int64_t most) {
  auto power = static_cast<int64_t>(llvm::PowerOf2Ceil(size));
  return std::clamp(power, least, most);
}

} // namespace

int64_t TileShape::sharedBytes(int64_t elementBytes) const {
  constexpr int64_t kPadding = 4; // of OperandTile, for each operand
  int64_t stage = depth * (rows + columns + 2 * kPadding);
  int64_t exchange = groups > 1 ? groups * rows * columns : 0;
  return (2 * stage + exchange) * elementBytes;
}

TileShape TileShape::choose(int64_t batch, int64_t rows, int64_t columns,
                            int64_t depth, int64_t elementBytes) {
  bool isWide = elementBytes > 4;
  int64_t largest = isWide ? 64 : 128;
  TileShape shape{
      powerOf2(rows, 4, largest), powerOf2(columns, 8, largest), 8, 4, 4, 1};
  auto blocks = [&] {
    return batch * llvm::divideCeil(rows, shape.rows) *
           llvm::divideCeil(columns, shape.columns);
  };
  while (blocks() < kManyBlocks &&
         std::max(shape.rows, shape.columns) > kSmallTile)
    (shape.rows >= shape.columns ? shape.rows : shape.columns) /= 2;

  if (!isWide && shape.rows * shape.columns >= 128 * 64)
    shape.threadRows = shape.threadColumns = 8;
  // At least a warp.
  while (shape.groupThreads() < kWarpThreads)
    (shape.threadRows >= shape.threadColumns ? shape.threadRows
                                             : shape.threadColumns) /= 2;
  while (shape.threads() < kMostThreads &&
         depth >= 2 * shape.groups * kGroupSteps)
    shape.groups *= 2;
  // Each group needs some steps of every part.
  int64_t wanted = shape.groups > 1                         ? 4 * shape.groups
                   : shape.rows * shape.columns >= 128 * 64 ? 8
                                                            : 16;
  shape.depth = powerOf2(depth, 4, std::min<int64_t>(wanted, 64));
  shape.depth = std::max(shape.depth, shape.groups);
  while (shape.sharedBytes(elementBytes) > kMostSharedBytes)
    (shape.depth > shape.groups ? shape.depth : shape.groups) /= 2;
  return shape;
}

} // namespace sinter::gpu
