//===- Gelu.h - the two forms of GELU ---------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// With GeluForms.h the only place of the formulas and constants: for
// evaluation, for the passes that recognise and decompose gelu, and for code
// generators. FloatFunctions.h has both forms for loops over float32. Hendrycks
// and Gimpel, arXiv:1606.08415.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_GELU_H
#define SINTER_RUNTIME_BASE_GELU_H

#include "runtime/base/GeluForms.h"

#include <cmath>
#include <numbers>

namespace sinter::rt::gelu {

static_assert(kSqrt2 == std::numbers::sqrt2 &&
              kInvSqrtPi == std::numbers::inv_sqrtpi);

template <class T> T erfForm(T x) {
  return T(0.5) * x * (T(1) + std::erf(x * T(kErfScale)));
}
template <class T> T tanhForm(T x) {
  return tanhFormOf(x, std::tanh(tanhArgument(x)));
}

template <class T> T erfFormDerivative(T x) {
  return T(0.5) * (T(1) + std::erf(x * T(kErfScale))) +
         x * std::exp(T(-0.5) * x * x) * T(kDensity);
}
template <class T> T tanhFormDerivative(T x) {
  return tanhFormDerivativeOf(x, std::tanh(tanhArgument(x)));
}

} // namespace sinter::rt::gelu

#endif // SINTER_RUNTIME_BASE_GELU_H
