//===- Linear.h - matrix products that others share -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_LINEAR_H
#define SINTER_COMPILER_IMPORT_ONNX_LINEAR_H

#include "compiler/import/onnx/Node.h"

namespace sinter::compiler {

/// op(A) * op(B) with the node's attributes transA and transB. A is of input 0
/// and B of input `bInput`, which must be matrices.
mlir::Value emitProduct(NodeImport &n, mlir::Value a, mlir::Value b,
                        size_t bInput = 1);

/// alpha * op(A) * op(B) + beta * C with the node's attributes; C may be null.
mlir::Value emitGemm(NodeImport &n, mlir::Value a, mlir::Value b,
                     mlir::Value c);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_LINEAR_H
