//===- Norm.h - normalisations that others share ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_NORM_H
#define SINTER_COMPILER_IMPORT_ONNX_NORM_H

#include "compiler/import/onnx/Node.h"

namespace sinter::compiler {

/// The softmax of x along `axis`. `ofMatrix`: as before operator set 13, x is
/// reshaped to a matrix at `axis`, whose rows are normalised.
mlir::Value emitSoftmax(NodeImport &n, mlir::Value x, int64_t axis,
                        bool ofMatrix);
/// LayerNormalization over the dimensions from `axis` on; `bias` may be null.
mlir::Value emitLayerNorm(NodeImport &n, mlir::Value x, mlir::Value scale,
                          mlir::Value bias, int64_t axis, double epsilon);
/// x / sqrt(mean of squares + epsilon) * scale over the same dimensions.
mlir::Value emitRmsNorm(NodeImport &n, mlir::Value x, mlir::Value scale,
                        int64_t axis, double epsilon);
/// SimplifiedLayerNormalization, an older name of RMSNormalization.
void importSimplifiedLayerNorm(NodeImport &n);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_NORM_H
