//===- ByteSums16.cpp - products of bytes with sums of 16 bits ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// vpmaddubsw multiplies and adds pairs in 16 bits. Two of them are added before
// vpmaddwd by ones widens the sums to 32 bits. ByteCorrections.h says why none
// saturates.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/ByteCorrections.h"

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>

using namespace sinter::cpu;
using namespace sinter::cpu::bytetiles;

namespace {

#define SINTER_AVX2_INLINE __attribute__((target("avx2"), always_inline)) inline

/// The columns of a register, and of a tile.
constexpr int registers = 2;
static_assert(registers * ByteCorrection::columns == tileColumns);

/// Signed elements are shifted: 128 is added to them.
template <bool isShifted> SINTER_AVX2_INLINE __m256i shifted(__m256i x) {
  return isShifted ? _mm256_xor_si256(x, _mm256_set1_epi8(-128)) : x;
}

template <bool isShifted> SINTER_AVX2_INLINE __m256i groupOf(const uint8_t *a) {
  int four;
  std::memcpy(&four, a, sizeof(four));
  return shifted<isShifted>(_mm256_set1_epi32(four));
}

SINTER_AVX2_INLINE __m256i plusPairs(__m256i sum, __m256i pairs) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

/// Adds the corrections of 8 columns to `count` rows of sums.
template <int count, bool isShifted>
__attribute__((target("avx2"))) void
correctRows(const ByteBlock &rows, int64_t first,
            const PanelCorrections &corrections, uint32_t begin, uint32_t end,
            uint32_t *sums) {
  const uint8_t *a[count];
  __m256i sum[count];
  for (int row = 0; row < count; ++row) {
    a[row] = rows.row(first + row);
    sum[row] = _mm256_load_si256(
        reinterpret_cast<const __m256i *>(sums + (first + row) * panelColumns));
  }
  for (uint32_t i = begin; i < end; ++i) {
    const ByteCorrection &own = corrections.list[i];
    const __m256i places = _mm256_load_si256(
                      reinterpret_cast<const __m256i *>(own.places)),
                  factors = _mm256_load_si256(
                      reinterpret_cast<const __m256i *>(own.factors));
    const int64_t window = corrections.windows[i];
    for (int row = 0; row < count; ++row) {
      const __m256i x = shifted<isShifted>(_mm256_broadcastsi128_si256(
          _mm_loadu_si128(reinterpret_cast<const __m128i *>(a[row] + window))));
      sum[row] = plusPairs(
          sum[row],
          _mm256_maddubs_epi16(_mm256_shuffle_epi8(x, places), factors));
    }
  }
  for (int row = 0; row < count; ++row)
    _mm256_store_si256(
        reinterpret_cast<__m256i *>(sums + (first + row) * panelColumns),
        sum[row]);
}

/// `count` rows of A from row `first` on, by the columns of one tile at a time.
template <int count, bool isShifted>
__attribute__((target("avx2"))) void
multiplyRows(const ByteBlock &rows, int64_t first, const uint8_t *panel,
             uint32_t *sums) {
  const uint8_t *a[count];
  for (int row = 0; row < count; ++row)
    a[row] = rows.row(first + row);
  for (int64_t tile = 0; tile < 2; ++tile) {
    __m256i sum[count][registers];
    for (int row = 0; row < count; ++row)
      for (int i = 0; i < registers; ++i)
        sum[row][i] = _mm256_setzero_si256();
    for (const PanelPart &part : rows.parts)
      for (int64_t k = 0; k < rows.used; k += byteStep) {
        const auto *line = reinterpret_cast<const __m256i *>(
            panel + part.inPanel + panelColumns * k + tile * tileBytes);
        for (int64_t at = part.inRow + k,
                     end = part.inRow + std::min(rows.used, k + byteStep);
             at < end; at += 2 * group, line += 2 * registers) {
          constexpr int64_t ahead = stepBytes / sizeof(__m256i);
          __builtin_prefetch(line + ahead);
          __builtin_prefetch(line + ahead + lineBytes / sizeof(__m256i));
          __m256i b[2 * registers];
          for (int i = 0; i < 2 * registers; ++i)
            b[i] = _mm256_load_si256(line + i);
          for (int row = 0; row < count; ++row) {
            const __m256i low = groupOf<isShifted>(a[row] + at),
                          high = groupOf<isShifted>(a[row] + at + group);
            for (int i = 0; i < registers; ++i)
              sum[row][i] =
                  plusPairs(sum[row][i],
                            _mm256_add_epi16(
                                _mm256_maddubs_epi16(low, b[i]),
                                _mm256_maddubs_epi16(high, b[registers + i])));
          }
        }
      }
    for (int row = 0; row < count; ++row)
      for (int i = 0; i < registers; ++i)
        _mm256_store_si256(
            reinterpret_cast<__m256i *>(sums + (first + row) * panelColumns +
                                        tile * tileColumns +
                                        i * ByteCorrection::columns),
            sum[row][i]);
  }
}

/// Rows of sums of 8 columns that fit the registers.
constexpr int64_t mostCorrected = 8;

template <bool isShifted>
void multiply(const ByteBlock &rows, const uint8_t *panel, uint32_t *sums) {
  using Function =
      void (*)(const ByteBlock &, int64_t, const uint8_t *, uint32_t *);
  static constexpr std::array<Function, 4> functions = {
      multiplyRows<1, isShifted>, multiplyRows<2, isShifted>,
      multiplyRows<3, isShifted>, multiplyRows<4, isShifted>};
  forEvenGroups(rows.count, unitRows(ByteUnit::Sums16).most,
                [&](int64_t first, int64_t count) {
                  functions[static_cast<size_t>(count - 1)](rows, first, panel,
                                                            sums);
                });
}

/// Adds corrections [begin, end) of the 8 columns from `sums` on.
template <bool isShifted>
void correct(const ByteBlock &rows, const PanelCorrections &corrections,
             uint32_t begin, uint32_t end, uint32_t *sums) {
  using Function =
      void (*)(const ByteBlock &, int64_t, const PanelCorrections &, uint32_t,
               uint32_t, uint32_t *);
  static constexpr std::array<Function, mostCorrected> functions = {
      correctRows<1, isShifted>, correctRows<2, isShifted>,
      correctRows<3, isShifted>, correctRows<4, isShifted>,
      correctRows<5, isShifted>, correctRows<6, isShifted>,
      correctRows<7, isShifted>, correctRows<8, isShifted>};
  if (begin == end)
    return;
  forEvenGroups(rows.count, mostCorrected, [&](int64_t first, int64_t count) {
    functions[static_cast<size_t>(count - 1)](rows, first, corrections, begin,
                                              end, sums);
  });
}

template <bool isShifted>
void multiplyAndCorrect(const ByteBlock &rows, const uint8_t *panel,
                        const PanelCorrections &corrections, uint32_t *sums) {
  multiply<isShifted>(rows, panel, sums);
  const bool isWhole =
      static_cast<int64_t>(rows.parts.size()) == corrections.parts;
  for (int64_t quarter = 0; quarter < PanelCorrections::quarters; ++quarter) {
    const uint32_t *starts = corrections.starts + quarter * corrections.parts;
    uint32_t *own = sums + quarter * ByteCorrection::columns;
    if (isWhole) {
      correct<isShifted>(rows, corrections, starts[0],
                         starts[corrections.parts], own);
      continue;
    }
    for (const PanelPart &part : rows.parts) {
      const int64_t number = part.inPanel / (panelColumns * rows.depth);
      correct<isShifted>(rows, corrections, starts[number], starts[number + 1],
                         own);
    }
  }
}

} // namespace

void sinter::cpu::multiplyBySums16(const ByteBlock &rows, bool isSigned,
                                   const uint8_t *panel,
                                   const PanelCorrections &corrections,
                                   uint32_t *sums) {
  (isSigned ? multiplyAndCorrect<true>
            : multiplyAndCorrect<false>)(rows, panel, corrections, sums);
}
#else
void sinter::cpu::multiplyBySums16(const ByteBlock &, bool, const uint8_t *,
                                   const PanelCorrections &, uint32_t *) {}
#endif
