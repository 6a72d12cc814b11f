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

#include "runtime/base/GeluForms.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace sinter::rt {

/// c[0] + c[1] x + c[2] x^2 + ...
template <class... Rest>
inline float polynomialOf(float x, float first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0)
    return first;
  else
    return polynomialOf(x, rest...) * x + first;
}

/// e^x with a relative error below 2^-22. Results below 2^-126 become about
/// that number.
inline float fastExp(float x) {
  constexpr float least = -87.3F, greatest = 88.8F, shift = 0x1.8p23F;
  x = x < least ? least : x;
  x = x > greatest ? greatest : x;
  // The integer nearest to x / log 2 is in the low bits of `shifted`.
  float shifted = x * 0x1.715476p+0F + shift;
  shifted = shifted > shift + 127 ? shift + 127 : shifted;
  const float n = shifted - shift;
  float rest = n * -0x1.63p-1F + x; // log 2 is the difference of both constants
  rest = n * 0x1.bd0106p-13F + rest;
  const float p = polynomialOf(rest, 0x1p-1F, 0x1.555554p-3F, 0x1.555382p-5F,
                               0x1.11121p-7F, 0x1.6e879cp-10F, 0x1.a0d2cep-13F);
  const float sum = (p * (rest * rest) + rest) + 1.0F;
  const uint32_t power = (std::bit_cast<uint32_t>(shifted) << 23) + 0x3F800000U;
  return sum * std::bit_cast<float>(power);
}

/// The error function with an absolute error below 2^-22.
inline float fastErf(float x) {
  const float a = std::fabs(x), square = a * a;
  const float near =
      a * polynomialOf(square, 0x1.06eba8p-3F, -0x1.81272ep-2F, 0x1.ce2804p-4F,
                       -0x1.b76e9ep-6F, 0x1.4d4254p-8F, -0x1.56a27p-11F) +
      a;
  const float bounded = a > 4.0F ? 4.0F : a;
  const float far =
      1.0F -
      fastExp(polynomialOf(bounded, -0x1.dcd164p-15F, -0x1.20d664p+0F,
                           -0x1.45b46ap-1F, -0x1.ad92eep-4F, 0x1.73dfd6p-6F,
                           -0x1.9ed466p-9F, 0x1.b5ad24p-13F));
  return std::copysign(a < 0.8F ? near : far, x);
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
