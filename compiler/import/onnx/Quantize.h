//===- Quantize.h - steps of quantised operators ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_QUANTIZE_H
#define SINTER_COMPILER_IMPORT_ONNX_QUANTIZE_H

#include "compiler/import/onnx/Node.h"

namespace sinter::compiler {

/// A scale or zero point of x, in the shape of x: one value, one per index of
/// `axis`, one in a shape that broadcasts to x, or (with `block`) one per
/// `block` indices of `axis`.
mlir::Value spread(NodeImport &n, mlir::Value parameter, mlir::Value x,
                   int64_t axis, int64_t block = 0);

/// round(x / scale) + zero point, saturated to `element`; x is float and the
/// zero point may be null.
mlir::Value emitQuantized(NodeImport &n, mlir::Value x, mlir::Value scale,
                          mlir::Value zeroPoint, mlir::Type element);

/// Fails unless the zero point has the type of its codes.
bool checkZeroPoint(NodeImport &n, mlir::Value zeroPoint, mlir::Type element);

/// x - zeroPoint in `wide`; the zero point is null, one value, or one per index
/// of `axis`.
mlir::Value emitCentred(NodeImport &n, mlir::Value x, mlir::Value zeroPoint,
                        int64_t axis, mlir::Type wide);

/// The product of scales of which each is one value, in the shape {}, or one
/// per index of one dimension.
mlir::Value emitFactor(NodeImport &n, mlir::Value xScale, mlir::Value yScale);

/// Integer sums of products of codes as codes: sum * (factor / scale), rounded,
/// plus the zero point, saturated. Each of the three is one value or one per
/// index of `axis`. The factor becomes one broadcast: passes look for that.
mlir::Value emitRequantized(NodeImport &n, mlir::Value sum, mlir::Value factor,
                            mlir::Value scale, mlir::Value zeroPoint,
                            int64_t axis);

struct DynamicQuantized {
  mlir::Value codes, scale, zeroPoint;
};

/// x as uint8, with the scale that fits its range.
DynamicQuantized emitDynamicQuantize(NodeImport &n, mlir::Value x);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_QUANTIZE_H
