//===- Partition.h - cutting a dimension into slices ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_PARTITION_H
#define SINTER_BACKENDS_CPU_DEVICE_PARTITION_H

#include <algorithm>
#include <cstdint>

namespace sinter::cpu {

/// Divides [0, total) into `count` nearly equal pieces with borders at
/// multiples of `granule`. Sizes take at most three values, so few primitives
/// are needed.
class Partition {
public:
  Partition() = default;
  /// `count` is lowered to the number of granules, and is at least 1.
  Partition(int64_t total, int64_t count, int64_t granule)
      : total_(total), granule_(std::max<int64_t>(granule, 1)) {
    units_ = (total + granule_ - 1) / granule_;
    count_ = std::clamp<int64_t>(count, 1, std::max<int64_t>(units_, 1));
  }

  int64_t count() const { return count_; }
  int64_t begin(int64_t i) const {
    // units_ and count_ are far below 2^31 each.
    return std::min(total_, i * units_ / count_ * granule_);
  }
  int64_t size(int64_t i) const {
    int64_t end = i + 1 == count_ ? total_ : begin(i + 1);
    return end - begin(i);
  }
  int64_t largest() const {
    return std::min(total_, (units_ + count_ - 1) / count_ * granule_);
  }

private:
  int64_t total_ = 0, granule_ = 1, units_ = 0, count_ = 1;
};

/// The estimated microseconds on one core, with about 150 GFLOP/s for
/// computation and 40 GB/s for memory traffic. Only ratios of such estimates
/// matter, and only for choosing slices. The estimate must depend only on the
/// shape.
inline double estimateUs(double flops, double bytes) {
  return flops / 150e3 + bytes / 40e3;
}

/// Less work than this is not worth its own slice.
inline constexpr double sliceUs = 25.0;
/// More slices than this help on no machine that we target and cost repeated
/// packing.
inline constexpr int64_t maxSlices = 64;

/// The number of slices for work of `us` microseconds.
inline int64_t slicesFor(double us) {
  return std::clamp<int64_t>(static_cast<int64_t>(us / sliceUs), 1, maxSlices);
}

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_PARTITION_H
