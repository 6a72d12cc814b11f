//===- TransposeSquare.h - 16 x 16 words in registers -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_TRANSPOSESQUARE_H
#define SINTER_BACKENDS_CPU_DEVICE_TRANSPOSESQUARE_H

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>

namespace sinter::cpu {

/// Word j of line i of `from` becomes word i of line j of `to`, for 16 lines of
/// 16 words of 4 bytes. Strides in elements. The CPU has AVX-512.
template <class To, class From>
__attribute__((target("avx512f"))) inline void
transposeSquare(To *to, int64_t toStride, const From *from,
                int64_t fromStride) {
  __m512i r[16], t[16];
  for (int i = 0; i < 16; ++i)
    r[i] = _mm512_loadu_si512(from + i * fromStride);
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4)
    for (int j = 0; j < 2; ++j) {
      r[i + 2 * j] = _mm512_unpacklo_epi64(t[i + j], t[i + j + 2]);
      r[i + 2 * j + 1] = _mm512_unpackhi_epi64(t[i + j], t[i + j + 2]);
    }
  // r[4 q + p] has, in its four parts, the words p, p + 4, .. of lines 4 q to
  // 4 q + 3.
  for (int p = 0; p < 4; ++p) {
    __m512i a = _mm512_shuffle_i32x4(r[p], r[4 + p], 0x88),
            b = _mm512_shuffle_i32x4(r[p], r[4 + p], 0xdd),
            c = _mm512_shuffle_i32x4(r[8 + p], r[12 + p], 0x88),
            d = _mm512_shuffle_i32x4(r[8 + p], r[12 + p], 0xdd);
    To *line = to + p * toStride;
    _mm512_storeu_si512(line, _mm512_shuffle_i32x4(a, c, 0x88));
    _mm512_storeu_si512(line + 4 * toStride, _mm512_shuffle_i32x4(b, d, 0x88));
    _mm512_storeu_si512(line + 8 * toStride, _mm512_shuffle_i32x4(a, c, 0xdd));
    _mm512_storeu_si512(line + 12 * toStride, _mm512_shuffle_i32x4(b, d, 0xdd));
  }
}

} // namespace sinter::cpu
#endif

#endif // SINTER_BACKENDS_CPU_DEVICE_TRANSPOSESQUARE_H
