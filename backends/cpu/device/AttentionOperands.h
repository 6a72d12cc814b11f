//===- AttentionOperands.h - where the operands of a head lie ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_ATTENTIONOPERANDS_H
#define SINTER_BACKENDS_CPU_DEVICE_ATTENTIONOPERANDS_H

#include "backends/cpu/device/AttentionUnits.h"

#include "sinter/abi.h"

namespace sinter::cpu {

/// One head of an attention.
struct Head {
  int64_t batch, head;
};

/// The rows of `operand`, whose elements have `width` bytes, of a head, from
/// row `row` on.
inline HeadRows rowsOf(const void *operand, const sinter_heads &at,
                       int64_t width, const Head &head, int64_t row) {
  return {static_cast<const uint8_t *>(operand) +
              width * (head.batch * at.batchStride + head.head * at.headStride +
                       row * at.rowStride),
          at.rowStride};
}

/// The element of a mask for a query and a key of a head.
inline const float *maskAt(const void *mask, const sinter_heads &at,
                           const Head &head, int64_t query, int64_t key) {
  return static_cast<const float *>(rowsOf(mask, at, 4, head, query).data) +
         key;
}

/// Rows begin an odd number of cache lines apart, so that they do not compete
/// for the same places of a cache.
constexpr int64_t oddLines(int64_t bytes) {
  return (bytes + 127) / 128 * 128 + 64;
}

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_ATTENTIONOPERANDS_H
