//===- Pool.h - pooling, shared with quantised forms ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_POOL_H
#define SINTER_COMPILER_IMPORT_ONNX_POOL_H

#include "compiler/import/onnx/Node.h"

namespace sinter::compiler {

/// ONNX's AveragePool of x, which is float and has the rank of input 0, with
/// the node's attributes. `countsBeyondPadding`: count_include_pad counts all
/// elements of a window, not only those in the input and its padding.
mlir::Value emitAveragePool(NodeImport &n, mlir::Value x,
                            bool countsBeyondPadding = false);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_POOL_H
