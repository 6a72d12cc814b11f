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
#include <optional>
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

/// The table of the manifest with the limits of kernels by their names:
/// [{"read", "bytes_read"}, {"read", "bytes_read", "write", "bytes_written"}].
inline constexpr const char *kKernelAccesses = "kernel_accesses";

/// The most bytes that a kernel reads of one of its buffers, and writes if a
/// result is in the same one (passes/AccessedBytes.h).
struct AccessLimit {
  uint32_t read; // a place among the slices that are read
  uint64_t bytesRead;
  std::optional<uint32_t> write; // a place among those that are written
  uint64_t bytesWritten;
};

struct AccessedBytes {
  uint64_t read = 0, written = 0;
};

/// The bytes of the whole arrays of a COLLECTIVE of abi.h, of which one replica
/// may read or write a part.
template <class Command> uint64_t wholeBytes(const Command &collective) {
  uint64_t read = 0, written = 0;
  for (uint32_t i = 0; i < collective.numSlices; ++i)
    (i < collective.numReads ? read : written) +=
        collective.slices[i].sizeBytes;
  return std::max(read, written);
}

/// The bytes that a command of abi.h reads and those that it writes, each once:
/// slices of one buffer may overlap, as the operands of attention in a packed
/// tensor do. Bytes that it reads and writes count in both. `limits`: of its
/// kernel.
template <class Command>
AccessedBytes accessedBytes(const Command &command,
                            const std::vector<AccessLimit> &limits = {}) {
  const auto *slices = command.slices;
  std::vector<ByteRange> reads, writes;
  for (uint32_t i = 0; i < command.numSlices; ++i)
    (i < command.numReads ? reads : writes)
        .push_back({{slices[i].space, slices[i].index},
                    slices[i].offsetBytes,
                    slices[i].offsetBytes + slices[i].sizeBytes});
  // A limited slice may be a part of another one.
  const AccessedBytes all{unionBytes(reads), unionBytes(writes)};
  if (limits.empty())
    return all;
  AccessedBytes limited;
  for (const AccessLimit &limit : limits) {
    if (limit.read >= reads.size() ||
        (limit.write && (*limit.write >= writes.size() ||
                         reads[limit.read] != writes[*limit.write])))
      continue;
    auto take = [](ByteRange &range, uint64_t bytes) {
      bytes = std::min(bytes, range.end - range.begin);
      range.end = range.begin;
      return bytes;
    };
    limited.read += take(reads[limit.read], limit.bytesRead);
    if (limit.write)
      limited.written += take(writes[*limit.write], limit.bytesWritten);
  }
  return {
      std::min(all.read, unionBytes(std::move(reads)) + limited.read),
      std::min(all.written, unionBytes(std::move(writes)) + limited.written)};
}

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_BYTERANGES_H
