//===- Random.td - counter-based randomness (composites) ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_RANDOM_TD
#define SINTER_IR_OPS_RANDOM_TD

include "Attrs.td"
include "Interfaces.td"

def Sinter_ScalarI64 : TensorRankOf<[I64], [0]>;

def Sinter_DropoutOp : Sinter_Op<"dropout", [Pure, AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<Sinter_EvaluateOpInterface>,
    DeclareOpInterfaceMethods<Sinter_CompositeOpInterface>, Sinter_RowsOpInterface]> {
  let summary = "zero elements at random and scale the others, as in training";
  let description = [{
    Element i (row-major) is `x / (1 - ratio)` when `word >= ratio * 2^32`, else 0. `word` is the
    first word of Philox4x32-10 (Salmon et al. 2011) with the two words of `seed` as its key, low
    word first, and the counter (low word of i, high word of i, low word of `step`, low word of
    `op_id`). There is no hidden state: clones drop the same elements, and so does the gradient, which is
    the same op applied to the gradient of the result. With `first`, i counts from that number: if the
    elements are a part of a larger tensor (the rows of one replica), `first` is the number of their first
    element in it.

    C1: 0 <= ratio < 1. C2: `x` and the result have the same type.
    ```mlir
    %y = sinter.dropout %x, %seed, %step {ratio = 0.5 : f64, op_id = 3 : i64}
       : (tensor<4x8xf32>, tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$x, Sinter_ScalarI64:$seed, Sinter_ScalarI64:$step,
                       Optional<Sinter_ScalarI64>:$first, F64Attr:$ratio, I64Attr:$op_id);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// Elements whose word is below this are zeroed.
    uint64_t getThreshold();
  }];
  let hasVerifier = 1;
}

#endif // SINTER_IR_OPS_RANDOM_TD
