//===- Poison.h - what memory holds before it is written --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_DEVICE_POISON_H
#define SINTER_BACKENDS_SIM_DEVICE_POISON_H

#include <cstdint>
#include <cstring>

namespace sinter::sim {

/// A signalling NaN in fp32, far from any result in other types.
inline constexpr uint32_t poisonWord = 0x7fa5a5a5;

/// Fills [address, address + sizeBytes). `address` must be a multiple of 4; the
/// end is rounded up to one.
inline void poison(void *address, uint64_t sizeBytes) {
  auto *words = static_cast<uint32_t *>(address);
  for (uint64_t i = 0; i < (sizeBytes + 3) / 4; ++i)
    words[i] = poisonWord;
}

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_POISON_H
