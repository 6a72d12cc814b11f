//===- FloatProduct.h - fp32 products of gathered rows ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_FLOATPRODUCT_H
#define SINTER_BACKENDS_CPU_DEVICE_FLOATPRODUCT_H

#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/FloatPanels.h"

#include <array>

namespace sinter::cpu {

/// The deepest stretch, on all CPUs, as the bits depend on it. What a tile
/// reads of a panel is read again for the next tile: 96 KiB for AVX-512 stay in
/// the cache of level 2, 24 KiB for AVX2 in that of level 1.
inline constexpr int64_t mostStretch = 384;

/// Rows of A that are not in memory as such. Tiles of at most
/// mostInterleavedRows rows are gathered for a stretch of the depth.
class RowSource {
public:
  virtual ~RowSource() = default;

  /// The most groups of columns.
  static constexpr size_t mostGroups = 32;
  /// Whether rows [row, row + rows) share elements, so that their columns are
  /// gathered as groupsOf() says. Otherwise they are one group.
  virtual bool isShared(int64_t row, int64_t rows) const = 0;
  /// The groups of elements [k, k + depth) of rows that are shared; the number
  /// of them.
  virtual size_t
  groupsOf(int64_t k, int64_t depth,
           std::array<GatheredColumns, mostGroups> &groups) const = 0;
  /// Writes elements [k, k + depth) of rows [row, row + rows), shared or not:
  /// at most gatheredStride * depth elements. `a` is the operand in memory.
  virtual void gather(const float *a, int64_t row, int64_t rows, int64_t k,
                      int64_t depth, float *to) const = 0;
};

/// MATMUL of fp32 whose A comes from `source`, by AVX2; null for shapes that
/// prepareFloatProduct() does not take. `b` is dense, k x n, and is read now.
LibraryCallResult
prepareGatheredProduct(OneDnnContext &context, const sinter_command &command,
                       const float *b, std::unique_ptr<const RowSource> source);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_FLOATPRODUCT_H
