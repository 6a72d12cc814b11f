//===- FloatFunctions.h - functions of float32 for loops --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Formulas without branches and calls, so that compilers turn loops over them
// into vector code; e^x is that of passes/kernels/Float32Functions.h. The last
// bits depend on whether the CPU has fused multiply-adds. NaN stays NaN.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_FLOATFUNCTIONS_H
#define SINTER_RUNTIME_BASE_FLOATFUNCTIONS_H

#include "runtime/base/FloatCoefficients.h"
#include "runtime/base/GeluForms.h"

#include <bit>
#include <cmath>
#include <cstdint>

/// In front of the statements of a function: a product and the sum that takes
/// it become one fused multiply-add where the CPU has it.
#if defined(__clang__)
#define SINTER_FUSE_MULTIPLY_ADD _Pragma("clang fp contract(fast)")
#else
#define SINTER_FUSE_MULTIPLY_ADD
#endif

namespace sinter::rt {

/// c[0] + c[1] x + c[2] x^2 + ...
template <int count>
inline float polynomialOf(float x, const float (&c)[count]) {
  SINTER_FUSE_MULTIPLY_ADD
  float sum = c[count - 1];
  for (int i = count - 2; i >= 0; --i)
    sum = sum * x + c[i];
  return sum;
}

/// e^x with a relative error below 2^-22. `isBounded`: x is at least kExpLeast
/// and at most 88. Otherwise results below 2^-126 become 0.
template <bool isBounded = false> inline float fastExp(float x) {
  SINTER_FUSE_MULTIPLY_ADD
  if constexpr (!isBounded) {
    x = x < kExpLeast ? kExpLeast : x;
    x = x > kExpGreatest ? kExpGreatest : x;
  }
  float shifted = x * kLog2e + kExpShift;
  if constexpr (!isBounded)
    shifted = shifted > kExpShift + 127 ? kExpShift + 127 : shifted;
  const float n = shifted - kExpShift;
  float rest = n * -kLog2High + x;
  rest = n * kLog2Low + rest;
  const float sum = (polynomialOf(rest, kExp) * (rest * rest) + rest) + 1.0F;
  const uint32_t power = (std::bit_cast<uint32_t>(shifted) << 23) + 0x3F800000U;
  return sum * std::bit_cast<float>(power);
}

/// x times x / 6 + 1/2, which is bounded to 0 and 1.
inline float hardSwish(float x) {
  SINTER_FUSE_MULTIPLY_ADD
  float gate = x * (1.0F / 6.0F) + 0.5F;
  gate = gate < 0.0F ? 0.0F : gate;
  return x * (gate > 1.0F ? 1.0F : gate);
}
inline float fastSigmoid(float x) { return 1.0F / (1.0F + fastExp(-x)); }
inline float fastSwish(float x) { return x / (1.0F + fastExp(-x)); }

/// x times the normal distribution's share below x, which is half of e^q(|x|)
/// or what this lacks of 1: no difference of numbers near 1 is taken. The error
/// is below 2^-23 of max(|x|, 1/4).
inline float fastGeluErf(float x) {
  const float a = std::fabs(x);
  float exponent = a * polynomialOf(a, kNormalTail);
  exponent = exponent < kExpLeast ? kExpLeast : exponent;
  const float tail = 0.5F * fastExp</*isBounded=*/true>(exponent);
  return x * (x < 0.0F ? tail : 1.0F - tail);
}
/// (1 + tanh y) / 2 is sigmoid(2 y).
inline float fastGeluTanh(float x) {
  return x / (1.0F + fastExp(-2.0F * gelu::tanhArgument(x)));
}

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_FLOATFUNCTIONS_H
