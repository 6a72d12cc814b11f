//===- Conv.h - convolution, shared with quantised forms --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_CONV_H
#define SINTER_COMPILER_IMPORT_ONNX_CONV_H

#include "compiler/import/onnx/Node.h"

namespace sinter::compiler {

/// ONNX's Conv of operands of one float type or int32 with the node's
/// attributes; `bias` may be null.
mlir::Value emitConv(NodeImport &n, mlir::Value x, mlir::Value filter,
                     mlir::Value bias);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_CONV_H
