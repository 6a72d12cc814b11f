//===- CodedPanels.cpp - panels of 4- and 8-bit codes for a few rows ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The sum of a block is multiplied by its scale, so that a weight takes a
// conversion and one multiply-add. A 4-bit code is the place of its number in a
// register of 16.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/RowPanels.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace sinter;
using namespace sinter::cpu;

namespace {

/// Bytes of the scales, or of the zero points, of a block of one panel.
constexpr int64_t headBytes = rowPanelColumns * sizeof(float);

/// 8-bit codes are stored as signed bytes.
int64_t offsetOf(const sinter_coded_weights &weights, uint32_t dtype) {
  return weights.bits == 8 && dtype == SINTER_U8 ? 128 : 0;
}

int64_t codeAt(const coded_panels::Source &source, int64_t k, int64_t column) {
  if (source.weights.bits == 4)
    return source.codes[k / 2 * source.columns + column] >> k % 2 * 4 & 15;
  const uint8_t byte = source.codes[k * source.columns + column];
  return source.dtype == SINTER_I8 ? static_cast<int8_t>(byte) : byte;
}

int64_t blockBytes(const sinter_coded_weights &weights, uint32_t dtype) {
  return headBytes * (coded_panels::hasZeros(weights, dtype) ? 2 : 1) +
         rowPanelColumns * weights.block * weights.bits / 8;
}

/// Writes the codes of one block of a panel. A byte of two 4-bit codes is byte
/// i / 16 of word i % 16.
void packCodes(const coded_panels::Source &source, int64_t block, int64_t first,
               int64_t columns, uint8_t *to) {
  const sinter_coded_weights &weights = source.weights;
  const bool areHalves = weights.bits == 4;
  const int64_t lines = areHalves ? weights.block / 2 : weights.block;
  const auto flip =
      static_cast<uint8_t>(offsetOf(weights, source.dtype)); // 128 or 0
  const uint8_t *from = source.codes + block * lines * source.columns + first;
  for (int64_t line = 0; line < lines; ++line) {
    if (areHalves)
      for (int64_t i = 0; i < columns; ++i)
        to[i % 16 * 4 + i / 16] = from[i];
    else
      for (int64_t i = 0; i < columns; ++i)
        to[i] = from[i] ^ flip;
    from += source.columns;
    to += rowPanelColumns;
  }
}

} // namespace

bool coded_panels::hasZeros(const sinter_coded_weights &weights,
                            uint32_t dtype) {
  const auto offset = static_cast<float>(offsetOf(weights, dtype));
  return weights.zeros || (weights.bits == 8 && weights.zero != offset);
}

int64_t coded_panels::bytes(const sinter_coded_weights &weights, uint32_t dtype,
                            int64_t depth) {
  return depth / weights.block * blockBytes(weights, dtype);
}

PanelForm coded_panels::form(const Source &source) {
  const sinter_coded_weights &weights = source.weights;
  return {source.depth, weights.block, weights.zeros ? 0 : weights.zero};
}

float coded_panels::weightAt(const Source &source, int64_t k, int64_t column) {
  const int64_t at = k / source.weights.block * source.columns + column;
  const float zero = source.zeros ? source.zeros[at] : source.weights.zero,
              scale = source.scales ? source.scales[at] : source.weights.scale;
  return (static_cast<float>(codeAt(source, k, column)) - zero) * scale;
}

void coded_panels::pack(const Source &source, int64_t panel, uint8_t *to) {
  const sinter_coded_weights &weights = source.weights;
  const int64_t first = panel * rowPanelColumns,
                columns = std::min(rowPanelColumns, source.columns - first),
                offset = offsetOf(weights, source.dtype);
  const bool withZeros = hasZeros(weights, source.dtype);
  std::memset(to, 0,
              static_cast<size_t>(bytes(weights, source.dtype, source.depth)));
  for (int64_t block = 0; block < source.depth / weights.block; ++block) {
    auto *scales = reinterpret_cast<float *>(to),
         *zeros = scales + rowPanelColumns;
    for (int64_t i = 0; i < columns; ++i) {
      const int64_t at = block * source.columns + first + i;
      scales[i] = source.scales ? source.scales[at] : weights.scale;
      if (withZeros)
        zeros[i] = (source.zeros ? source.zeros[at] : weights.zero) -
                   static_cast<float>(offset);
    }
    packCodes(source, block, first, columns,
              to + headBytes * (withZeros ? 2 : 1));
    to += blockBytes(weights, source.dtype);
  }
}

#if defined(__x86_64__)
namespace {

template <int bits, bool withZeros, int rows>
__attribute__((target("avx512f"))) void
multiplyAvx512(const PanelRows &a, const uint8_t *panel, const PanelForm &form,
               float *sums) {
  constexpr int vectors = rowPanelColumns / 16, step = bits == 4 ? 2 : 1;
  const __m512 numbers = _mm512_sub_ps(
      _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
      _mm512_set1_ps(form.zero));
  __m512 sum[rows][vectors];
#pragma unroll
  for (int row = 0; row < rows; ++row)
#pragma unroll
    for (int v = 0; v < vectors; ++v)
      sum[row][v] = _mm512_setzero_ps();
  const float *factor = a.data;
  for (int64_t block = 0; block < form.depth; block += form.block) {
    const auto *heads = reinterpret_cast<const float *>(panel);
    panel += headBytes * (withZeros ? 2 : 1);
    __m512 part[rows][vectors];
#pragma unroll
    for (int row = 0; row < rows; ++row)
#pragma unroll
      for (int v = 0; v < vectors; ++v)
        part[row][v] = _mm512_setzero_ps();
    for (int64_t k = 0; k < form.block; k += step) {
      // Into the cache of level 2: that of level 1 has too few lines on their
      // way for the few bytes of an iteration.
      _mm_prefetch(reinterpret_cast<const char *>(panel) + rowPanelFetch,
                   _MM_HINT_T1);
      __m512i words;
      if constexpr (bits == 4)
        words = _mm512_load_si512(panel);
#pragma unroll
      for (int at = 0; at < step; ++at) {
        __m512 weights[vectors];
#pragma unroll
        for (int v = 0; v < vectors; ++v) {
          if constexpr (bits == 4)
            weights[v] = _mm512_permutexvar_ps(
                _mm512_srli_epi32(words, 4 * (2 * v + at)), numbers);
          else
            weights[v] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_load_si128(
                reinterpret_cast<const __m128i *>(panel + 16 * v))));
          if constexpr (withZeros)
            weights[v] = _mm512_sub_ps(
                weights[v], _mm512_load_ps(heads + rowPanelColumns + 16 * v));
        }
#pragma unroll
        for (int row = 0; row < rows; ++row) {
          const __m512 x = _mm512_set1_ps(factor[row * a.rowStride]);
#pragma unroll
          for (int v = 0; v < vectors; ++v)
            part[row][v] = _mm512_fmadd_ps(x, weights[v], part[row][v]);
        }
        factor += a.colStride;
      }
      panel += rowPanelColumns;
    }
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const __m512 scale = _mm512_load_ps(heads + 16 * v);
#pragma unroll
      for (int row = 0; row < rows; ++row)
        sum[row][v] = _mm512_fmadd_ps(scale, part[row][v], sum[row][v]);
    }
  }
#pragma unroll
  for (int row = 0; row < rows; ++row)
#pragma unroll
    for (int v = 0; v < vectors; ++v)
      _mm512_storeu_ps(sums + row * rowPanelColumns + 16 * v, sum[row][v]);
}

template <int bits, bool withZeros, int rows>
__attribute__((target("avx2,fma"))) void
multiplyAvx2(const PanelRows &a, const uint8_t *panel, const PanelForm &form,
             float *sums) {
  constexpr int vectors = rowPanelColumns / 16, step = bits == 4 ? 2 : 1;
  const __m256 zero = _mm256_set1_ps(form.zero);
  std::fill(sums, sums + rows * rowPanelColumns, 0.0f);
  // Columns of one half: the lower or upper 8 of each 16.
  for (int64_t half = 0; half < 2; ++half) {
    const float *factor = a.data;
    const uint8_t *from = panel;
    for (int64_t block = 0; block < form.depth; block += form.block) {
      const auto *heads = reinterpret_cast<const float *>(from) + 8 * half;
      from += headBytes * (withZeros ? 2 : 1);
      __m256 part[rows][vectors];
      for (int row = 0; row < rows; ++row)
        for (int v = 0; v < vectors; ++v)
          part[row][v] = _mm256_setzero_ps();
      for (int64_t k = 0; k < form.block; k += step) {
        __m256i words;
        if constexpr (bits == 4)
          words = _mm256_load_si256(
              reinterpret_cast<const __m256i *>(from + 32 * half));
        for (int at = 0; at < step; ++at) {
          for (int v = 0; v < vectors; ++v) {
            __m256 weights;
            if constexpr (bits == 4)
              weights =
                  _mm256_sub_ps(_mm256_cvtepi32_ps(_mm256_and_si256(
                                    _mm256_srli_epi32(words, 4 * (2 * v + at)),
                                    _mm256_set1_epi32(15))),
                                zero);
            else
              weights = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(
                  _mm_loadl_epi64(reinterpret_cast<const __m128i *>(
                      from + 16 * v + 8 * half))));
            if constexpr (withZeros)
              weights = _mm256_sub_ps(
                  weights, _mm256_load_ps(heads + rowPanelColumns + 16 * v));
            for (int row = 0; row < rows; ++row)
              part[row][v] =
                  _mm256_fmadd_ps(_mm256_set1_ps(factor[row * a.rowStride]),
                                  weights, part[row][v]);
          }
          factor += a.colStride;
        }
        from += rowPanelColumns;
      }
      for (int v = 0; v < vectors; ++v)
        for (int row = 0; row < rows; ++row) {
          float *at = sums + row * rowPanelColumns + 16 * v + 8 * half;
          _mm256_storeu_ps(at,
                           _mm256_fmadd_ps(_mm256_load_ps(heads + 16 * v),
                                           part[row][v], _mm256_loadu_ps(at)));
        }
    }
  }
}

template <int bits, bool withZeros>
PanelFunction functionOf(RowUnit unit, int64_t rows) {
  static constexpr PanelFunction avx512[] = {
      multiplyAvx512<bits, withZeros, 1>, multiplyAvx512<bits, withZeros, 2>,
      multiplyAvx512<bits, withZeros, 3>, multiplyAvx512<bits, withZeros, 4>};
  static constexpr PanelFunction avx2[] = {
      multiplyAvx2<bits, withZeros, 1>, multiplyAvx2<bits, withZeros, 2>,
      multiplyAvx2<bits, withZeros, 3>, multiplyAvx2<bits, withZeros, 4>};
  static_assert(std::size(avx512) == maxPanelRows);
  return unit == RowUnit::Avx512 ? avx512[rows - 1] : avx2[rows - 1];
}

} // namespace

PanelFunction coded_panels::function(RowUnit unit,
                                     const sinter_coded_weights &weights,
                                     uint32_t dtype, int64_t rows) {
  if (hasZeros(weights, dtype))
    return weights.bits == 4 ? functionOf<4, true>(unit, rows)
                             : functionOf<8, true>(unit, rows);
  return weights.bits == 4 ? functionOf<4, false>(unit, rows)
                           : functionOf<8, false>(unit, rows);
}
#else
PanelFunction coded_panels::function(RowUnit, const sinter_coded_weights &,
                                     uint32_t, int64_t) {
  return nullptr;
}
#endif
