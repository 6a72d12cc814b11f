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

/// sums[j] += scales[0] * rows[j] + scales[1] * rows[size + j] + ..., for j <
/// size and `count` rows. Integers wrap around.
void addScaledRows(double *sums, int64_t size, const double *scales,
                   const double *rows, int64_t count);
void addScaledRows(uint64_t *sums, int64_t size, const uint64_t *scales,
                   const uint64_t *rows, int64_t count);

} // namespace sinter::ir

#endif // SINTER_IR_EVAL_SCALEDROWS_H
