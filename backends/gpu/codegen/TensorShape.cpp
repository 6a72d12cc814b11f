//===- TensorShape.cpp - how tensor cores share a contraction -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/TensorShape.h"
#include "backends/gpu/codegen/Threads.h"
#include "backends/gpu/codegen/TileShape.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace sinter::gpu {

namespace {

constexpr int64_t kLargestTile = 128;
/// Tiles do not become smaller than this to get more blocks: they would compute
/// too little with the data they read.
constexpr int64_t kSmallTile = 32;
/// The most that a warp computes: its sums and operands fit into half of the
/// registers that a thread may have.
constexpr int64_t kWarpRows = 64, kWarpColumns = 32;
/// Enough warps to hide each other's latency.
constexpr int64_t kEnoughWarps = 4;
/// Bytes of a part along the sum: a line of shared memory, or half a line if
/// tiles are large.
constexpr int64_t kLineBytes = 128;
constexpr int64_t kMostStages = 4;

int64_t powerOf2(int64_t size, int64_t least, int64_t most) {
  auto power = static_cast<int64_t>(llvm::PowerOf2Ceil(size));
  return std::clamp(power, least, most);
}

/// The shape with tiles of at most `largest` rows and columns, and less where
/// there would be fewer than `wantedBlocks`.
TensorShape shapeOf(int64_t batch, int64_t rows, int64_t columns, int64_t depth,
                    int64_t elementBytes, int64_t largest,
                    int64_t wantedBlocks) {
  TensorShape shape{powerOf2(rows, kMatrixOuter, largest),
                    powerOf2(columns, kMatrixOuter, largest),
                    0,
                    0,
                    0,
                    0};
  auto blocks = [&] {
    return batch * llvm::divideCeil(rows, shape.rows) *
           llvm::divideCeil(columns, shape.columns);
  };
  while (blocks() < wantedBlocks &&
         std::max(shape.rows, shape.columns) > kSmallTile)
    (shape.rows >= shape.columns ? shape.rows : shape.columns) /= 2;

  shape.warpRows = std::min(shape.rows, kWarpRows);
  shape.warpColumns = std::min(shape.columns, kWarpColumns);
  while (shape.warps() < kEnoughWarps &&
         std::max(shape.warpRows, shape.warpColumns) > kMatrixOuter)
    (shape.warpRows >= shape.warpColumns ? shape.warpRows
                                         : shape.warpColumns) /= 2;

  bool isLarge = shape.rows + shape.columns > kLargestTile;
  int64_t line = (isLarge ? kLineBytes / 2 : kLineBytes) / elementBytes;
  shape.depth = powerOf2(depth, kMatrixBytes / elementBytes, line);
  shape.stages =
      std::min({kMostSharedBytes / shape.stageBytes(elementBytes), kMostStages,
                static_cast<int64_t>(llvm::divideCeil(depth, shape.depth))});
  return shape;
}

} // namespace

int64_t TensorShape::threads() const { return warps() * kWarpThreads; }

llvm::SmallVector<TensorShape, 4>
TensorShape::candidates(int64_t batch, int64_t rows, int64_t columns,
                        int64_t depth, int64_t elementBytes) {
  llvm::SmallVector<TensorShape, 4> shapes;
  auto add = [&](int64_t largest, int64_t wantedBlocks) {
    TensorShape shape = shapeOf(batch, rows, columns, depth, elementBytes,
                                largest, wantedBlocks);
    if (!llvm::is_contained(shapes, shape))
      shapes.push_back(shape);
  };
  add(kLargestTile, kManyBlocks);
  add(kLargestTile, /*wantedBlocks=*/1);
  add(kLargestTile / 2, /*wantedBlocks=*/1);
  add(kSmallTile, /*wantedBlocks=*/1);
  return shapes;
}

std::string TensorShape::text() const {
  return std::to_string(rows) + "x" + std::to_string(columns) + "x" +
         std::to_string(depth);
}

} // namespace sinter::gpu
