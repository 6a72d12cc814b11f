//===- QuantizedForm.cpp - arithmetic of quantised values -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/QuantizedForm.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace sinter::ir {

Value quantize(OpBuilder &b, Location loc, Value x, Value scale,
               Value zeroPoint, IntegerType element) {
  const bool isUnsigned = element.isUnsigned();
  const int width = static_cast<int>(element.getWidth());
  double least = isUnsigned ? 0 : -std::ldexp(1.0, width - 1);
  double greatest = std::ldexp(1.0, isUnsigned ? width : width - 1) - 1;
  Value y = b.create<DivOp>(loc, x.getType(), x, scale);
  y = b.create<RoundOp>(loc, y.getType(), y);
  // float16 cannot hold the sum of a quotient and a zero point.
  if (tensorType(y).getElementTypeBitWidth() == 16)
    y = castTo(b, loc, y, b.getF32Type());
  if (zeroPoint)
    y = b.create<AddOp>(
        loc, y.getType(), y,
        castTo(b, loc, zeroPoint, tensorType(y).getElementType()));
  y = b.create<MaxOp>(loc, y.getType(), y, splatLike(b, loc, y, least));
  y = b.create<MinOp>(loc, y.getType(), y, splatLike(b, loc, y, greatest));
  return castTo(b, loc, y, element);
}

Value dequantize(OpBuilder &b, Location loc, Value codes, Value scale,
                 Value zeroPoint) {
  Type element = tensorType(scale).getElementType();
  // The difference of two 16-bit values needs more than 16 bits.
  bool isFloat = isa<FloatType>(tensorType(codes).getElementType());
  Type wide = isFloat ? element : Type(b.getI32Type());
  Value value = castTo(b, loc, codes, wide);
  if (zeroPoint)
    value = b.create<SubOp>(loc, value.getType(), value,
                            castTo(b, loc, zeroPoint, wide));
  value = castTo(b, loc, value, element);
  return b.create<MulOp>(loc, value.getType(), value, scale);
}

/// `range` in `steps` steps; 1 where float32 has no normal number for it.
static float stepOf(double range, int steps) {
  auto step = static_cast<float>(range / steps);
  return step >= std::numeric_limits<float>::min() ? step : 1;
}

CodeScale unsignedScale(double low, double high) {
  low = std::min(low, 0.0);
  high = std::max(high, 0.0);
  CodeScale result{stepOf(high - low, 255), 0};
  double zero = std::nearbyint(-low / static_cast<double>(result.scale));
  result.zeroPoint = static_cast<int64_t>(std::clamp(zero, 0.0, 255.0));
  return result;
}

CodeScale signedScale(double largest) { return {stepOf(largest, 127), 0}; }

int64_t signedCode(float x, CodeScale scale) {
  float code = std::nearbyint(x / scale.scale);
  return std::clamp<int64_t>(static_cast<int64_t>(code) + scale.zeroPoint, -128,
                             127);
}

} // namespace sinter::ir
