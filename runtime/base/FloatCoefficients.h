//===- FloatCoefficients.h - constants of float32 functions -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The only place of the constants of generated code
// (passes/kernels/Float32Functions.h) and of loops (FloatFunctions.h).
// Coefficients begin with that of x^0. They minimize the largest error, by
// Lawson's method on Chebyshev nodes; those of e^x are MLIR's.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_FLOATCOEFFICIENTS_H
#define SINTER_RUNTIME_BASE_FLOATCOEFFICIENTS_H

namespace sinter::rt {

// e^x = 2^n e^r with n the integer nearest to x / log 2 and r = x - n log 2.
/// Arguments are bounded: 2^-127 is 0, and 2^127 times the polynomial of the
/// upper bound is infinite.
inline constexpr float kExpLeast = -87.8F, kExpGreatest = 88.8F;
/// Added to a number below 2^22, it leaves the nearest integer in the low bits.
inline constexpr float kExpShift = 0x1.8p23F;
inline constexpr float kLog2e = 0x1.715476p+0F;
/// log 2 is the difference of both.
inline constexpr float kLog2High = 0x1.63p-1F, kLog2Low = 0x1.bd0106p-13F;
/// e^r = 1 + r + r^2 p(r)
inline constexpr float kExp[] = {0x1p-1F,         0x1.555554p-3F,
                                 0x1.555382p-5F,  0x1.11121p-7F,
                                 0x1.6e879cp-10F, 0x1.a0d2cep-13F};

/// Below: erf x = x + x p(x^2). Above: 1 - e^q(x). From kErfOne on it is 1.
inline constexpr float kErfNear = 0.8F, kErfOne = 4.0F;
inline constexpr float kErfNearZero[] = {0x1.06eba8p-3F, -0x1.81272ep-2F,
                                         0x1.ce2804p-4F, -0x1.b76e9ep-6F,
                                         0x1.4d4254p-8F, -0x1.56a27p-11F};
inline constexpr float kErfExponent[] = {
    -0x1.dcd164p-15F, -0x1.20d664p+0F, -0x1.45b46ap-1F, -0x1.ad92eep-4F,
    0x1.73dfd6p-6F,   -0x1.9ed466p-9F, 0x1.b5ad24p-13F};

/// log(2 P(a)) = a p(a), where P(a) is the share of the normal distribution
/// above a >= 0. The error of a P(a) is below 2^-25 of max(a, 1/4).
inline constexpr float kNormalTail[] = {
    -0x1.98846cp-1F,  -0x1.45f024p-2F,  -0x1.2a1648p-5F, 0x1.40dd14p-8F,
    -0x1.8e1c6ap-14F, -0x1.0ea35cp-13F, 0x1.c9ed24p-16F, -0x1.07bd4ap-19F};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_FLOATCOEFFICIENTS_H
