//===- ScaledRows.cpp - sums of rows in evaluations -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/ScaledRows.h"

#include <algorithm>

using namespace sinter;

/// The sums of a list that are in registers.
static constexpr int64_t kWidth = 16;

template <int64_t Lists, class T>
[[gnu::always_inline]] static inline void
addLists(T *const *sums, int64_t size, const T *const *scales, const T *rows,
         int64_t count) {
  int64_t begin = 0;
  for (; begin + kWidth <= size; begin += kWidth) {
    T block[Lists][kWidth];
    for (int64_t l = 0; l < Lists; ++l)
      std::copy_n(sums[l] + begin, kWidth, block[l]);
    for (int64_t i = 0; i < count; ++i) {
      const T *row = rows + i * size + begin;
      for (int64_t l = 0; l < Lists; ++l)
        for (int64_t j = 0; j < kWidth; ++j)
          block[l][j] += scales[l][i] * row[j];
    }
    for (int64_t l = 0; l < Lists; ++l)
      std::copy_n(block[l], kWidth, sums[l] + begin);
  }
  for (int64_t i = 0; i < count; ++i)
    for (int64_t l = 0; l < Lists; ++l)
      for (int64_t j = begin; j < size; ++j)
        sums[l][j] += scales[l][i] * rows[i * size + j];
}

template <class T>
[[gnu::always_inline]] static inline void
addAll(T *const *sums, int64_t size, const T *const *scales, int64_t lists,
       const T *rows, int64_t count) {
  if (lists == ir::kScaleLists)
    return addLists<ir::kScaleLists>(sums, size, scales, rows, count);
  for (int64_t l = 0; l < lists; ++l)
    addLists<1>(sums + l, size, scales + l, rows, count);
}

__attribute__((target_clones("avx512f", "avx2", "default"))) static void
addFloats(double *const *sums, int64_t size, const double *const *scales,
          int64_t lists, const double *rows, int64_t count) {
  addAll(sums, size, scales, lists, rows, count);
}

void ir::addScaledRows(double *const *sums, int64_t size,
                       const double *const *scales, int64_t lists,
                       const double *rows, int64_t count) {
  addFloats(sums, size, scales, lists, rows, count);
}

void ir::addScaledRows(uint64_t *const *sums, int64_t size,
                       const uint64_t *const *scales, int64_t lists,
                       const uint64_t *rows, int64_t count) {
  addAll(sums, size, scales, lists, rows, count);
}
