//===- BfloatUnit.h - common to bf16 contractions ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_BFLOATUNIT_H
#define SINTER_BACKENDS_CPU_DEVICE_BFLOATUNIT_H

#include "backends/cpu/device/OneDnnShim.h"
#include "runtime/base/CpuFeatures.h"
#include "runtime/base/CpuRates.h"

#include <cstdint>

namespace sinter::cpu {

/// What multiplies bf16 in the library's calls: the unit that is faster than
/// fp32 on this CPU (CpuRates.h), of those that the library may use. The CPU is
/// measured, unless it is in the user's cache, if the library may use one.
inline rt::Bf16Unit bfloatUnit() {
  static const rt::Bf16Unit unit = [] {
    const bool hasDot = shim::mayUse(dnnl::cpu_isa::avx512_core_bf16),
               hasTiles = shim::mayUse(dnnl::cpu_isa::avx512_core_amx) &&
                          rt::requestTileRegisters();
    if (!hasDot && !hasTiles)
      return rt::Bf16Unit::Widened;
    rt::CpuRates rates = rt::hostCpuRates();
    if (!hasDot)
      rates[rt::CpuRate::Bf16].reset();
    if (!hasTiles)
      rates[rt::CpuRate::Bf16Tiles].reset();
    return rt::bf16Unit(rates);
  }();
  return unit;
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

#endif // SINTER_BACKENDS_CPU_DEVICE_BFLOATUNIT_H
