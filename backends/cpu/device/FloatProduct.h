//===- FloatProduct.h - fp32 products of gathered rows ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_FLOATPRODUCT_H
#define SINTER_BACKENDS_CPU_DEVICE_FLOATPRODUCT_H

#include "backends/cpu/device/OneDnnLibrary.h"

namespace sinter::cpu {

/// Rows of A that are not in memory as such.
class RowSource {
public:
  virtual ~RowSource() = default;

  /// Writes elements [k, k + depth) of rows [row, row + rows) as
  /// interleaveRows() does. `a` is the operand in memory.
  virtual void interleave(const float *a, int64_t row, int64_t rows, int64_t k,
                          int64_t depth, float *to) const = 0;
};

/// MATMUL of fp32 whose A comes from `source`, by AVX2; null for shapes that
/// prepareFloatProduct() does not take. `b` is dense, k x n, and is read now.
LibraryCallResult
prepareGatheredProduct(OneDnnContext &context, const sinter_command &command,
                       const float *b, std::unique_ptr<const RowSource> source);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_FLOATPRODUCT_H
