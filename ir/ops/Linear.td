//===- Linear.td - contractions -------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_LINEAR_TD
#define SINTER_IR_OPS_LINEAR_TD

include "Attrs.td"
include "Interfaces.td"

def Sinter_DotGeneralOp : Sinter_Op<"dot_general", [Pure, Sinter_PrecisionAllow, Sinter_InferType,
    DeclareOpInterfaceMethods<Sinter_EvaluateOpInterface>, Sinter_Contraction, Sinter_ResultRows]> {
  let summary = "sum of products over contracted dimensions";
  let description = [{
    The dimensions of the result are the batch dimensions (in the order given), then the free
    dimensions of `lhs`, then those of `rhs`. 16-bit and float32 operands are accumulated in float32.
    With `tf32` a device may round float32 operands to ten bits of mantissa.

    If both operands are casts of 16-bit floats to float32, the op multiplies 16-bit floats and has a
    float32 result: the products are exact.

    C1: both operands have the same element type, which is the result's.
    C2: batch and contracting lists pair up, name distinct dimensions in range, and
    paired dimensions have equal sizes.
    ```mlir
    %c = sinter.dot_general %a, %b batch [] x [] contract [1] x [0]
       : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins Sinter_NumberTensor:$lhs, Sinter_NumberTensor:$rhs,
                       DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
                       DenseI64ArrayAttr:$lhs_contract, DenseI64ArrayAttr:$rhs_contract,
                       UnitAttr:$tf32);
  let results = (outs Sinter_NumberTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `batch` $lhs_batch `x` $rhs_batch `contract` $lhs_contract `x` $rhs_contract
    attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// Dimensions that are neither batch nor contracted, in order.
    llvm::SmallVector<int64_t> getLhsFree();
    llvm::SmallVector<int64_t> getRhsFree();
  }];
}

#endif // SINTER_IR_OPS_LINEAR_TD
