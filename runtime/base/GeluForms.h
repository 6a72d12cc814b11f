//===- GeluForms.h - GELU without a mathematics library ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The constants of Gelu.h, and its form of tanh for callers with a tanh of
// their own. Includes nothing, because device code includes it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_GELUFORMS_H
#define SINTER_RUNTIME_BASE_GELUFORMS_H

namespace sinter::rt::gelu {

inline constexpr double kSqrt2 = 1.41421356237309504880;
inline constexpr double kInvSqrtPi = 0.56418958354775628695;

/// Of the form erf: x (1 + erf(kErfScale x)) / 2.
inline constexpr double kErfScale = kSqrt2 / 2;
/// Of the form tanh: x (1 + tanh(kTanhScale (x + kCubic x^3))) / 2.
inline constexpr double kTanhScale = kSqrt2 * kInvSqrtPi; // sqrt(2 / pi)
inline constexpr double kCubic = 0.044715;
/// The density of the normal distribution at 0, 1 / sqrt(2 pi).
inline constexpr double kDensity = kInvSqrtPi / kSqrt2;

/// What the form tanh takes the tanh of.
template <class T> constexpr T tanhArgument(T x) {
  return T(kTanhScale) * (x + T(kCubic) * x * x * x);
}
/// The form tanh and its derivative; `t` is the tanh of tanhArgument(x).
template <class T> constexpr T tanhFormOf(T x, T t) {
  return T(0.5) * x * (T(1) + t);
}
template <class T> constexpr T tanhFormDerivativeOf(T x, T t) {
  return T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * T(kTanhScale) *
                                   (T(1) + T(3) * T(kCubic) * x * x);
}

} // namespace sinter::rt::gelu

#endif // SINTER_RUNTIME_BASE_GELUFORMS_H
