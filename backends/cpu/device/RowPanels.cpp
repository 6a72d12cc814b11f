//===- RowPanels.cpp - panels of floats for a few rows --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/RowPanels.h"
#include "backends/cpu/device/Lanes8.h"
#include "backends/cpu/device/OneDnnShim.h"
#include "runtime/base/Float16.h"

#include <algorithm>
#include <iterator>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

#if defined(__x86_64__)
namespace {

template <class Element>
constexpr uint32_t dtypeOf =
    std::is_same_v<Element, float> ? SINTER_F32 : SINTER_BF16;

template <class Element, int rows>
__attribute__((target("avx512f"))) void
multiplyAvx512(const PanelRows &a, const uint8_t *panel, const PanelForm &form,
               float *sums) {
  constexpr int vectors = rowPanelColumns / 16;
  const auto *from = reinterpret_cast<const Element *>(panel);
  __m512 sum[rows][vectors];
  for (int row = 0; row < rows; ++row)
    for (int v = 0; v < vectors; ++v)
      sum[row][v] = _mm512_setzero_ps();
  const float *factor = a.data;
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  for (int64_t k = 0; k < form.depth; ++k) {
    constexpr int64_t bytes = rowPanelColumns * sizeof(Element);
    if (form.readsAhead)
      for (int64_t line = 0; line < bytes; line += 64)
        _mm_prefetch(reinterpret_cast<const char *>(from) + rowPanelFetch +
                         line,
                     _MM_HINT_T0);
    __m512 weights[vectors];
    if constexpr (std::is_same_v<Element, float>)
      for (int v = 0; v < vectors; ++v) {
        weights[v] = _mm512_load_ps(from + 16 * v);
        // Keeps the load apart: Zen 5 repeats a multiplication by memory until
        // it is in the cache of level 1, which halves the rate of level 2.
        __asm__("" : "+v"(weights[v]));
      }
    else
      for (int v = 0; v < vectors; v += 2) {
        __m512i words = _mm512_load_si512(from + 16 * v);
        weights[v] = _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
        weights[v + 1] = _mm512_castsi512_ps(_mm512_and_si512(words, high));
      }
    for (int row = 0; row < rows; ++row) {
      __m512 x = _mm512_set1_ps(factor[row * a.rowStride]);
      for (int v = 0; v < vectors; ++v)
        sum[row][v] = _mm512_fmadd_ps(x, weights[v], sum[row][v]);
    }
    from += rowPanelColumns;
    factor += a.colStride;
  }
  for (int row = 0; row < rows; ++row)
    for (int v = 0; v < vectors; ++v)
      _mm512_storeu_ps(sums + row * rowPanelColumns + 16 * v, sum[row][v]);
}

/// Adds rows of A times `depth` lines of weights to the sums of some parts of a
/// panel, which are `partElements` apart. A pair of vectors has columns c to
/// c + 7 and c + 16 to c + 23 of a part; `from` is the first pair of the first
/// k.
template <class Element, int rows, int parts, int pairs>
__attribute__((target("avx2,fma"))) inline void
addLines(const PanelRows &a, const Element *from, int64_t partElements,
         int64_t depth, __m256 (&sum)[rows][parts][pairs][2]) {
  constexpr int64_t width = plain_panels::partColumns(RowUnit::Avx2);
  const __m256i high = _mm256_set1_epi32(static_cast<int>(0xffff0000));
  const float *factor = a.data;
  for (int64_t k = 0; k < depth; ++k) {
    __m256 x[rows];
#pragma unroll
    for (int row = 0; row < rows; ++row)
      x[row] = _mm256_set1_ps(factor[row * a.rowStride]);
#pragma unroll
    for (int part = 0; part < parts; ++part)
#pragma unroll
      for (int pair = 0; pair < pairs; ++pair) {
        const Element *at = from + part * partElements +
                            plain_panels::placeOf(dtypeOf<Element>, 8 * pair);
        __m256 weights[2];
        if constexpr (std::is_same_v<Element, float>) {
          weights[0] = _mm256_load_ps(at);
          weights[1] = _mm256_load_ps(at + 16);
        } else {
          const __m256i words =
              _mm256_load_si256(reinterpret_cast<const __m256i *>(at));
          weights[0] = _mm256_castsi256_ps(_mm256_slli_epi32(words, 16));
          weights[1] = _mm256_castsi256_ps(_mm256_and_si256(words, high));
        }
#pragma unroll
        for (int row = 0; row < rows; ++row)
#pragma unroll
          for (int v = 0; v < 2; ++v)
            sum[row][part][pair][v] =
                _mm256_fmadd_ps(x[row], weights[v], sum[row][part][pair][v]);
      }
    from += width;
    factor += a.colStride;
  }
}

/// For one row, the registers hold the sums of both parts of a panel, which are
/// read side by side: two streams of memory are faster than one. For two or
/// three rows they hold the sums of one part, for four rows of half a part.
/// `form.readsAhead` is ignored: fetching ahead makes two streams slower.
template <class Element, int rows>
__attribute__((target("avx2,fma"))) void
multiplyAvx2(const PanelRows &a, const uint8_t *panel, const PanelForm &form,
             float *sums) {
  constexpr int64_t width = plain_panels::partColumns(RowUnit::Avx2);
  constexpr int allParts = rowPanelColumns / width,
                parts = rows == 1 ? allParts : 1, allPairs = width / 16,
                pairs = rows > 3 ? 1 : allPairs;
  for (int part = 0; part < allParts; part += parts)
    for (int pair = 0; pair < allPairs; pair += pairs) {
      __m256 sum[rows][parts][pairs][2] = {};
      addLines(a,
               reinterpret_cast<const Element *>(panel) +
                   part * width * form.depth +
                   plain_panels::placeOf(dtypeOf<Element>, 8 * pair),
               width * form.depth, form.depth, sum);
#pragma unroll
      for (int row = 0; row < rows; ++row)
#pragma unroll
        for (int i = 0; i < parts; ++i)
#pragma unroll
          for (int j = 0; j < pairs; ++j)
#pragma unroll
            for (int v = 0; v < 2; ++v)
              _mm256_storeu_ps(sums + row * rowPanelColumns +
                                   (part + i) * width + 8 * (pair + j) + 16 * v,
                               sum[row][i][j][v]);
    }
}

template <class Element> PanelFunction functionOf(RowUnit unit, int64_t rows) {
  static constexpr PanelFunction avx512[] = {
      multiplyAvx512<Element, 1>, multiplyAvx512<Element, 2>,
      multiplyAvx512<Element, 3>, multiplyAvx512<Element, 4>};
  static constexpr PanelFunction avx2[] = {
      multiplyAvx2<Element, 1>, multiplyAvx2<Element, 2>,
      multiplyAvx2<Element, 3>, multiplyAvx2<Element, 4>};
  static_assert(std::size(avx512) == maxPanelRows);
  return unit == RowUnit::Avx512 ? avx512[rows - 1] : avx2[rows - 1];
}

/// The lanes of vector `v` that are among `columns`.
__mmask16 lanesOf(int64_t columns, int v) {
  const int64_t count = std::clamp<int64_t>(columns - 16 * v, 0, 16);
  return static_cast<__mmask16>((1u << count) - 1);
}

template <int rows>
__attribute__((target("avx512f"))) void
multiplyRowsInPlace16(const PanelRows &a, const float *matrix, int64_t stride,
                      int64_t depth, int64_t columns, float *sums) {
  constexpr int vectors = rowPanelColumns / 16;
  constexpr int64_t rowsAhead = 16;
  __mmask16 lanes[vectors];
  __m512 sum[rows][vectors];
  for (int v = 0; v < vectors; ++v)
    lanes[v] = lanesOf(columns, v);
  for (int row = 0; row < rows; ++row)
    for (int v = 0; v < vectors; ++v)
      sum[row][v] = _mm512_setzero_ps();
  const float *factor = a.data;
  for (int64_t k = 0; k < depth; ++k) {
    for (int v = 0; v < vectors; ++v)
      _mm_prefetch(
          reinterpret_cast<const char *>(matrix + rowsAhead * stride + 16 * v),
          _MM_HINT_T0);
    __m512 b[vectors];
    for (int v = 0; v < vectors; ++v)
      b[v] = _mm512_maskz_loadu_ps(lanes[v], matrix + 16 * v);
    for (int row = 0; row < rows; ++row) {
      const __m512 x = _mm512_set1_ps(factor[row * a.rowStride]);
      for (int v = 0; v < vectors; ++v)
        sum[row][v] = _mm512_fmadd_ps(x, b[v], sum[row][v]);
    }
    matrix += stride;
    factor += a.colStride;
  }
  for (int row = 0; row < rows; ++row)
    for (int v = 0; v < vectors; ++v)
      _mm512_storeu_ps(sums + row * rowPanelColumns + 16 * v, sum[row][v]);
}

template <int rows>
__attribute__((target("avx512f"))) void
multiplyColumnsInPlace16(const PanelRows &a, const float *matrix,
                         int64_t stride, int64_t depth, int64_t columns,
                         float *sums) {
  constexpr int64_t columnsAhead = 16;
  for (int64_t column = 0; column < columns; ++column, matrix += stride) {
    __m512 sum[rows];
    for (int row = 0; row < rows; ++row)
      sum[row] = _mm512_setzero_ps();
    for (int64_t k = 0; k < depth; k += 16) {
      _mm_prefetch(
          reinterpret_cast<const char *>(matrix + columnsAhead * stride + k),
          _MM_HINT_T0);
      const __mmask16 lanes = lanesOf(depth - k, 0);
      const __m512 b = _mm512_maskz_loadu_ps(lanes, matrix + k);
      for (int row = 0; row < rows; ++row)
        sum[row] = _mm512_fmadd_ps(
            _mm512_maskz_loadu_ps(lanes, a.data + row * a.rowStride + k), b,
            sum[row]);
    }
    for (int row = 0; row < rows; ++row)
      sums[row * rowPanelColumns + column] = _mm512_reduce_add_ps(sum[row]);
  }
}

/// Columns of `vectors` vectors, whose sums the registers hold, or fewer
/// columns if not `isWhole`: masked loads are slower.
template <int rows, int vectors, bool isWhole>
__attribute__((target("avx2,fma"))) inline void
sumRowsInPlace(const PanelRows &a, const float *matrix, int64_t stride,
               int64_t depth, int64_t columns, float *sums) {
  __m256i lanes[vectors];
  __m256 sum[rows][vectors];
#pragma unroll
  for (int v = 0; v < vectors; ++v)
    lanes[v] = firstLanes(columns - 8 * v);
#pragma unroll
  for (int row = 0; row < rows; ++row)
#pragma unroll
    for (int v = 0; v < vectors; ++v)
      sum[row][v] = _mm256_setzero_ps();
  const float *factor = a.data;
  for (int64_t k = 0; k < depth; ++k) {
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const __m256 b = isWhole ? _mm256_loadu_ps(matrix + 8 * v)
                               : _mm256_maskload_ps(matrix + 8 * v, lanes[v]);
#pragma unroll
      for (int row = 0; row < rows; ++row)
        sum[row][v] = _mm256_fmadd_ps(_mm256_set1_ps(factor[row * a.rowStride]),
                                      b, sum[row][v]);
    }
    matrix += stride;
    factor += a.colStride;
  }
#pragma unroll
  for (int row = 0; row < rows; ++row)
#pragma unroll
    for (int v = 0; v < vectors; ++v)
      _mm256_storeu_ps(sums + row * rowPanelColumns + 8 * v, sum[row][v]);
}

/// At most `vectors` vectors: the fewest that hold the columns.
template <int rows, int vectors>
__attribute__((target("avx2,fma"))) inline void
sumColumnsInPlace(const PanelRows &a, const float *matrix, int64_t stride,
                  int64_t depth, int64_t columns, float *sums) {
  if constexpr (vectors > 1)
    if (columns <= 8 * (vectors / 2))
      return sumColumnsInPlace<rows, vectors / 2>(a, matrix, stride, depth,
                                                  columns, sums);
  if (columns < 8 * vectors)
    sumRowsInPlace<rows, vectors, false>(a, matrix, stride, depth, columns,
                                         sums);
  else
    sumRowsInPlace<rows, vectors, true>(a, matrix, stride, depth, columns,
                                        sums);
}

template <int rows>
__attribute__((target("avx2,fma"))) void
multiplyRowsInPlace8(const PanelRows &a, const float *matrix, int64_t stride,
                     int64_t depth, int64_t columns, float *sums) {
  constexpr int vectors = rows == 1 ? 8 : rows == 2 ? 4 : 2;
  for (int64_t first = 0; first < columns; first += 8 * vectors)
    sumColumnsInPlace<rows, vectors>(a, matrix + first, stride, depth,
                                     columns - first, sums + first);
}

/// The sum of 16 lanes, in two registers, as _mm512_reduce_add_ps gives it.
__attribute__((target("avx2"))) inline float sumPairwise(__m256 low,
                                                         __m256 high) {
  const __m256 eight = _mm256_add_ps(low, high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight),
                                 _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

template <int rows>
__attribute__((target("avx2,fma"))) void
multiplyColumnsInPlace8(const PanelRows &a, const float *matrix, int64_t stride,
                        int64_t depth, int64_t columns, float *sums) {
  for (int64_t column = 0; column < columns; ++column, matrix += stride) {
    __m256 sum[rows][2];
#pragma unroll
    for (int row = 0; row < rows; ++row)
      sum[row][0] = sum[row][1] = _mm256_setzero_ps();
    int64_t k = 0;
    for (; k + 16 <= depth; k += 16)
#pragma unroll
      for (int row = 0; row < rows; ++row)
#pragma unroll
        for (int v = 0; v < 2; ++v)
          sum[row][v] = _mm256_fmadd_ps(
              _mm256_loadu_ps(a.data + row * a.rowStride + k + 8 * v),
              _mm256_loadu_ps(matrix + k + 8 * v), sum[row][v]);
    if (k < depth)
#pragma unroll
      for (int v = 0; v < 2; ++v) {
        const __m256i lanes = firstLanes(depth - k - 8 * v);
        const __m256 b = _mm256_maskload_ps(matrix + k + 8 * v, lanes);
#pragma unroll
        for (int row = 0; row < rows; ++row)
          sum[row][v] = _mm256_fmadd_ps(
              _mm256_maskload_ps(a.data + row * a.rowStride + k + 8 * v, lanes),
              b, sum[row][v]);
      }
#pragma unroll
    for (int row = 0; row < rows; ++row)
      sums[row * rowPanelColumns + column] =
          sumPairwise(sum[row][0], sum[row][1]);
  }
}

} // namespace

columns_in_place::Function columns_in_place::ofRows(RowUnit unit,
                                                    int64_t rows) {
  static constexpr Function avx512[] = {
      multiplyRowsInPlace16<1>, multiplyRowsInPlace16<2>,
      multiplyRowsInPlace16<3>, multiplyRowsInPlace16<4>};
  static constexpr Function avx2[] = {
      multiplyRowsInPlace8<1>, multiplyRowsInPlace8<2>, multiplyRowsInPlace8<3>,
      multiplyRowsInPlace8<4>};
  static_assert(std::size(avx512) == maxPanelRows);
  return unit == RowUnit::Avx512 ? avx512[rows - 1] : avx2[rows - 1];
}

columns_in_place::Function columns_in_place::ofColumns(RowUnit unit,
                                                       int64_t rows) {
  static constexpr Function avx512[] = {multiplyColumnsInPlace16<1>,
                                        multiplyColumnsInPlace16<2>};
  static constexpr Function avx2[] = {multiplyColumnsInPlace8<1>,
                                      multiplyColumnsInPlace8<2>};
  return unit == RowUnit::Avx512 ? avx512[rows - 1] : avx2[rows - 1];
}

RowUnit cpu::rowUnit() {
  static const RowUnit unit =
      shim::mayUse(dnnl::cpu_isa::avx512_core) ? RowUnit::Avx512
      : shim::mayUse(dnnl::cpu_isa::avx2)      ? RowUnit::Avx2
                                               : RowUnit::None;
  return unit;
}

PanelFunction plain_panels::function(RowUnit unit, uint32_t dtype,
                                     int64_t rows) {
  return dtype == SINTER_BF16 ? functionOf<Bfloat>(unit, rows)
                              : functionOf<float>(unit, rows);
}
#else
columns_in_place::Function columns_in_place::ofRows(RowUnit, int64_t) {
  return nullptr;
}
columns_in_place::Function columns_in_place::ofColumns(RowUnit, int64_t) {
  return nullptr;
}
RowUnit cpu::rowUnit() { return RowUnit::None; }
PanelFunction plain_panels::function(RowUnit, uint32_t, int64_t) {
  return nullptr;
}
#endif
