//===- Evaluate.h - reference evaluation of ops and programs ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Used by constant folding, bisection and tests; never by compiled programs.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_EVAL_EVALUATE_H
#define SINTER_IR_EVAL_EVALUATE_H

#include "ir/Dialect.h"

namespace sinter::ir {

/// The results of an op on constants, each rounded to its element type. Fails
/// silently if the op has no evaluation or the bytes of an operand are not
/// available; fails with an error on the op if its meaning is undefined for
/// these values.
mlir::FailureOr<llvm::SmallVector<mlir::ElementsAttr>>
evaluateConstant(mlir::Operation *op,
                 llvm::ArrayRef<mlir::ElementsAttr> operands);

/// The value of a sinter.constant. Fails with an error on the op if its bytes
/// are not available.
mlir::FailureOr<Tensor> evaluateConstantOp(ConstantOp op);

/// How float results are rounded between ops.
enum class Rounding {
  none,    ///< float64 throughout: the reference of a program
  each_op, ///< every result rounded to its element type, as compiled programs
           ///< store it
};

/// The results of `function` for `arguments`, one tensor per argument and of
/// its type. Evaluates the bodies of fusions. Fails with an error on an op
/// without evaluation.
mlir::FailureOr<llvm::SmallVector<Tensor>>
evaluateFunction(mlir::func::FuncOp function, llvm::ArrayRef<Tensor> arguments,
                 Rounding rounding = Rounding::none);

/// The operands of the terminator of the block for its arguments; otherwise
/// like evaluateFunction.
mlir::FailureOr<llvm::SmallVector<Tensor>>
evaluateBlock(mlir::Block &block, llvm::ArrayRef<Tensor> arguments,
              Rounding rounding = Rounding::none);

/// The results of a `sinter.scan` or `sinter.scan_call`: evaluates its body
/// once for each trip.
mlir::LogicalResult evaluateScan(mlir::Operation *scan,
                                 llvm::ArrayRef<Tensor> operands,
                                 llvm::SmallVectorImpl<Tensor> &results,
                                 Rounding rounding = Rounding::none);

/// The results of one op; a fusion or a scan is evaluated by its body.
mlir::LogicalResult evaluateOp(mlir::Operation *op,
                               llvm::ArrayRef<Tensor> operands,
                               llvm::SmallVectorImpl<Tensor> &results,
                               Rounding rounding = Rounding::none);

} // namespace sinter::ir

#endif // SINTER_IR_EVAL_EVALUATE_H
