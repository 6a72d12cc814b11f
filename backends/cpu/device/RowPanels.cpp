//===- RowPanels.cpp - panels of floats for a few rows --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/RowPanels.h"
#include "runtime/base/CpuFeatures.h"
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
      for (int v = 0; v < vectors; ++v)
        weights[v] = _mm512_load_ps(from + 16 * v);
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

template <class Element, int rows>
__attribute__((target("avx2,fma"))) void
multiplyAvx2(const PanelRows &a, const uint8_t *panel, const PanelForm &form,
             float *sums) {
  const __m256i high = _mm256_set1_epi32(static_cast<int>(0xffff0000));
  // The registers hold the sums of two vectors, 16 columns apart.
  for (int64_t part = 0; part < rowPanelColumns / 16; ++part) {
    const int64_t column = part / 2 * 32 + part % 2 * 8;
    const Element *from = reinterpret_cast<const Element *>(panel) +
                          plain_panels::placeOf(dtypeOf<Element>, column);
    __m256 sum[rows][2];
    for (int row = 0; row < rows; ++row)
      sum[row][0] = sum[row][1] = _mm256_setzero_ps();
    const float *factor = a.data;
    for (int64_t k = 0; k < form.depth; ++k) {
      __m256 weights[2];
      if constexpr (std::is_same_v<Element, float>) {
        weights[0] = _mm256_load_ps(from);
        weights[1] = _mm256_load_ps(from + 16);
      } else {
        __m256i words =
            _mm256_load_si256(reinterpret_cast<const __m256i *>(from));
        weights[0] = _mm256_castsi256_ps(_mm256_slli_epi32(words, 16));
        weights[1] = _mm256_castsi256_ps(_mm256_and_si256(words, high));
      }
      for (int row = 0; row < rows; ++row) {
        __m256 x = _mm256_set1_ps(factor[row * a.rowStride]);
        for (int v = 0; v < 2; ++v)
          sum[row][v] = _mm256_fmadd_ps(x, weights[v], sum[row][v]);
      }
      from += rowPanelColumns;
      factor += a.colStride;
    }
    for (int row = 0; row < rows; ++row)
      for (int v = 0; v < 2; ++v)
        _mm256_storeu_ps(sums + row * rowPanelColumns + column + 16 * v,
                         sum[row][v]);
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
multiplyRowsInPlace(const PanelRows &a, const float *matrix, int64_t stride,
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
multiplyColumnsInPlace(const PanelRows &a, const float *matrix, int64_t stride,
                       int64_t depth, int64_t columns, float *sums) {
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

} // namespace

columns_in_place::Function columns_in_place::ofRows(int64_t rows) {
  static constexpr Function functions[] = {
      multiplyRowsInPlace<1>, multiplyRowsInPlace<2>, multiplyRowsInPlace<3>,
      multiplyRowsInPlace<4>};
  static_assert(std::size(functions) == maxPanelRows);
  return functions[rows - 1];
}

columns_in_place::Function columns_in_place::ofColumns(int64_t rows) {
  return rows == 1 ? multiplyColumnsInPlace<1> : multiplyColumnsInPlace<2>;
}

RowUnit cpu::rowUnit() {
  if (checkCpuFeatures("+avx512f").ok())
    return RowUnit::Avx512;
  return checkCpuFeatures("+avx2,+fma").ok() ? RowUnit::Avx2 : RowUnit::None;
}

PanelFunction plain_panels::function(RowUnit unit, uint32_t dtype,
                                     int64_t rows) {
  return dtype == SINTER_BF16 ? functionOf<Bfloat>(unit, rows)
                              : functionOf<float>(unit, rows);
}
#else
columns_in_place::Function columns_in_place::ofRows(int64_t) { return nullptr; }
columns_in_place::Function columns_in_place::ofColumns(int64_t) {
  return nullptr;
}
RowUnit cpu::rowUnit() { return RowUnit::None; }
PanelFunction plain_panels::function(RowUnit, uint32_t, int64_t) {
  return nullptr;
}
#endif
