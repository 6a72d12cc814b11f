//===- Gelu.h - the two forms of GELU ---------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The only place of the formulas and their constants: for evaluation, for the
// passes that recognise and decompose gelu, for code generators, and for
// libraries by loops. Hendrycks and Gimpel, arXiv:1606.08415.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_GELU_H
#define SINTER_RUNTIME_BASE_GELU_H

#include <cmath>
#include <numbers>

namespace sinter::rt::gelu {

/// Of the form erf: x (1 + erf(kErfScale x)) / 2.
inline constexpr double kErfScale = std::numbers::sqrt2 / 2;
/// Of the form tanh: x (1 + tanh(kTanhScale (x + kCubic x^3))) / 2.
inline constexpr double kTanhScale =
    std::numbers::sqrt2 * std::numbers::inv_sqrtpi; // sqrt(2 / pi)
inline constexpr double kCubic = 0.044715;
/// The density of the normal distribution at 0, 1 / sqrt(2 pi).
inline constexpr double kDensity =
    std::numbers::inv_sqrtpi / std::numbers::sqrt2;

template <class T> T erfForm(T x) {
  return T(0.5) * x * (T(1) + std::erf(x * T(kErfScale)));
}
template <class T> T tanhForm(T x) {
  return T(0.5) * x *
         (T(1) + std::tanh(T(kTanhScale) * (x + T(kCubic) * x * x * x)));
}

template <class T> T erfFormDerivative(T x) {
  return T(0.5) * (T(1) + std::erf(x * T(kErfScale))) +
         x * std::exp(T(-0.5) * x * x) * T(kDensity);
}
template <class T> T tanhFormDerivative(T x) {
  T t = std::tanh(T(kTanhScale) * (x + T(kCubic) * x * x * x));
  return T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * T(kTanhScale) *
                                   (T(1) + T(3) * T(kCubic) * x * x);
}

} // namespace sinter::rt::gelu

#endif // SINTER_RUNTIME_BASE_GELU_H
