//===- AttentionLibraryCall.h - what calls of attention share ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_ATTENTIONLIBRARYCALL_H
#define SINTER_BACKENDS_CPU_DEVICE_ATTENTIONLIBRARYCALL_H

#include "backends/cpu/device/AttentionUnits.h"
#include "backends/cpu/device/Blocks.h"
#include "runtime/device/Library.h"

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

/// An attention or its gradient. Each worker has scratch of its own.
class AttentionLibraryCall : public rt::LibraryCall {
public:
  uint64_t sharedBytes() const final { return 0; }
  uint64_t perWorkerBytes() const final {
    return static_cast<uint64_t>(scratchBytes_);
  }
  rt::Status bind(const rt::Scratch &scratch, int) final {
    scratch_ = scratch;
    return {};
  }

protected:
  explicit AttentionLibraryCall(const sinter_command &command)
      : p_(*command.attention.params) {}

  /// Adds a place of `bytes` bytes to the scratch; where it begins.
  int64_t take(int64_t bytes) {
    const int64_t begin = scratchBytes_;
    scratchBytes_ += alignUp(bytes);
    return begin;
  }
  uint8_t *scratchOf(int worker) const {
    return scratch_.perWorker +
           static_cast<uint64_t>(worker) * scratch_.perWorkerStride;
  }

  int64_t allHeads() const { return p_.batch * p_.heads; }
  /// "12 attentions of fp32 by AVX2, 128 queries, 128 keys of depth 64".
  std::string text(const AttentionUnit &unit) const {
    return (allHeads() > 1 ? std::to_string(allHeads()) + " attentions"
                           : std::string("attention")) +
           " of " + unit.name() + ", " + std::to_string(p_.queries) +
           " queries, " + std::to_string(p_.keys) + " keys of depth " +
           std::to_string(p_.depth) + (p_.causal ? ", causal" : "") +
           (p_.hasMask ? ", with a mask" : "");
  }

  const sinter_attention &p_;

private:
  int64_t scratchBytes_ = 0;
  rt::Scratch scratch_;
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_ATTENTIONLIBRARYCALL_H
