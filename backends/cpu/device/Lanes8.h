//===- Lanes8.h - some lanes of registers of AVX2 ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_LANES8_H
#define SINTER_BACKENDS_CPU_DEVICE_LANES8_H

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>

namespace sinter::cpu {

/// The mask of the first `count` of 8 lanes; none if it is negative, all if it
/// is more than 8.
__attribute__((target("avx2"))) inline __m256i firstLanes(int64_t count) {
  return _mm256_cmpgt_epi32(
      _mm256_set1_epi32(static_cast<int>(std::clamp<int64_t>(count, 0, 8))),
      _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

} // namespace sinter::cpu
#endif

#endif // SINTER_BACKENDS_CPU_DEVICE_LANES8_H
