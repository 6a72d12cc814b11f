//===- Float32Functions.h - functions in float32 arithmetic -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each function takes and returns float32 (a scalar or a vector) and consists
// only of arith ops, fma, absf and copysign: the same bits on every target.
// Special values are those of C.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_KERNELS_FLOAT32FUNCTIONS_H
#define SINTER_PASSES_KERNELS_FLOAT32FUNCTIONS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sinter::passes {

class Float32Functions {
public:
  /// Builds values of `type`: f32, or a vector of it.
  Float32Functions(mlir::ImplicitLocOpBuilder &builder, mlir::Type type);

  /// Within 1 unit in the last place; results below 2^-126.5 are 0.
  mlir::Value exp(mlir::Value x);
  /// Within 1.2 units in the last place.
  mlir::Value erf(mlir::Value x);

private:
  mlir::Value number(float value);
  mlir::Value integer(int32_t value);
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  /// c[0] + c[1] x + c[2] x^2 + ..
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<float> c);
  /// exp; `isBounded`: -87 < x < 88.
  mlir::Value powerOfE(mlir::Value x, bool isBounded);

  mlir::ImplicitLocOpBuilder &b;
  mlir::Type type, bitsType;
};

} // namespace sinter::passes

#endif // SINTER_PASSES_KERNELS_FLOAT32FUNCTIONS_H
