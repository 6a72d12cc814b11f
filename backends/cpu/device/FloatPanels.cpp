//===- FloatPanels.cpp - tiles of products of fp32 ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/FloatPanels.h"

#include "backends/cpu/device/OneDnnShim.h"

#include <algorithm>
#include <array>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace sinter;
using namespace sinter::cpu;

FloatUnit sinter::cpu::floatUnit() {
  static const FloatUnit unit = [] {
    return shim::mayUse(dnnl::cpu_isa::avx512_core) ? FloatUnit::Fma16
           : shim::mayUse(dnnl::cpu_isa::avx2)      ? FloatUnit::Fma8
                                                    : FloatUnit::None;
  }();
  return unit;
}

const char *sinter::cpu::nameOf(FloatUnit unit) {
  return unit == FloatUnit::Fma16  ? "AVX-512"
         : unit == FloatUnit::Fma8 ? "AVX2"
                                   : "none";
}

/// Of tiles of at most 16 columns, and of wider ones.
static constexpr int narrowRows16 = 28, wideRows16 = 14, rows8 = 6;

int64_t sinter::cpu::tileRows(FloatUnit unit, int64_t columns) {
  if (unit == FloatUnit::Fma8)
    return rows8;
  return columns > 16 ? wideRows16 : narrowRows16;
}

#if defined(__x86_64__)
namespace {

/// Addresses of `count` rows: one register for each three of them, so that
/// stepping to the next k is not a chain of additions.
template <int count> class RowPointers {
public:
  RowPointers(const float *first, int64_t stride) : stride_(stride) {
    for (int i = 0; i < groups; ++i)
      group_[i] = first + 3 * i * stride;
  }
  float operator[](int row) const { return group_[row / 3][row % 3 * stride_]; }
  void step() {
    for (int i = 0; i < groups; ++i)
      ++group_[i];
  }

private:
  static constexpr int groups = (count + 2) / 3;
  const float *group_[groups];
  int64_t stride_;
};

/// The result is written after the sums: it is fetched meanwhile.
inline void fetchResult(const FloatTile &tile, int rows) {
  for (int row = 0; row < rows; ++row) {
    const float *line = tile.result + row * tile.resultStride;
    __builtin_prefetch(line, /*rw=*/1, /*locality=*/3);
    if (tile.columns > 16)
      __builtin_prefetch(line + 16, /*rw=*/1, /*locality=*/3);
  }
}

/// Tiles of at most 16 * `halves` columns.
template <int halves, int rows>
__attribute__((target("avx512f"))) void multiply16(const FloatTile &tile) {
  fetchResult(tile, rows);
  __m512 sum[rows][halves];
  for (int row = 0; row < rows; ++row)
    for (int half = 0; half < halves; ++half)
      sum[row][half] = _mm512_setzero_ps();
  RowPointers<rows> a(tile.a, tile.aStride);
  const float *b = tile.panel;
  for (int64_t k = 0; k < tile.depth; ++k, b += tile.panelStride, a.step()) {
    __m512 line[halves];
    for (int half = 0; half < halves; ++half)
      line[half] = _mm512_loadu_ps(b + 16 * half);
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      const __m512 x = _mm512_set1_ps(a[row]);
      for (int half = 0; half < halves; ++half)
        sum[row][half] = _mm512_fmadd_ps(x, line[half], sum[row][half]);
    }
  }
  const uint64_t mask = (uint64_t(1) << tile.columns) - 1;
  for (int row = 0; row < rows; ++row)
    for (int half = 0; half < halves; ++half) {
      float *to = tile.result + row * tile.resultStride + 16 * half;
      const auto part = static_cast<__mmask16>(mask >> 16 * half);
      __m512 value = sum[row][half];
      if (tile.adds)
        value = _mm512_add_ps(_mm512_maskz_loadu_ps(part, to), value);
      _mm512_mask_storeu_ps(to, part, value);
    }
}

/// Columns `first` to `first` + 15 of the panel.
template <int rows>
__attribute__((target("avx2,fma"))) void multiply8(const FloatTile &tile,
                                                   int64_t first) {
  __m256 sum[rows][2];
  for (int row = 0; row < rows; ++row)
    sum[row][0] = sum[row][1] = _mm256_setzero_ps();
  RowPointers<rows> a(tile.a, tile.aStride);
  const float *b = tile.panel + first;
  for (int64_t k = 0; k < tile.depth; ++k, b += tile.panelStride, a.step()) {
    const __m256 low = _mm256_loadu_ps(b), high = _mm256_loadu_ps(b + 8);
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      const __m256 x = _mm256_set1_ps(a[row]);
      sum[row][0] = _mm256_fmadd_ps(x, low, sum[row][0]);
      sum[row][1] = _mm256_fmadd_ps(x, high, sum[row][1]);
    }
  }
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (int row = 0; row < rows; ++row)
    for (int half = 0; half < 2; ++half) {
      const int64_t column = first + 8 * half;
      float *to = tile.result + row * tile.resultStride + column;
      const __m256i mask = _mm256_cmpgt_epi32(
          _mm256_set1_epi32(static_cast<int>(tile.columns - column)), lane);
      __m256 value = sum[row][half];
      if (tile.adds)
        value = _mm256_add_ps(_mm256_maskload_ps(to, mask), value);
      _mm256_maskstore_ps(to, mask, value);
    }
}
template <int rows> void multiplyHalves8(const FloatTile &tile) {
  fetchResult(tile, rows);
  for (int64_t first = 0; first < tile.columns; first += 16)
    multiply8<rows>(tile, first);
}

using TileFunction = void (*)(const FloatTile &tile);

} // namespace

void sinter::cpu::multiplyTile(FloatUnit unit, const FloatTile &tile) {
  static constexpr auto narrow =
      []<int... i>(std::integer_sequence<int, i...>) {
        return std::array<TileFunction, sizeof...(i)>{multiply16<1, i + 1>...};
      }(std::make_integer_sequence<int, narrowRows16>());
  static constexpr auto wide = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array<TileFunction, sizeof...(i)>{multiply16<2, i + 1>...};
  }(std::make_integer_sequence<int, wideRows16>());
  static constexpr auto of8 = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array<TileFunction, sizeof...(i)>{multiplyHalves8<i + 1>...};
  }(std::make_integer_sequence<int, rows8>());
  const auto index = static_cast<size_t>(tile.rows - 1);
  unit == FloatUnit::Fma8 ? of8[index](tile)
  : tile.columns > 16     ? wide[index](tile)
                          : narrow[index](tile);
}
#else
void sinter::cpu::multiplyTile(FloatUnit, const FloatTile &) {}
#endif
