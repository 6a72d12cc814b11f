//===- ScaledRows.cpp - sums of rows in evaluations -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/ScaledRows.h"

#include <algorithm>

using namespace sinter;

/// Sums that are in registers.
static constexpr int64_t kWidth = 32;

template <class T>
[[gnu::always_inline]] static inline void
addBlocks(T *sums, int64_t size, const T *scales, const T *rows,
          int64_t count) {
  int64_t begin = 0;
  for (; begin + kWidth <= size; begin += kWidth) {
    T block[kWidth];
    std::copy_n(sums + begin, kWidth, block);
    for (int64_t i = 0; i < count; ++i) {
      const T *row = rows + i * size + begin;
      for (int64_t j = 0; j < kWidth; ++j)
        block[j] += scales[i] * row[j];
    }
    std::copy_n(block, kWidth, sums + begin);
  }
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = begin; j < size; ++j)
      sums[j] += scales[i] * rows[i * size + j];
}

__attribute__((target_clones("avx512f", "avx2", "default"))) static void
addFloats(double *sums, int64_t size, const double *scales, const double *rows,
          int64_t count) {
  addBlocks(sums, size, scales, rows, count);
}

void ir::addScaledRows(double *sums, int64_t size, const double *scales,
                       const double *rows, int64_t count) {
  addFloats(sums, size, scales, rows, count);
}

void ir::addScaledRows(uint64_t *sums, int64_t size, const uint64_t *scales,
                       const uint64_t *rows, int64_t count) {
  addBlocks(sums, size, scales, rows, count);
}
