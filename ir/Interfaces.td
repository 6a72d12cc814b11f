//===- Interfaces.td - what passes may ask of an op -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_INTERFACES_TD
#define SINTER_IR_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Sinter_EvaluateOpInterface : OpInterface<"EvaluateOpInterface"> {
  let cppNamespace = "::sinter::ir";
  let description = [{
    The reference meaning of an op, used by folding, bisection and tests, never by
    compiled programs. Written for clarity, computed in float64 and int64.
  }];
  let methods = [
    InterfaceMethod<[{
      Computes the results from `operands` (one tensor per operand, of its shape).
      Each float result is rounded to its element type afterwards by the caller when
      exact storage is wanted. Fails, with an error on the op, only where the meaning is
      undefined for these values (an index out of range).
    }], "::mlir::LogicalResult", "evaluate",
      (ins "::llvm::ArrayRef<::sinter::ir::Tensor>":$operands,
           "::llvm::SmallVectorImpl<::sinter::ir::Tensor> &":$results)>
  ];
}

def Sinter_CompositeOpInterface : OpInterface<"CompositeOpInterface"> {
  let cppNamespace = "::sinter::ir";
  let description = [{
    An op whose meaning is a composition of ops of the compact set. Targets that have a
    better whole keep it; elsewhere it is decomposed when placed.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the composition before the op and returns the values that equal its
      results, in order. Does not erase the op.
    }], "::llvm::SmallVector<::mlir::Value>", "decompose",
      (ins "::mlir::OpBuilder &":$builder)>
  ];
}

#endif // SINTER_IR_INTERFACES_TD
