//===- SimLtEpilogue.h - kernels for epilogues by loops ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_LIBRARY_SIMLTEPILOGUE_H
#define SINTER_BACKENDS_SIM_LIBRARY_SIMLTEPILOGUE_H

#include "backends/cuda/library/LtKernels.h"
#include "runtime/base/Float16.h"

#include <cmath>
#include <memory>

namespace sinter::sim {

/// LtEpilogue.h's Machine for the host.
struct HostMachine {
  static float exp2(float x) { return std::exp2(x); }
  static float fromHalf(uint16_t bits) { return rt::toFloat(rt::Half{bits}); }
  static float fromBfloat(uint16_t bits) {
    return rt::toFloat(rt::Bfloat{bits});
  }
  static uint16_t toHalf(float value) {
    rt::Half half;
    rt::fromFloat(value, half);
    return half.bits;
  }
  static uint16_t toBfloat(float value) {
    rt::Bfloat bfloat;
    rt::fromFloat(value, bfloat);
    return bfloat.bits;
  }
};

/// The functions of the CUDA device's kernels in loops, at once. Fail if an
/// operand is outside the device's memory.
std::unique_ptr<cuda::LtKernels> createLtKernels();

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_LIBRARY_SIMLTEPILOGUE_H
