//===- MathFunctions.h - elementary functions as arithmetic -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each function takes and returns float64 (a scalar or a vector) and consists
// only of arith ops, fma, floor, roundeven, sqrt and absf: the same bits on
// every target. Errors are a few units in the last place of float64 unless
// stated otherwise; special values are those of C. Methods: argument reduction
// and series as in Cody and Waite, Software Manual for the Elementary Functions
// (1980), and Muller, Elementary Functions (2016).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_KERNELS_MATHFUNCTIONS_H
#define SINTER_PASSES_KERNELS_MATHFUNCTIONS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sinter::passes {

class MathFunctions {
public:
  /// Builds values of `type`: f64, or a vector of it.
  MathFunctions(mlir::ImplicitLocOpBuilder &builder, mlir::Type type)
      : b(builder), type(type) {}

  mlir::Value exp(mlir::Value x) { return expOfSum(x, nullptr); }
  mlir::Value expm1(mlir::Value x);
  mlir::Value log(mlir::Value x);
  mlir::Value log1p(mlir::Value x);
  mlir::Value sinh(mlir::Value x);
  mlir::Value cosh(mlir::Value x);
  mlir::Value tanh(mlir::Value x);
  mlir::Value asinh(mlir::Value x);
  mlir::Value acosh(mlir::Value x);
  mlir::Value atanh(mlir::Value x);
  /// Absolute error about 1e-16 * (1 + |x| / 1e9).
  mlir::Value sin(mlir::Value x);
  mlir::Value cos(mlir::Value x) { return sinOrCos(x, 1); }
  mlir::Value tan(mlir::Value x);
  mlir::Value asin(mlir::Value x);
  mlir::Value acos(mlir::Value x);
  mlir::Value atan(mlir::Value x);
  mlir::Value erf(mlir::Value x);
  mlir::Value pow(mlir::Value x, mlir::Value y);
  /// The exact remainder of x / y rounded toward zero, with the sign of x. Also
  /// builds a loop, over the bits of the quotient.
  mlir::Value fmod(mlir::Value x, mlir::Value y);

private:
  mlir::Value number(double value);
  mlir::Value integer(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  mlir::Value abs(mlir::Value x);
  mlir::Value sqrt(mlir::Value x);
  mlir::Value round(mlir::Value x);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  mlir::Value less(mlir::Value x, mlir::Value y);
  mlir::Value equal(mlir::Value x, mlir::Value y);
  mlir::Value isNan(mlir::Value x);
  mlir::Value withSignOf(mlir::Value magnitude, mlir::Value sign);
  mlir::Value toInt(mlir::Value x);
  mlir::Value bitsOf(mlir::Value x);
  mlir::Value fromBits(mlir::Value bits);
  /// coefficients[0] + coefficients[1] x + ..., by Horner's rule with fma.
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients);
  mlir::Value sinOrCos(mlir::Value x, int64_t quadrantShift);
  /// e^(x + low); `low`, if any, is small beside 1.
  mlir::Value expOfSum(mlir::Value x, mlir::Value low);
  /// e^x / 2, which overflows later than e^x.
  mlir::Value halfExp(mlir::Value x);
  /// x = 2^exponent (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for finite x >
  /// 0.
  struct Normal {
    mlir::Value exponent, f;
  };
  Normal normalize(mlir::Value x);
  /// log x as a sum of two parts, accurate to about 60 bits; x >= 0.
  std::pair<mlir::Value, mlir::Value> logInTwoParts(mlir::Value x);

  mlir::ImplicitLocOpBuilder &b;
  mlir::Type type;
};

} // namespace sinter::passes

#endif // SINTER_PASSES_KERNELS_MATHFUNCTIONS_H
