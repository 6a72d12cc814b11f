//===- Attention.td - scaled dot-product attention (composite) ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_ATTENTION_TD
#define SINTER_IR_OPS_ATTENTION_TD

include "Attrs.td"
include "Interfaces.td"

def Sinter_AttentionOp : Sinter_Op<"attention", [Pure,
    DeclareOpInterfaceMethods<Sinter_EvaluateOpInterface>,
    DeclareOpInterfaceMethods<Sinter_CompositeOpInterface>]> {
  let summary = "softmax(query * key^T * scale + mask) * value";
  let description = [{
    Shapes: query [.., T, D], key [.., S, D], value [.., S, E], mask [.., T, S], result
    [.., T, E]. `causal` adds -inf where the key's position exceeds the query's. A query whose
    keys are all at -inf gives 0.

    C1: leading dimensions are equal, at least one. C2: D and S agree as above.
    C3: `mask`, if there, has the shape [.., T, S] in full.
    ```mlir
    %y = sinter.attention %q, %k, %v {scale = 0.5 : f64, causal}
       : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>) -> tensor<2x3x6xf32>
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$query, Sinter_FloatTensor:$key, Sinter_FloatTensor:$value,
                       Optional<Sinter_FloatTensor>:$mask, F64Attr:$scale, UnitAttr:$causal);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // SINTER_IR_OPS_ATTENTION_TD
