//===- ByteRanges.h - ranges of bytes in buffers ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_BYTERANGES_H
#define SINTER_RUNTIME_BASE_BYTERANGES_H

#include <algorithm>
#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

namespace sinter::rt {

/// Bytes `begin` to `end` - 1 of a buffer.
struct ByteRange {
  std::pair<uint32_t, uint32_t> buffer; // a slice's space and index
  uint64_t begin, end;
  auto operator<=>(const ByteRange &) const = default;
};

/// The number of bytes that are in at least one of the ranges.
inline uint64_t unionBytes(std::vector<ByteRange> ranges) {
  std::sort(ranges.begin(), ranges.end());
  uint64_t bytes = 0, counted = 0; // counted: up to here in this buffer
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (i == 0 || ranges[i].buffer != ranges[i - 1].buffer)
      counted = 0;
    const uint64_t end = ranges[i].end;
    bytes += end - std::min(std::max(counted, ranges[i].begin), end);
    counted = std::max(counted, end);
  }
  return bytes;
}

/// The same of slices of abi.h, from `begin` to `end` - 1.
template <class Slice>
uint64_t unionBytes(const Slice *begin, const Slice *end) {
  std::vector<ByteRange> ranges;
  for (const Slice *slice = begin; slice != end; ++slice)
    ranges.push_back({{slice->space, slice->index},
                      slice->offsetBytes,
                      slice->offsetBytes + slice->sizeBytes});
  return unionBytes(std::move(ranges));
}

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_BYTERANGES_H
