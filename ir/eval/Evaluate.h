//===- Evaluate.h - reference evaluation of ops and programs ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Called by constant folding, bisection and tests; never by compiled programs.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_EVAL_EVALUATE_H
#define SINTER_IR_EVAL_EVALUATE_H

#include "ir/Dialect.h"

namespace sinter::ir {

/// The results of an op of constants, each rounded to its element type. Fails,
/// silently, where the op has no evaluation or an operand's bytes are not at
/// hand; and with an error on the op where its meaning is undefined for these
/// values.
mlir::FailureOr<llvm::SmallVector<mlir::ElementsAttr>>
evaluateConstant(mlir::Operation *op,
                 llvm::ArrayRef<mlir::ElementsAttr> operands);

/// The value of a sinter.constant, or failure with an error on the op when its
/// bytes are not at hand.
mlir::FailureOr<Tensor> evaluateConstantOp(ConstantOp op);

/// Decides on float results between ops.
enum class Rounding {
  none,    ///< float64 throughout: the reference of a program
  each_op, ///< every result rounded to its element type, as compiled programs
           ///< store it
};

/// The results of `function` for `arguments`, one tensor per argument and of
/// its type. Follows the bodies of fusions. Fails, with an error, on an op
/// without evaluation.
mlir::FailureOr<llvm::SmallVector<Tensor>>
evaluateFunction(mlir::func::FuncOp function, llvm::ArrayRef<Tensor> arguments,
                 Rounding rounding = Rounding::none);

/// The results of the block's terminator (its operands) for the block's
/// arguments; else as evaluateFunction.
mlir::FailureOr<llvm::SmallVector<Tensor>>
evaluateBlock(mlir::Block &block, llvm::ArrayRef<Tensor> arguments,
              Rounding rounding = Rounding::none);

/// The results of one op; a fusion by its body.
mlir::LogicalResult evaluateOp(mlir::Operation *op,
                               llvm::ArrayRef<Tensor> operands,
                               llvm::SmallVectorImpl<Tensor> &results,
                               Rounding rounding = Rounding::none);

} // namespace sinter::ir

#endif // SINTER_IR_EVAL_EVALUATE_H
