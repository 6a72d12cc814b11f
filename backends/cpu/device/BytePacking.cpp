//===- BytePacking.cpp - panels and rows of 8-bit integers ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/BytePanels.h"
#include "backends/cpu/device/EveryWidth.h"

#include <algorithm>
#include <cstring>

using namespace sinter::cpu;
using namespace sinter::cpu::bytetiles;

namespace {

/// The sum of the four bytes of a group.
uint32_t sumOfGroup(uint32_t word, bool isSigned) {
  // Inverting the highest bit of a signed byte adds 128.
  const uint32_t bytes = isSigned ? word ^ 0x80808080u : word,
                 sum = (bytes & 255) + (bytes >> 8 & 255) +
                       (bytes >> 16 & 255) + (bytes >> 24);
  return isSigned ? sum - 4 * 128 : sum;
}

/// Packs whole groups of rows of up to 16 columns, which are contiguous in a
/// row, into the tiles of half `half` from group `firstGroup` on.
SINTER_EVERY_WIDTH
void packRowGroups(const ByteMatrix &b, bool isSigned, int64_t groups,
                   int64_t columns, int64_t firstGroup, int64_t half,
                   uint8_t *panel, uint32_t *sums) {
  for (int64_t g = 0; g < groups; ++g) {
    const uint8_t *rows = b.data + g * group * b.rowStride;
    auto *words = reinterpret_cast<uint32_t *>(
        panel + lineOffset((firstGroup + g) * group, half));
    for (int64_t i = 0; i < columns; ++i) {
      const uint32_t word =
          rows[i] | static_cast<uint32_t>(rows[i + b.rowStride]) << 8 |
          static_cast<uint32_t>(rows[i + 2 * b.rowStride]) << 16 |
          static_cast<uint32_t>(rows[i + 3 * b.rowStride]) << 24;
      words[i] = word;
      sums[i] += sumOfGroup(word, isSigned);
    }
  }
}

/// The same for columns that are contiguous along the sum.
void packColumnGroups(const ByteMatrix &b, bool isSigned, int64_t groups,
                      int64_t columns, int64_t firstGroup, int64_t half,
                      uint8_t *panel, uint32_t *sums) {
  for (int64_t i = 0; i < columns; ++i) {
    const uint8_t *column = b.data + i * b.colStride;
    uint32_t sum = 0;
    for (int64_t g = 0; g < groups; ++g) {
      uint32_t word;
      std::memcpy(&word, column + g * group, sizeof(word));
      std::memcpy(panel + lineOffset((firstGroup + g) * group, half) +
                      i * group,
                  &word, sizeof(word));
      sum += sumOfGroup(word, isSigned);
    }
    sums[i] += sum;
  }
}

} // namespace

void sinter::cpu::packBytePanel(const ByteMatrix &b, bool isSigned,
                                int64_t depth, int64_t columns,
                                int64_t firstRow, int64_t panelDepth,
                                uint8_t *panel) {
  auto *sums = reinterpret_cast<uint32_t *>(panel + panelColumns * panelDepth);
  const bool alongRows = b.colStride == 1,
             hasGroups =
                 firstRow % group == 0 && (alongRows || b.rowStride == 1);
  const int64_t groups = hasGroups ? depth / group : 0;
  for (int64_t first = 0; first < columns; first += tileColumns) {
    const int64_t count = std::min(tileColumns, columns - first),
                  half = first / tileColumns;
    const ByteMatrix from{b.data + first * b.colStride, b.rowStride,
                          b.colStride};
    if (groups > 0)
      (alongRows ? packRowGroups : packColumnGroups)(from, isSigned, groups,
                                                     count, firstRow / group,
                                                     half, panel, sums + first);
    for (int64_t row = groups * group; row < depth; ++row) {
      uint8_t *to =
          panel + lineOffset(firstRow + row, half) + (firstRow + row) % group;
      for (int64_t i = 0; i < count; ++i) {
        const uint8_t byte = from.data[row * b.rowStride + i * b.colStride];
        to[i * group] = byte;
        sums[first + i] += widen(byte, isSigned);
      }
    }
  }
}

void sinter::cpu::packByteRows(const ByteMatrix &a, int64_t rows, int64_t depth,
                               uint8_t *packed) {
  const int64_t stride = paddedBytes(depth);
  for (int64_t row = 0; row < rows; ++row) {
    uint8_t *to = packed + row * stride;
    const uint8_t *from = a.data + row * a.rowStride;
    if (a.colStride == 1)
      std::memcpy(to, from, static_cast<size_t>(depth));
    else
      for (int64_t i = 0; i < depth; ++i)
        to[i] = from[i * a.colStride];
    std::memset(to + depth, 0, static_cast<size_t>(stride - depth));
  }
}
