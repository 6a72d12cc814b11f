//===- ByteStore.h - finish and store blocks of 8-bit products --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What follows the int32 sums of a block of a product of 8-bit integers: the
// post-ops and the store. With DEQUANTIZE among the post-ops, the sums become
// fp32, and with QUANTIZE 8-bit integers again, without a copy in memory. Each
// step is exact or rounds once, so all CPUs store the same bits.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_BYTESTORE_H
#define SINTER_BACKENDS_CPU_DEVICE_BYTESTORE_H

#include "backends/cpu/device/BlockStore.h"
#include "sinter/abi.h"

#include <cstdint>
#include <span>

namespace sinter::cpu {

/// How QUANTIZE and FAKE_QUANTIZE make a code.
struct Quantizer {
  Quantizer(const sinter_post_op &op, uint32_t dtype)
      : scale(op.alpha), zero(op.beta),
        least((dtype == SINTER_U8 ? 0.0f : -128.0f) - zero),
        greatest((dtype == SINTER_U8 ? 255.0f : 127.0f) - zero) {}

  float scale, zero;
  float least, greatest; // before the zero point is added
};

/// Writes `count` codes, which are `stride` elements apart, as floats.
void widenCodes(const uint8_t *codes, bool isSigned, int64_t count,
                int64_t stride, float *to);

class ByteStore {
public:
  /// Operands of BIAS and DEQUANTIZE have one element for each row with
  /// `alongRows`, else for each column. The columns of the result and of ADD's
  /// and ADD_CODES' operands are `columnStride` elements apart.
  ByteStore(std::span<const sinter_post_op> postOps, uint32_t outDtype,
            bool alongRows, int64_t columnStride);

  /// Whether the post-ops and the type of the result are those of sums of 8-bit
  /// products, and a block changes nothing that post-ops of others read.
  static bool fits(const sinter_command &command,
                   std::span<const sinter_post_op> postOps, uint32_t outDtype);

  /// `sums` has `place.count` rows of panelColumns numbers, is aligned to 64
  /// bytes, and is changed. `buffers` are those of the command; the result is
  /// buffer `result`.
  void store(uint32_t *sums, const BlockPlace &place, void *const *buffers,
             uint32_t result) const;

private:
  /// Post-ops in the one order that registers apply; null: absent.
  struct Form {
    const sinter_post_op *integerBias = nullptr, *scales = nullptr,
                         *bias = nullptr, *fakeQuantize = nullptr,
                         *add = nullptr, *addCodes = nullptr, *relu = nullptr,
                         *quantize = nullptr;
  };
  bool readForm();
  void storeSteps(uint32_t *sums, const BlockPlace &place, void *const *buffers,
                  void *result) const;
  void applyToSums(const sinter_post_op &op, uint32_t *sums,
                   const BlockPlace &place, const void *operand) const;
  void storeInRegisters(const uint32_t *sums, const BlockPlace &place,
                        void *const *buffers, void *result) const;
  void storeIntegers(const uint32_t *sums, const BlockPlace &place,
                     void *const *buffers, void *result) const;
  template <bool isCorrected, bool isAdded>
  void storeCodes(const uint32_t *sums, const BlockPlace &place,
                  void *const *buffers, void *result) const;
  template <bool isPlain, bool isCorrected>
  void storePairs(const uint32_t *sums, const BlockPlace &place, uint32_t among,
                  void *const *buffers, void *result) const;

  std::span<const sinter_post_op> postOps_;
  uint32_t outDtype_;
  bool alongRows_;
  int64_t columnStride_;
  Form form_;
  bool isInRegisters_;
  bool hasFastCodes_; // storeCodes
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_BYTESTORE_H
