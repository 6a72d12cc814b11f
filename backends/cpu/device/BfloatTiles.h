//===- BfloatTiles.h - common to bf16 contractions by AMX -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_BFLOATTILES_H
#define SINTER_BACKENDS_CPU_DEVICE_BFLOATTILES_H

#include "backends/cpu/device/OneDnnShim.h"

#include <cstdint>

namespace sinter::cpu {

/// True if the library may use the tile unit. Only with it is bf16 faster than
/// fp32.
inline bool hasBfloatTiles() {
  static const bool has = [] {
    // An instruction set's bits include those of the sets that it builds on.
    auto bits = [](dnnl::cpu_isa isa) { return static_cast<unsigned>(isa); };
    unsigned amx = bits(dnnl::cpu_isa::avx512_core_amx);
    return (bits(dnnl::get_effective_cpu_isa()) & amx) == amx;
  }();
  return has;
}

/// relu in place: NaN stays NaN; other values that are not positive become 0.
inline void reluLine(void *values, bool isBfloat, int64_t count) {
  if (!isBfloat) {
    auto *line = static_cast<float *>(values);
    for (int64_t i = 0; i < count; ++i)
      line[i] = line[i] <= 0.0f ? 0.0f : line[i];
    return;
  }
  auto *line = static_cast<uint16_t *>(values);
  for (int64_t i = 0; i < count; ++i) {
    // Negative and not NaN, whose bits are above those of infinity.
    bool isDropped = line[i] >= 0x8000u && line[i] <= 0xff80u;
    line[i] = isDropped ? uint16_t(0) : line[i];
  }
}

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_BFLOATTILES_H
