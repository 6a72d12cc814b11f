//===- Float32Functions.cpp - functions in float32 arithmetic -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/Float32Functions.h"
#include "passes/kernels/Constants.h"
#include "runtime/base/FloatCoefficients.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace sinter::passes {

Float32Functions::Float32Functions(ImplicitLocOpBuilder &builder, Type type)
    : b(builder), type(type), bitsType(builder.getI32Type()) {
  if (auto vector = dyn_cast<VectorType>(type))
    bitsType = vector.clone(bitsType);
}

Value Float32Functions::number(float value) {
  return constantOf(b, type, b.getF32FloatAttr(value));
}

Value Float32Functions::integer(int32_t value) {
  return constantOf(b, bitsType, b.getI32IntegerAttr(value));
}

Value Float32Functions::fma(Value x, Value y, Value z) {
  return b.create<math::FmaOp>(x, y, z);
}

Value Float32Functions::polynomial(Value x, ArrayRef<float> c) {
  Value sum = number(c.back());
  for (float coefficient : llvm::reverse(c.drop_back()))
    sum = fma(sum, x, number(coefficient));
  return sum;
}

/// 2^n e^r, with the constants of FloatCoefficients.h. MLIR's own expansion
/// converts n to an integer and tests for each bound; here the sum with
/// kExpShift has n in its low bits, and bounds are minima and maxima. NaN
/// passes each bound.
Value Float32Functions::powerOfE(Value x, bool isBounded) {
  if (!isBounded) {
    x = b.create<arith::MaximumFOp>(x, number(rt::kExpLeast));
    x = b.create<arith::MinimumFOp>(x, number(rt::kExpGreatest));
  }
  Value shifted = fma(x, number(rt::kLog2e), number(rt::kExpShift));
  if (!isBounded)
    shifted = b.create<arith::MinimumFOp>(shifted, number(rt::kExpShift + 127));
  Value n = b.create<arith::SubFOp>(shifted, number(rt::kExpShift));
  Value rest = fma(n, number(-rt::kLog2High), x);
  rest = fma(n, number(rt::kLog2Low), rest);
  Value sum = polynomial(rest, rt::kExp);
  sum = fma(sum, b.create<arith::MulFOp>(rest, rest), rest);
  sum = b.create<arith::AddFOp>(sum, number(1));
  Value power = b.create<arith::ShLIOp>(
      b.create<arith::BitcastOp>(bitsType, shifted), integer(23));
  power = b.create<arith::AddIOp>(power, integer(0x3F800000));
  return b.create<arith::MulFOp>(sum, b.create<arith::BitcastOp>(type, power));
}

Value Float32Functions::exp(Value x) {
  return powerOfE(x, /*isBounded=*/false);
}

Value Float32Functions::erf(Value x) {
  Value a = b.create<math::AbsFOp>(x);
  Value square = b.create<arith::MulFOp>(a, a);
  Value p = polynomial(square, rt::kErfNearZero);
  Value nearZero = fma(a, p, a);
  Value bounded = b.create<arith::MinimumFOp>(a, number(rt::kErfOne));
  Value exponent = polynomial(bounded, rt::kErfExponent);
  Value others = b.create<arith::SubFOp>(
      number(1), powerOfE(exponent, /*isBounded=*/true));
  Value isNear = b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, a,
                                         number(rt::kErfNear));
  Value result = b.create<arith::SelectOp>(isNear, nearZero, others);
  return b.create<math::CopySignOp>(result, x);
}

} // namespace sinter::passes
