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

/// [0, total) in `count` nearly equal pieces whose borders are multiples of
/// `granule`. Sizes take at most three values, so few primitives are needed.
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

/// The microseconds that one core is taken to need: about 150 GFLOP/s for what
/// is computed and 40 GB/s for what is touched. Only the ratio of such numbers
/// matters, and only to choose slices; it must depend on the shape alone.
inline double estimateUs(double flops, double bytes) {
  return flops / 150e3 + bytes / 40e3;
}

/// Less than this is not worth a slice of its own.
inline constexpr double sliceUs = 25.0;
/// More slices than this help no machine we aim at and cost repeated packing.
inline constexpr int64_t maxSlices = 64;

/// How many slices work of `us` microseconds deserves.
inline int64_t slicesFor(double us) {
  return std::clamp<int64_t>(static_cast<int64_t>(us / sliceUs), 1, maxSlices);
}

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_PARTITION_H
