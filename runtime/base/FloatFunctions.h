//===- FloatFunctions.h - functions of float32 for loops --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The formulas of passes/kernels/Float32Functions.h, without branches and
// calls, so that compilers turn loops over them into vector code. The last bits
// depend on whether the CPU has fused multiply-adds. NaN stays NaN.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_FLOATFUNCTIONS_H
#define SINTER_RUNTIME_BASE_FLOATFUNCTIONS_H

#include "runtime/base/FloatCoefficients.h"
#include "runtime/base/GeluForms.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace sinter::rt {

/// c[0] + c[1] x + c[2] x^2 + ...
template <int count>
inline float polynomialOf(float x, const float (&c)[count]) {
  float sum = c[count - 1];
  for (int i = count - 2; i >= 0; --i)
    sum = sum * x + c[i];
  return sum;
}

/// e^x with a relative error below 2^-22. Results below 2^-126 become 0.
inline float fastExp(float x) {
  x = x < kExpLeast ? kExpLeast : x;
  x = x > kExpGreatest ? kExpGreatest : x;
  float shifted = x * kLog2e + kExpShift;
  shifted = shifted > kExpShift + 127 ? kExpShift + 127 : shifted;
  const float n = shifted - kExpShift;
  float rest = n * -kLog2High + x;
  rest = n * kLog2Low + rest;
  const float sum = (polynomialOf(rest, kExp) * (rest * rest) + rest) + 1.0F;
  const uint32_t power = (std::bit_cast<uint32_t>(shifted) << 23) + 0x3F800000U;
  return sum * std::bit_cast<float>(power);
}

/// The error function with an absolute error below 2^-22.
inline float fastErf(float x) {
  const float a = std::fabs(x);
  const float near = a * polynomialOf(a * a, kErfNearZero) + a;
  const float bounded = a > kErfOne ? kErfOne : a;
  const float far = 1.0F - fastExp(polynomialOf(bounded, kErfExponent));
  return std::copysign(a < kErfNear ? near : far, x);
}

inline float fastSigmoid(float x) { return 1.0F / (1.0F + fastExp(-x)); }
inline float fastSwish(float x) { return x / (1.0F + fastExp(-x)); }
inline float fastGeluErf(float x) {
  return 0.5F * x * (1.0F + fastErf(x * static_cast<float>(gelu::kErfScale)));
}
/// (1 + tanh y) / 2 is sigmoid(2 y).
inline float fastGeluTanh(float x) {
  return x / (1.0F + fastExp(-2.0F * gelu::tanhArgument(x)));
}

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_FLOATFUNCTIONS_H
