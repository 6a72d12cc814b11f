//===- Quantize.h - steps of quantised operators ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_QUANTIZE_H
#define SINTER_COMPILER_IMPORT_ONNX_QUANTIZE_H

#include "compiler/import/onnx/Node.h"

namespace sinter::compiler {

/// round(x / scale) + zero point, saturated to `element`; x is float and the
/// zero point may be null.
mlir::Value emitQuantized(NodeImport &n, mlir::Value x, mlir::Value scale,
                          mlir::Value zeroPoint, mlir::Type element);

/// x - zeroPoint in `wide`; the zero point is null, one value, or one per index
/// of `axis`.
mlir::Value emitCentred(NodeImport &n, mlir::Value x, mlir::Value zeroPoint,
                        int64_t axis, mlir::Type wide);

struct DynamicQuantized {
  mlir::Value codes, scale, zeroPoint;
};

/// x as uint8, with the scale that fits its range.
DynamicQuantized emitDynamicQuantize(NodeImport &n, mlir::Value x);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_QUANTIZE_H
