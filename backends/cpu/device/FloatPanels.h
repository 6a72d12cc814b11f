//===- FloatPanels.h - tiles of products of fp32 ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The inner loop of fp32 products: some rows of A times a panel of at most
// 64 columns of B, summed in registers by fused multiply-adds in ascending
// order of k. All units give the same bits.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_FLOATPANELS_H
#define SINTER_BACKENDS_CPU_DEVICE_FLOATPANELS_H

#include "backends/cpu/device/TileRegisters.h"

#include "sinter/abi.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sinter::cpu {

/// Lines of panels are multiples of so many columns.
inline constexpr int64_t lineColumns = 16;
/// `columns` rounded up to whole lines.
inline int64_t wholeLines(int64_t columns) {
  return (columns + lineColumns - 1) / lineColumns * lineColumns;
}
/// The most columns of a panel. With 64, the loads of a tile take fewer cycles
/// than its multiplications: 6 rows need 10 loads for 24 of them.
inline constexpr int64_t maxPanelColumns = 64;

/// The registers of fused multiply-adds.
enum class FloatUnit {
  None,
  Fma8,  // AVX2: 8 floats
  Fma16, // AVX-512: 16 floats
};

/// The widest that this CPU has and that oneDNN may use.
FloatUnit floatUnit();
/// For descriptions: "AVX-512".
const char *nameOf(FloatUnit unit);
/// The most columns of a tile: the registers of AVX2 hold 16 columns of 6 rows.
/// Without a unit, loops take any number.
int64_t tileColumns(FloatUnit unit);
/// The most rows of a tile of `columns` columns: their sums fit the registers.
/// `unit` is not None.
int64_t tileRows(FloatUnit unit, int64_t columns);

/// A post-op of a tile while its sums are in registers.
struct TilePostOp {
  sinter_post_op op;
  /// The operand of element (row, column) of the tile is at
  /// operand[row * rowStride + column * colStride], colStride is 0 or 1.
  const float *operand;
  int64_t rowStride, colStride;
};
/// Whether a tile takes post-ops of this kind.
bool isTilePostOp(uint32_t kind);

/// Some columns of A of a tile that was gathered.
struct GatheredColumns {
  int64_t first; // where the first one is
  int64_t count;
};
/// Gathered columns are so many elements apart; at least the rows of a tile of
/// AVX2.
inline constexpr int64_t gatheredStride = 8;

/// Strides in elements.
struct FloatTile {
  const float *a; // row r begins at a + r * aStride and is contiguous
  int64_t aStride;
  bool isInterleaved; // instead, column k of A is at a + k * rows; AVX2 only
  /// If not empty, the columns of A in order, instead of both: the first one of
  /// each group is at a + first. AVX2 only.
  std::span<const GatheredColumns> gathered;
  int64_t rows, depth; // at least 1; rows at most tileRows()
  const float *panel;  // row k begins at panel + k * panelStride; whole lines
  int64_t panelStride;
  float *result; // row r begins at result + r * resultStride
  int64_t resultStride;
  int64_t columns;           // 1 to tileColumns(): only these are written
  bool adds;                 // to what is in `result`, after all sums
  const TilePostOp *postOps; // of the complete sums
  size_t numPostOps;
};
/// The most rows of a tile of AVX2.
inline constexpr int64_t mostInterleavedRows = 6;
/// Copies `count` rows of A, of `depth` elements each, column by column: AVX2
/// reads them as one stream. Rows begin `rowStride` elements apart, their
/// elements are `colStride` apart.
void interleaveRows(const float *a, int64_t rowStride, int64_t colStride,
                    int64_t count, int64_t depth, float *to);
/// Copies gatheredStride rows of `depth` contiguous elements in the same way.
void gatherRows(const float *const *rows, int64_t depth, float *to);
/// The steps that a tile of depth `depth` takes of a fetch. With AVX2 it is
/// one: instructions between the multiply-adds cost more than prefetches at
/// once.
int64_t fetchSteps(FloatUnit unit, int64_t depth);
/// Takes these steps of `fetch`.
void multiplyTile(FloatUnit unit, const FloatTile &tile, PanelFetch &fetch);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_FLOATPANELS_H
