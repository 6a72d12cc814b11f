//===- BfloatPanels.cpp - blocks of products of bf16 ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/BfloatPanels.h"
#include "backends/cpu/device/EveryWidth.h"
#include "backends/cpu/device/TransposeSquare.h"

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace sinter;
using namespace sinter::cpu;
using rt::Bfloat;

namespace {

/// A tile has 16 rows of 64 bytes: pairs of bf16 of 16 columns.
constexpr int64_t tileRows = 16, tileColumns = 16, lineBytes = 64;

/// Each two rows of B become a row of pairs of a tile.
SINTER_EVERY_WIDTH
void pairRows(const Bfloat *b, int64_t rowStride, int64_t pairs,
              int64_t columns, uint32_t *tile) {
  for (int64_t pair = 0; pair < pairs; ++pair, tile += tileColumns) {
    const Bfloat *even = b + 2 * pair * rowStride, *odd = even + rowStride;
    auto pairColumns = [&](int64_t count) {
      for (int64_t i = 0; i < count; ++i)
        tile[i] = even[i].bits | uint32_t(odd[i].bits) << 16;
    };
    if (columns == tileColumns)
      pairColumns(tileColumns);
    else
      pairColumns(columns);
  }
}

/// Packs up to 32 rows and 16 columns. Missing ones stay as they are.
void packTile(const BfloatMatrix &b, int64_t rows, int64_t columns,
              uint32_t *tile) {
#if defined(__x86_64__)
  if (b.rowStride == 1 && rows == 2 * tileRows && columns == tileColumns)
    return transposeSquare(tile, tileColumns, b.data, b.colStride);
#endif
  int64_t row = 0;
  if (b.colStride == 1) {
    pairRows(b.data, b.rowStride, rows / 2, columns, tile);
    row = rows / 2 * 2;
  }
  for (; row < rows; row += 2) {
    const Bfloat *even = b.data + row * b.rowStride, *odd = even + b.rowStride;
    uint32_t *pairs = tile + row / 2 * tileColumns;
    for (int64_t i = 0; i < columns; ++i)
      pairs[i] =
          even[i * b.colStride].bits |
          (row + 1 < rows ? uint32_t(odd[i * b.colStride].bits) << 16 : 0);
  }
}

} // namespace

void sinter::cpu::packPanel(const BfloatMatrix &b, int64_t depth,
                            int64_t columns, uint8_t *panel) {
  const int64_t step = depthStep(depth);
  if (columns < panelColumns || depth % step)
    std::memset(panel, 0, static_cast<size_t>(panelBytes(paddedDepth(depth))));
  auto *to = reinterpret_cast<uint32_t *>(panel);
  for (int64_t row = 0; row < depth; row += step)
    for (int64_t column = 0; column < columns; column += tileColumns)
      packTile({b.data + row * b.rowStride + column * b.colStride, b.rowStride,
                b.colStride},
               std::min(step, depth - row),
               std::min(tileColumns, columns - column),
               to + row * panelColumns / 2 + column * step / 2);
}

void sinter::cpu::packRows(const BfloatMatrix &a, int64_t rows, int64_t depth,
                           Bfloat *packed) {
  const int64_t stride = paddedDepth(depth);
  for (int64_t row = 0; row < rows; ++row) {
    Bfloat *to = packed + row * stride;
    std::fill(to + depth, to + stride, Bfloat());
    const Bfloat *from = a.data + row * a.rowStride;
    if (a.colStride == 1)
      std::copy(from, from + depth, to);
  }
  if (a.colStride == 1)
    return;
  // In squares, each of which reads and writes few lines of memory.
  constexpr int64_t square = 32;
  for (int64_t k = 0; k < depth; k += square)
    for (int64_t row = 0; row < rows; row += tileColumns) {
      const int64_t kEnd = std::min(depth, k + square),
                    rowEnd = std::min(rows, row + tileColumns);
#if defined(__x86_64__)
      // Pairs of k are words, 16 of each row.
      if (a.rowStride == 1 && kEnd - k == square &&
          rowEnd - row == tileColumns) {
        alignas(64) uint32_t pairs[tileRows * tileColumns];
        packTile({a.data + k * a.colStride + row, a.colStride, 1}, square,
                 tileColumns, pairs);
        transposeSquare(packed + row * stride + k, stride, pairs, tileColumns);
        continue;
      }
#endif
      for (int64_t i = k; i < kEnd; ++i)
        for (int64_t j = row; j < rowEnd; ++j)
          packed[j * stride + i] = a.data[j * a.rowStride + i * a.colStride];
    }
}

#if defined(__x86_64__)
namespace {

/// The tiles are those of TileRegisters.
template <bool hasUpper>
__attribute__((target("amx-tile,amx-bf16"))) void
multiplyTiles(const BfloatRows &rows, const uint8_t *panels, float *sums,
              int64_t sumStride, PanelFetch &shared, StepWork &work) {
  PanelFetch fetch = shared; // in registers
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (hasUpper) {
    _tile_zero(2);
    _tile_zero(3);
  }
  const int64_t stride = 2 * rows.rowStride,
                tileBytes = rows.step / 2 * lineBytes;
  for (const PanelPart &part : rows.parts) {
    const auto *a = reinterpret_cast<const uint8_t *>(rows.data + part.inRow);
    const uint8_t *panel = panels + part.inPanel;
    const uint8_t *upper = a + tileRows * stride;
    for (int64_t k = 0; k < rows.depth; k += rows.step) {
      _tile_loadd(4, a + 2 * k, stride);
      _tile_loadd(6, panel, lineBytes);
      _tile_loadd(7, panel + tileBytes, lineBytes);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      if constexpr (hasUpper) {
        _tile_loadd(5, upper + 2 * k, stride);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
      panel += 2 * tileBytes;
      fetch.step();
      work.step();
    }
  }
  shared = fetch;
  const int64_t sumBytes = 4 * sumStride;
  _tile_stored(0, sums, sumBytes);
  _tile_stored(1, sums + tileColumns, sumBytes);
  if constexpr (hasUpper) {
    _tile_stored(2, sums + tileRows * sumStride, sumBytes);
    _tile_stored(3, sums + tileRows * sumStride + tileColumns, sumBytes);
  }
}

/// `count` rows of A from row `first` on, times the first `halves` tiles of the
/// panel.
template <int count, int halves, bool hasOffsets>
__attribute__((target("avx512f,avx512bf16"))) void
multiplyDots(const BfloatRows &rows, int64_t first, const uint8_t *panels,
             float *sums, int64_t sumStride, PanelFetch &fetch) {
  __m512 sum[count][halves];
  for (int row = 0; row < count; ++row)
    for (int half = 0; half < halves; ++half)
      sum[row][half] = _mm512_setzero_ps();
  const int64_t tileBytes = rows.step / 2 * lineBytes;
  for (const PanelPart &part : rows.parts) {
    const Bfloat *a = rows.data + part.inRow;
    const uint8_t *panel = panels + part.inPanel;
    if constexpr (!hasOffsets)
      a += first * rows.rowStride;
    auto rowOf = [&](int row) {
      return a + (hasOffsets ? rows.offsets[static_cast<size_t>(first + row)]
                             : row * rows.rowStride);
    };
    // `Elements`: what is read of each row, one or two of them.
    auto addPair =
        [&]<class Elements>(int64_t k, int64_t pair, Elements) __attribute__((
            target("avx512f,avx512bf16"), always_inline)) {
          __m512i b[halves];
          for (int half = 0; half < halves; ++half)
            b[half] = _mm512_load_si512(panel + pair * 32 + half * tileBytes);
#pragma clang loop unroll(full)
          for (int row = 0; row < count; ++row) {
            Elements x;
            std::memcpy(&x, rowOf(row) + k + pair, sizeof(x));
            const __m512i pairs = _mm512_set1_epi32(static_cast<int32_t>(x));
            for (int half = 0; half < halves; ++half)
              sum[row][half] = _mm512_dpbf16_ps(sum[row][half], (__m512bh)pairs,
                                                (__m512bh)b[half]);
          }
        };
    const int64_t wholePairs = rows.step - 2 * rows.isOdd;
    for (int64_t k = 0; k < rows.depth; k += rows.step) {
      for (int64_t pair = 0; pair < wholePairs; pair += 2)
        addPair(k, pair, uint32_t());
      if (rows.isOdd)
        addPair(k, wholePairs, uint16_t());
      panel += 2 * tileBytes;
      fetch.step();
    }
  }
  for (int row = 0; row < count; ++row)
    for (int half = 0; half < halves; ++half)
      _mm512_storeu_ps(sums + (first + row) * sumStride + tileColumns * half,
                       sum[row][half]);
}

template <int halves, bool hasOffsets>
void multiplyByDots(const BfloatRows &rows, const uint8_t *panel, float *sums,
                    int64_t sumStride, PanelFetch &fetch) {
  // Their sums fit the registers, and so do their addresses.
  constexpr int64_t most = halves == 2 ? dotRows.most : 16;
  using Function = void (*)(const BfloatRows &, int64_t, const uint8_t *,
                            float *, int64_t, PanelFetch &);
  static constexpr std::array<Function, most> functions =
      []<int... i>(std::integer_sequence<int, i...>) {
        return std::array<Function, most>{
            multiplyDots<i + 1, halves, hasOffsets>...};
      }(std::make_integer_sequence<int, most>());
  forEvenGroups(rows.count, most, [&](int64_t first, int64_t count) {
    functions[static_cast<size_t>(count - 1)](rows, first, panel, sums,
                                              sumStride, fetch);
  });
}

template <int halves>
void multiplyByDots(const BfloatRows &rows, const uint8_t *panel, float *sums,
                    int64_t sumStride, PanelFetch &fetch) {
  if (rows.hasOffsets)
    multiplyByDots<halves, true>(rows, panel, sums, sumStride, fetch);
  else
    multiplyByDots<halves, false>(rows, panel, sums, sumStride, fetch);
}

} // namespace

void sinter::cpu::multiplyBfloats(rt::Bf16Unit unit, TileRegisters &tiles,
                                  const BfloatRows &rows, const uint8_t *panel,
                                  int64_t columns, float *sums,
                                  int64_t sumStride, PanelFetch &fetch,
                                  StepWork &work) {
  if (unit == rt::Bf16Unit::Dot) {
    if (columns > tileColumns)
      return multiplyByDots<2>(rows, panel, sums, sumStride, fetch);
    return multiplyByDots<1>(rows, panel, sums, sumStride, fetch);
  }
  tiles.configure(rows.count, 2 * rows.step);
  if (rows.count > tileRows)
    multiplyTiles<true>(rows, panel, sums, sumStride, fetch, work);
  else
    multiplyTiles<false>(rows, panel, sums, sumStride, fetch, work);
}
#else
void sinter::cpu::multiplyBfloats(rt::Bf16Unit, TileRegisters &,
                                  const BfloatRows &, const uint8_t *, int64_t,
                                  float *, int64_t, PanelFetch &, StepWork &) {}
#endif
