//===- Blocks.h - moving and summing strided fp32 values --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The work around a library call: dense copies of operands that the library
// cannot read in place, and the sum of partial results in a fixed order.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_BLOCKS_H
#define SINTER_BACKENDS_CPU_DEVICE_BLOCKS_H

#include <cstdint>

namespace sinter::cpu {

/// A two-dimensional view of fp32 values; strides in elements.
struct Block {
  float *data;
  int64_t rows, cols;
  int64_t rowStride, colStride;
};

/// to = from, element by element, the same rows and cols.
void copyBlock(const Block &to, const float *from, int64_t fromRowStride,
               int64_t fromColStride);
void zeroBlock(const Block &block);

/// Sums elements [begin, end) of `count` arrays, first + i * stride, into the
/// first array. The sum is a balanced tree that depends only on `count`. The
/// other arrays are overwritten.
void sumPartials(float *first, int64_t stride, int64_t count, int64_t begin,
                 int64_t end);

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// A unit multiplies rows in groups of at most `most`. A group of fewer than
/// `least` rows takes as long as one of `least`: multiplications wait for the
/// sums of the ones before.
struct UnitRows {
  int64_t most, least;
};

/// Calls run(first, count) for groups of at most `most` of `total` rows. They
/// have almost the same size, so that none is small.
template <class Run> void forEvenGroups(int64_t total, int64_t most, Run run) {
  int64_t first = 0;
  for (int64_t left = ceilDiv(total, most); left > 0; --left) {
    const int64_t rest = total - first;
    // Without a division where all groups are full.
    const int64_t count = rest == left * most ? most : ceilDiv(rest, left);
    run(first, count);
    first += count;
  }
}

/// Rounds a size in bytes up to a whole number of cache lines.
inline int64_t alignUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_BLOCKS_H
