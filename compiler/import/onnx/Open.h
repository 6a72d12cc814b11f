//===- Open.h - values whose size depends on data ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_OPEN_H
#define SINTER_COMPILER_IMPORT_ONNX_OPEN_H

#include "compiler/import/onnx/Node.h"

namespace sinter::compiler {

/// The coordinates of the nonzero elements of x, whose values are not known.
mlir::Value emitOpenNonZero(NodeImport &n, mlir::Value x);
/// x expanded to a shape that is not known; null if no open form represents it.
mlir::Value emitOpenExpand(NodeImport &n, mlir::Value x, mlir::Value shape);
/// A Slice of dimension 0 whose bounds are not known; null if no open form
/// represents it.
mlir::Value emitOpenSlice(NodeImport &n);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_OPEN_H
