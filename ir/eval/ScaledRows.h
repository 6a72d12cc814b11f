//===- ScaledRows.h - sums of rows in evaluations ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Internal to ir/eval. The inner loop of products and convolutions. Each sum is
// added in the order of its terms, one after the other, however wide the
// vectors of the CPU are: so the results have the same bits everywhere.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_EVAL_SCALEDROWS_H
#define SINTER_IR_EVAL_SCALEDROWS_H

#include <cstdint>

namespace sinter::ir {

/// The lists of scales that share the reading of a row.
inline constexpr int64_t kScaleLists = 4;

/// sums[l][j] += scales[l][0] * rows[j] + scales[l][1] * rows[size + j] + ...,
/// for j < size, `count` rows and `lists` <= kScaleLists. Integers wrap around.
void addScaledRows(double *const *sums, int64_t size,
                   const double *const *scales, int64_t lists,
                   const double *rows, int64_t count);
void addScaledRows(uint64_t *const *sums, int64_t size,
                   const uint64_t *const *scales, int64_t lists,
                   const uint64_t *rows, int64_t count);

} // namespace sinter::ir

#endif // SINTER_IR_EVAL_SCALEDROWS_H
