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

#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace sinter::plain {

inline constexpr uint32_t mostReplicas = 256;

/// Sets elements [begin, end) of every `to[r]` to the sum of those elements of
/// `from[..]`, for at most mostReplicas replicas. `to[r]` may be `from[r]`.
/// False for a dtype that cannot be summed.
inline bool sumReplicas(uint32_t dtype, const std::vector<const void *> &from,
                        const std::vector<void *> &to, uint64_t begin,
                        uint64_t end) {
  auto sum = [&](auto element, auto wide) {
    using Element = decltype(element);
    using Wide = decltype(wide);
    std::array<Wide, mostReplicas> values;
    for (uint64_t i = begin; i < end; ++i) {
      for (size_t r = 0; r < from.size(); ++r) {
        Element value = static_cast<const Element *>(from[r])[i];
        if constexpr (std::is_integral_v<Element>)
          values[r] = static_cast<Wide>(value);
        else
          values[r] = rt::toFloat(value);
      }
      for (size_t step = 1; step < from.size(); step *= 2)
        for (size_t r = 0; r + step < from.size(); r += 2 * step)
          values[r] = static_cast<Wide>(values[r] + values[r + step]);
      Element result;
      if constexpr (std::is_integral_v<Element>)
        result = static_cast<Element>(values[0]);
      else
        rt::fromFloat(values[0], result);
      for (void *each : to)
        static_cast<Element *>(each)[i] = result;
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
