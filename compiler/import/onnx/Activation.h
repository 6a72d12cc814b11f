//===- Activation.h - activation functions that others share ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Formulas of ONNX's activation operators, also used by the recurrent ops.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_ACTIVATION_H
#define SINTER_COMPILER_IMPORT_ONNX_ACTIVATION_H

#include "compiler/import/onnx/Node.h"

namespace sinter::compiler {

/// Whether all elements of `x` are one float constant other than NaN.
bool isNumber(mlir::Value x);
/// min(max(x, low), high), broadcast; a bound may be null. As in PyTorch, the
/// derivative is 0 where x equals a constant bound, and 1/2 where x equals a
/// computed bound.
mlir::Value emitClip(Emit &e, mlir::Value x, mlir::Value low, mlir::Value high);
mlir::Value emitLeakyRelu(Emit &e, mlir::Value x, double alpha);
mlir::Value emitElu(Emit &e, mlir::Value x, double alpha);
mlir::Value emitThresholdedRelu(Emit &e, mlir::Value x, double alpha);
mlir::Value emitHardSigmoid(Emit &e, mlir::Value x, double alpha, double beta);
mlir::Value emitSoftplus(Emit &e, mlir::Value x);
mlir::Value emitSoftsign(Emit &e, mlir::Value x);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_ACTIVATION_H
