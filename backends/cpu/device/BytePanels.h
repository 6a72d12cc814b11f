//===- BytePanels.h - blocks of products of 8-bit integers ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The inner loops of products of 8-bit integers of any signs into int32. A is
// read in rows. B is packed in panels of 32 columns, in the order that AMX and
// vpdpbusd read: four rows at a time, the group of each column. Sums are exact
// modulo 2^32, so all units give the same bits.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_BYTEPANELS_H
#define SINTER_BACKENDS_CPU_DEVICE_BYTEPANELS_H

#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/TileRegisters.h"

#include <array>
#include <cstdint>
#include <span>

namespace sinter::cpu {

/// What multiplies. Loops needs no feature of the CPU. Sums16 takes the place
/// of Pairs for a signed constant B, whose weights are cut (ByteCorrections.h).
enum class ByteUnit { Loops, Pairs, Sums16, Dot256, Dot512, Tiles };

/// "loops", "AVX2", "AVX2 in 16 bits", "AVX-VNNI", "AVX512-VNNI" or "AMX".
const char *nameOf(ByteUnit unit);
/// Whether this CPU has the unit, and the operating system allows its use.
bool hasByteUnit(ByteUnit unit);
/// The unit of this CPU that products use, by its rates (CpuRates.h), of those
/// that the library may use.
ByteUnit byteUnit();

/// Rows of A and panels have a multiple of this many elements along the sum.
inline constexpr int64_t byteStep = 64;

inline int64_t paddedBytes(int64_t depth) {
  return (depth + byteStep - 1) / byteStep * byteStep;
}
/// The bytes of a panel of `depth` rows in all, which are padded: its elements,
/// and the sums of its columns.
inline int64_t bytePanelBytes(int64_t depth) {
  return panelColumns * depth + 4 * panelColumns;
}

/// A strided matrix of 8-bit integers; strides in elements.
struct ByteMatrix {
  const uint8_t *data;
  int64_t rowStride, colStride;
};

/// Which of both factors are signed.
struct ByteSigns {
  bool a, b;
};

/// Writes `columns` (at most 32) columns of `b`, from its first element on, of
/// `depth` rows, as rows from `firstRow` on of a panel of zeros of `panelDepth`
/// rows.
void packBytePanel(const ByteMatrix &b, bool isSigned, int64_t depth,
                   int64_t columns, int64_t firstRow, int64_t panelDepth,
                   uint8_t *panel);

/// Writes `rows` rows of `depth` elements of `a` one after the other, each
/// padded with 0 to paddedBytes(depth).
void packByteRows(const ByteMatrix &a, int64_t rows, int64_t depth,
                  uint8_t *packed);

/// Rows of A, which are sums of parts of `depth` elements, which is padded.
/// Elements that meet zeros of the panel may be anything: they do from `used`
/// on. Rows are `rowStride` elements apart, or, if `hasOffsets`, so many behind
/// `data`; tiles need a stride. If the signs of A and the panel are equal, the
/// parts are all those of the panel.
struct ByteBlock {
  int64_t depth, used;
  std::span<const PanelPart> parts;
  bool hasOffsets;
  const uint8_t *data;
  int64_t rowStride, count; // count: 1 to blockRows
  std::array<int64_t, blockRows> offsets;

  const uint8_t *row(int64_t i) const {
    return data +
           (hasOffsets ? offsets[static_cast<size_t>(i)] : i * rowStride);
  }
};

struct PanelCorrections; // ByteCorrections.h

/// How the unit multiplies rows: it reads a panel once for each group.
UnitRows unitRows(ByteUnit unit);

/// sums[row * panelColumns + column] = the product of rows and panel; aligned
/// to 64 bytes, and so is the panel. hasByteUnit(unit). `fetch` makes a
/// step for each byteStep elements that are read of the panel; with a unit that
/// memory keeps up with, none. Sums16 needs the `corrections` of the panel.
void multiplyBytes(ByteUnit unit, TileRegisters &tiles, ByteSigns signs,
                   const ByteBlock &rows, const uint8_t *panel, uint32_t *sums,
                   PanelFetch &fetch,
                   const PanelCorrections *corrections = nullptr);

/// The tiles of a panel.
namespace bytetiles {

/// A tile has 16 rows of 64 bytes: groups of four elements of 16 columns.
inline constexpr int64_t tileRows = 16, tileColumns = 16, lineBytes = 64,
                         group = 4, tileBytes = tileRows * lineBytes,
                         stepBytes = 2 * tileBytes;

/// The offset of the groups of `row` and the 16 columns from `half` * 16 on.
inline int64_t lineOffset(int64_t row, int64_t half) {
  return row / byteStep * stepBytes + half * tileBytes +
         row % byteStep / group * lineBytes;
}

inline uint32_t widen(uint8_t byte, bool isSigned) {
  return isSigned ? static_cast<uint32_t>(
                        static_cast<int32_t>(static_cast<int8_t>(byte)))
                  : byte;
}

} // namespace bytetiles

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_BYTEPANELS_H
