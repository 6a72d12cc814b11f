//===- Arithmetic.h - PTX arithmetic that x86 lacks -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The functions of the table that do not depend on a thread. They are exact
// where PTX is: each result is rounded once, in the requested mode.
// Approximations (ex2.approx and similar) are computed in fp64 and rounded, so
// they differ from a GPU's by the GPU's error.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_DEVICE_ARITHMETIC_H
#define SINTER_BACKENDS_SIM_DEVICE_ARITHMETIC_H

#include <cstdint>

namespace sinter::sim {

float mathF32(uint32_t op, uint32_t rounding, float a, float b, float c);
double mathF64(uint32_t op, uint32_t rounding, double a, double b, double c);

/// The value of 16 bits of `format`, a sinter_sim_half.
float widen(uint32_t format, uint32_t bits);
/// The 16 bits of `format` for `value`; NaN becomes 0x7fff.
uint32_t narrow(uint32_t format, uint32_t rounding, double value);
uint32_t fmaHalf(uint32_t format, uint32_t a, uint32_t b, uint32_t c);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_ARITHMETIC_H
