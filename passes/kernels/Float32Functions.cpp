//===- Float32Functions.cpp - functions in float32 arithmetic -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/Float32Functions.h"
#include "passes/kernels/Constants.h"

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

/// 2^n p(x - n log 2), with n the integer nearest to x / log 2, and MLIR's
/// polynomial p. MLIR's own expansion converts n to an integer and tests for
/// each bound; here adding 1.5 * 2^23 rounds x / log 2 to an integer in the low
/// bits of the sum, and bounds are minima and maxima.
Value Float32Functions::powerOfE(Value x, bool isBounded) {
  // 2^127 times p of the upper bound is infinite. NaN passes each bound.
  constexpr float least = -87.8F, greatest = 88.8F, shift = 0x1.8p23F;
  if (!isBounded) {
    x = b.create<arith::MaximumFOp>(x, number(least));
    x = b.create<arith::MinimumFOp>(x, number(greatest));
  }
  Value shifted = fma(x, number(0x1.715476p+0F), number(shift));
  if (!isBounded)
    shifted = b.create<arith::MinimumFOp>(shifted, number(shift + 127));
  Value n = b.create<arith::SubFOp>(shifted, number(shift));
  // log 2 is the difference of both constants.
  Value rest = fma(n, number(-0x1.63p-1F), x);
  rest = fma(n, number(0x1.bd0106p-13F), rest);
  Value sum =
      polynomial(rest, {0x1p-1F, 0x1.555554p-3F, 0x1.555382p-5F, 0x1.11121p-7F,
                        0x1.6e879cp-10F, 0x1.a0d2cep-13F});
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

/// |x| < 0.8: x + x p(x^2). Others: 1 - e^-q(|x|). From |x| = 4 on the result
/// is 1. The coefficients minimize the largest error (of q: that of the
/// result), by Lawson's method on Chebyshev nodes.
Value Float32Functions::erf(Value x) {
  Value a = b.create<math::AbsFOp>(x);
  Value square = b.create<arith::MulFOp>(a, a);
  Value p =
      polynomial(square, {0x1.06eba8p-3F, -0x1.81272ep-2F, 0x1.ce2804p-4F,
                          -0x1.b76e9ep-6F, 0x1.4d4254p-8F, -0x1.56a27p-11F});
  Value nearZero = fma(a, p, a);
  Value bounded = b.create<arith::MinimumFOp>(a, number(4));
  Value minusQ =
      polynomial(bounded, {-0x1.dcd164p-15F, -0x1.20d664p+0F, -0x1.45b46ap-1F,
                           -0x1.ad92eep-4F, 0x1.73dfd6p-6F, -0x1.9ed466p-9F,
                           0x1.b5ad24p-13F});
  Value others =
      b.create<arith::SubFOp>(number(1), powerOfE(minusQ, /*isBounded=*/true));
  Value isNear =
      b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, a, number(0.8F));
  Value result = b.create<arith::SelectOp>(isNear, nearZero, others);
  return b.create<math::CopySignOp>(result, x);
}

} // namespace sinter::passes
