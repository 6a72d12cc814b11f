//===- Linear.h - matrix products that others share -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_LINEAR_H
#define SINTER_COMPILER_IMPORT_ONNX_LINEAR_H

#include "compiler/import/onnx/Node.h"

namespace sinter::compiler {

/// alpha * op(A) * op(B) + beta * C with the node's attributes; C may be null.
mlir::Value emitGemm(NodeImport &n, mlir::Value a, mlir::Value b,
                     mlir::Value c);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_LINEAR_H
