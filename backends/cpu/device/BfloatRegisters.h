//===- BfloatRegisters.h - bf16 and its sums in registers -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// For kernels that end in bf16: operands become float32, and sums become bf16,
// 32 columns at a time.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_BFLOATREGISTERS_H
#define SINTER_BACKENDS_CPU_DEVICE_BFLOATREGISTERS_H

#include "runtime/base/Float16.h"
#include "runtime/base/FloatFunctions.h"

#include <cstdint>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>

#define SINTER_BFLOAT_CPU                                                      \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
// For helpers that become part of their callers.
#define SINTER_BFLOAT_INLINE                                                   \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"),               \
                 always_inline)) inline
#define SINTER_BFLOAT_LAMBDA                                                   \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"), always_inline))

namespace sinter::cpu {

SINTER_BFLOAT_INLINE __m512 widened(__m256i half) {
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

/// 16 columns of an operand; 0 where the mask is 0.
template <class Element>
SINTER_BFLOAT_INLINE __m512 loadOperand(const Element *from, __mmask16 mask) {
  if constexpr (std::is_same_v<Element, float>)
    return _mm512_maskz_loadu_ps(mask, from);
  else
    return widened(_mm256_maskz_loadu_epi16(mask, from));
}

/// Stores the columns of the mask, the first ones. A store with a mask reads
/// the line of memory first, and a load from behind its columns waits for it.
SINTER_BFLOAT_INLINE void storeLine(rt::Bfloat *to, __mmask32 mask,
                                    __m512i line) {
  auto *lines = reinterpret_cast<__m256i *>(to);
  auto *quarters = reinterpret_cast<__m128i *>(to);
  if (mask == 0xffffffff) {
    _mm512_storeu_si512(to, line);
  } else if (mask == 0xffffff) {
    _mm256_storeu_si256(lines, _mm512_castsi512_si256(line));
    _mm_storeu_si128(quarters + 2, _mm512_extracti32x4_epi32(line, 2));
  } else if (mask == 0xffff) {
    _mm256_storeu_si256(lines, _mm512_castsi512_si256(line));
  } else if (mask == 0xff) {
    _mm_storeu_si128(quarters, _mm512_castsi512_si128(line));
  } else {
    _mm512_mask_storeu_epi16(to, mask, line);
  }
}

/// 32 columns of float32; `Element` is bf16 or float32. vcvtne2ps2bf16 rounds
/// to nearest and stores denormal numbers as 0, as which the unit reads them.
template <class Element>
SINTER_BFLOAT_INLINE void storeRow(Element *to, __mmask32 mask, __m512 low,
                                   __m512 high) {
  if constexpr (std::is_same_v<Element, float>) {
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>(mask), low);
    _mm512_mask_storeu_ps(to + 16, static_cast<__mmask16>(mask >> 16), high);
  } else {
    storeLine(to, mask, (__m512i)_mm512_cvtne2ps_pbh(high, low));
  }
}

/// NaN stays NaN: vmaxps returns its second operand if one is NaN.
SINTER_BFLOAT_INLINE __m512 relu(__m512 x) {
  return _mm512_max_ps(_mm512_setzero_ps(), x);
}

using Function = float (*)(float);

template <Function function> SINTER_BFLOAT_INLINE __m512 applied(__m512 x) {
  if constexpr (function == nullptr)
    return x;
  float line[16];
  _mm512_storeu_ps(line, x);
  for (float &element : line)
    element = function(element);
  return _mm512_loadu_ps(line);
}

/// Compilers make a comparison and a choice of each bound.
template <> SINTER_BFLOAT_INLINE __m512 applied<rt::hardSwish>(__m512 x) {
  const __m512 gate =
      _mm512_fmadd_ps(x, _mm512_set1_ps(1.0F / 6.0F), _mm512_set1_ps(0.5F));
  const __m512 low = _mm512_max_ps(_mm512_setzero_ps(), gate);
  return _mm512_mul_ps(x, _mm512_min_ps(_mm512_set1_ps(1.0F), low));
}

} // namespace sinter::cpu
#endif

#endif // SINTER_BACKENDS_CPU_DEVICE_BFLOATREGISTERS_H
