//===- SpanningSum.h - sums over replicas of several processes --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A message's arrays, one after the other, are cut into a share for each
// process. Each process gets its share of all others, sums it, and sends the
// sums to all: as many bytes as a ring would move. The tree of the sum is that
// of ReplicaSum.h whatever process a replica is in.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_DEVICE_SPANNINGSUM_H
#define SINTER_BACKENDS_COMMON_DEVICE_SPANNINGSUM_H

#include "backends/common/device/ReplicaSum.h"
#include "runtime/collective/Communicator.h"
#include "runtime/collective/SpanningGroup.h"
#include "runtime/data/ElementType.h"

#include <cstring>
#include <vector>

namespace sinter::plain {

class SpanningSum {
public:
  explicit SpanningSum(rt::SpanningGroup group) : group_(std::move(group)) {}

  const rt::SpanningGroup &group() const { return group_; }

  /// Begins a message. buffers[l] are those of local replica l, as
  /// Communicator::allReduce has them. One thread.
  void begin(const rt::Reduction &reduction,
             std::vector<void *const *> buffers) {
    dtype_ = reduction.dtype;
    elementBytes_ = rt::elementBytes(dtype_);
    elements_ = reduction.elements;
    buffers_ = std::move(buffers);
    total_ = 0;
    for (uint64_t count : elements_)
      total_ += count;
    const bool isPowerOfTwo = (group_.count & (group_.count - 1)) == 0;
    const bool isRounded = dtype_ == SINTER_F16 || dtype_ == SINTER_BF16;
    copies_ = isPowerOfTwo && !isRounded ? 1 : group_.count;
    staged_.resize(copies_ * total_ * elementBytes_);
    received_.resize(group_.processes * copies_ * share(group_.process).size() *
                     elementBytes_);
    sums_.resize(total_ * elementBytes_);
  }

  /// Copies what this process sends: part `part` of `parts`. Any thread.
  /// False for a dtype that cannot be summed.
  bool stage(uint32_t part, uint32_t parts) {
    bool isSummed = true;
    forEachRun(partOf({0, total_}, part, parts),
               [&](size_t array, uint64_t offset, uint64_t at, uint64_t count,
                   uint32_t process) {
                 const Range range = share(process);
                 uint8_t *to = staged_.data() +
                               (copies_ * range.begin + (at - range.begin)) *
                                   elementBytes_;
                 std::vector<const void *> from;
                 for (void *const *each : buffers_)
                   from.push_back(static_cast<const uint8_t *>(each[array]) +
                                  offset * elementBytes_);
                 if (from.size() > 1 && copies_ == 1) {
                   isSummed &= sumReplicas(dtype_, from, {to}, 0, count);
                   return;
                 }
                 for (const void *each : from) {
                   std::memcpy(to, each, count * elementBytes_);
                   to += range.size() * elementBytes_;
                 }
               });
    return isSummed;
  }

  /// After all parts are staged. One thread.
  rt::Status exchangeParts() {
    std::vector<std::span<const uint8_t>> from(group_.processes);
    std::vector<std::span<uint8_t>> to(group_.processes);
    const uint64_t mine =
        copies_ * share(group_.process).size() * elementBytes_;
    for (uint32_t p = 0; p < group_.processes; ++p) {
      const Range range = share(p);
      from[p] = {staged_.data() + copies_ * range.begin * elementBytes_,
                 copies_ * range.size() * elementBytes_};
      to[p] = {received_.data() + p * mine, mine};
    }
    return group_.exchange->exchange(from, to);
  }

  /// Sums part `part` of `parts` of this process's share. Any thread.
  bool sum(uint32_t part, uint32_t parts) {
    const Range mine = share(group_.process);
    const uint64_t bytes = mine.size() * elementBytes_;
    std::vector<const void *> from;
    for (uint32_t p = 0; p < group_.processes; ++p)
      for (uint32_t copy = 0; copy < copies_; ++copy)
        from.push_back(p == group_.process
                           ? staged_.data() +
                                 copies_ * mine.begin * elementBytes_ +
                                 copy * bytes
                           : received_.data() + (p * copies_ + copy) * bytes);
    const Range range = partOf({0, mine.size()}, part, parts);
    return sumReplicas(dtype_, from,
                       {sums_.data() + mine.begin * elementBytes_}, range.begin,
                       range.end);
  }

  /// After all parts are summed. One thread.
  rt::Status exchangeSums() {
    std::vector<std::span<const uint8_t>> from(group_.processes);
    std::vector<std::span<uint8_t>> to(group_.processes);
    auto bytesOf = [&](const Range &range) {
      return std::span<uint8_t>(sums_.data() + range.begin * elementBytes_,
                                range.size() * elementBytes_);
    };
    for (uint32_t p = 0; p < group_.processes; ++p) {
      from[p] = bytesOf(share(group_.process));
      to[p] = bytesOf(share(p));
    }
    return group_.exchange->exchange(from, to);
  }

  /// Copies the sums to the arrays of local replica `replica`. Any thread.
  void deliver(uint32_t replica) const {
    const uint8_t *from = sums_.data();
    for (size_t i = 0; i < elements_.size(); ++i) {
      const uint64_t bytes = elements_[i] * elementBytes_;
      if (bytes)
        std::memcpy(buffers_[replica][elements_.size() + i], from, bytes);
      from += bytes;
    }
  }

private:
  struct Range {
    uint64_t begin, end;
    uint64_t size() const { return end - begin; }
  };
  /// Boundaries are multiples of 64 elements, so that no cache line has two
  /// writers.
  static Range partOf(Range whole, uint32_t part, uint32_t parts) {
    const uint64_t each = (whole.size() / parts + 64) / 64 * 64,
                   begin = std::min(whole.end, whole.begin + each * part);
    return {begin, std::min(whole.end, begin + each)};
  }
  Range share(uint32_t process) const {
    return partOf({0, total_}, process, group_.processes);
  }
  /// Calls `function` for each part of `range` that is in one array and one
  /// share: (array, offset in it, offset in all arrays, count, process).
  template <typename Function>
  void forEachRun(Range range, Function function) const {
    uint64_t begin = 0; // of the array
    for (size_t array = 0; array < elements_.size(); ++array) {
      const uint64_t end = begin + elements_[array];
      uint64_t at = std::max(begin, range.begin);
      for (uint32_t p = 0; p < group_.processes; ++p) {
        const uint64_t last = std::min({end, range.end, share(p).end});
        if (at >= last)
          continue;
        function(array, at - begin, at, last - at, p);
        at = last;
      }
      begin = end;
    }
  }

  const rt::SpanningGroup group_;
  uint32_t dtype_ = 0, elementBytes_ = 0;
  std::span<const uint64_t> elements_;
  std::vector<void *const *> buffers_; // by local replica
  uint64_t total_ = 0;                 // elements of all arrays
  /// For each element of a share, values of this process that are sent: one
  /// sum, or those of all replicas where a sum of them would have another tree
  /// or be rounded.
  uint32_t copies_ = 1;
  std::vector<uint8_t> staged_;   // by share, then by copy
  std::vector<uint8_t> received_; // by process, then by copy
  std::vector<uint8_t> sums_;
};

} // namespace sinter::plain

#endif // SINTER_BACKENDS_COMMON_DEVICE_SPANNINGSUM_H
