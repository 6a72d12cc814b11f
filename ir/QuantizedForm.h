//===- QuantizedForm.h - arithmetic of quantised values ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The one formula of quantised values, as ONNX's QuantizeLinear and
// DequantizeLinear define it. The importer, passes that quantise, and passes
// that look for quantised values agree on it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_QUANTIZEDFORM_H
#define SINTER_IR_QUANTIZEDFORM_H

#include "ir/Build.h"

namespace sinter::ir {

/// round(x / scale) + zero point, saturated to `element`, an integer type of at
/// most 16 bits; x is float. Rounds to nearest even. `scale` and `zeroPoint`
/// (null: 0) have the shape of x.
mlir::Value quantize(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                     mlir::Value scale, mlir::Value zeroPoint,
                     mlir::IntegerType element);

/// (codes - zero point) * scale. `scale` and `zeroPoint` (null: 0) have the
/// shape of the codes; the element type of the scale is the result's.
mlir::Value dequantize(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::Value codes, mlir::Value scale,
                       mlir::Value zeroPoint);

/// A scale and a zero point of 8-bit codes. One of the codes stands for 0.
struct CodeScale {
  float scale = 1;
  int64_t zeroPoint = 0;
};
/// Of codes from 0 to 255 that stand for [low, high], widened to include 0.
CodeScale unsignedScale(double low, double high);
/// Of codes from -127 to 127 that stand for [-largest, largest].
CodeScale signedScale(double largest);
/// The code of one float32, as quantize() gives it for codes from -128 to 127.
int64_t signedCode(float x, CodeScale scale);

} // namespace sinter::ir

#endif // SINTER_IR_QUANTIZEDFORM_H
