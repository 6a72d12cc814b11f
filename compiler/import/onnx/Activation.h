//===- Activation.h - activation functions that others share ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Formulas of ONNX's activation operators; the recurrent ops name them, too.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_ACTIVATION_H
#define SINTER_COMPILER_IMPORT_ONNX_ACTIVATION_H

#include "compiler/import/onnx/Node.h"

namespace sinter::compiler {

mlir::Value emitLeakyRelu(Emit &e, mlir::Value x, double alpha);
mlir::Value emitElu(Emit &e, mlir::Value x, double alpha);
mlir::Value emitThresholdedRelu(Emit &e, mlir::Value x, double alpha);
mlir::Value emitHardSigmoid(Emit &e, mlir::Value x, double alpha, double beta);
mlir::Value emitSoftplus(Emit &e, mlir::Value x);
mlir::Value emitSoftsign(Emit &e, mlir::Value x);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_ACTIVATION_H
