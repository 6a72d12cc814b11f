//===- ReplicaSum.h - sums over replicas by loops ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The sum for devices whose replicas can read each other's memory. The
// replicas' numbers determine the tree of the sum: neighbours are added in
// pairs, then neighbouring pairs. 16-bit floats are summed in fp32 and rounded
// once.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_DEVICE_REPLICASUM_H
#define SINTER_BACKENDS_COMMON_DEVICE_REPLICASUM_H

#include "runtime/base/Float16.h"
#include "sinter/abi.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace sinter::plain {

/// Sets elements [begin, end) of every `to[r]` to the sum of those elements of
/// `from[..]`, for at most 4096 replicas. `to[r]` may be `from[r]`.
/// False for a dtype that cannot be summed.
inline bool sumReplicas(uint32_t dtype, const std::vector<const void *> &from,
                        const std::vector<void *> &to, uint64_t begin,
                        uint64_t end) {
  auto sum = [&](auto element, auto wide) {
    using Element = decltype(element);
    using Wide = decltype(wide);
    // By blocks that stay in the cache, so that loops run along elements.
    constexpr uint64_t most = 4096;
    std::array<Wide, most> values;
    const uint64_t block = most / from.size();
    for (uint64_t first = begin; first < end; first += block) {
      const uint64_t count = std::min(block, end - first);
      for (size_t r = 0; r < from.size(); ++r) {
        const Element *source = static_cast<const Element *>(from[r]) + first;
        Wide *value = values.data() + r * block;
        for (uint64_t i = 0; i < count; ++i)
          if constexpr (std::is_integral_v<Element>)
            value[i] = static_cast<Wide>(source[i]);
          else
            value[i] = rt::toFloat(source[i]);
      }
      for (size_t step = 1; step < from.size(); step *= 2)
        for (size_t r = 0; r + step < from.size(); r += 2 * step) {
          Wide *left = values.data() + r * block;
          const Wide *right = left + step * block;
          for (uint64_t i = 0; i < count; ++i)
            left[i] = static_cast<Wide>(left[i] + right[i]);
        }
      for (void *each : to) {
        Element *result = static_cast<Element *>(each) + first;
        for (uint64_t i = 0; i < count; ++i)
          if constexpr (std::is_integral_v<Element>)
            result[i] = static_cast<Element>(values[i]);
          else
            rt::fromFloat(values[i], result[i]);
      }
    }
    return true;
  };
  switch (dtype) {
  case SINTER_F32:
    return sum(float(), float());
  case SINTER_F64:
    return sum(double(), double());
  case SINTER_F16:
    return sum(rt::Half(), float());
  case SINTER_BF16:
    return sum(rt::Bfloat(), float());
  case SINTER_I8:
    return sum(int8_t(), uint64_t());
  case SINTER_U8:
    return sum(uint8_t(), uint64_t());
  case SINTER_I32:
    return sum(int32_t(), uint64_t());
  case SINTER_U32:
    return sum(uint32_t(), uint64_t());
  case SINTER_I64:
    return sum(int64_t(), uint64_t());
  case SINTER_U64:
    return sum(uint64_t(), uint64_t());
  default: // like NCCL: no bool, no 16-bit integers
    return false;
  }
}

} // namespace sinter::plain

#endif // SINTER_BACKENDS_COMMON_DEVICE_REPLICASUM_H
