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
    DeclareOpInterfaceMethods<Sinter_CompositeOpInterface>, Sinter_ResultRows]> {
  let summary = "softmax(query * key^T * scale + mask) * value";
  let description = [{
    Shapes: query [.., T, D], key [.., S, D], value [.., S, E], mask [.., T, S], result
    [.., T, E], stats [.., T]. `causal` adds -inf where the position of the key exceeds that of the
    query. A query whose scores are all -inf gives 0. `stats` is kept for the gradient of the softmax: the
    logarithm of the sum over keys of exp(score), or -inf if all scores are -inf.

    C1: leading dimensions are equal, at least one. C2: D and S agree as above.
    C3: `mask`, if present, has the full shape [.., T, S], and may be float32 whatever the type of the operands.
    C4: `stats` is float64 if the operands are, else float32.
    ```mlir
    %y, %stats = sinter.attention %q, %k, %v {scale = 0.5 : f64, causal}
       : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>)
       -> (tensor<2x3x6xf32>, tensor<2x3xf32>)
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$query, Sinter_FloatTensor:$key, Sinter_FloatTensor:$value,
                       Optional<Sinter_FloatTensor>:$mask, F64Attr:$scale, UnitAttr:$causal);
  let results = (outs Sinter_FloatTensor:$output, Sinter_FloatTensor:$stats);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let builders = [
    /// The types of the results follow from those of the operands; `mask` may be null.
    OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key, "::mlir::Value":$value,
                   "::mlir::Value":$mask, "double":$scale, "bool":$causal)>
  ];
}

def Sinter_AttentionGradOp : Sinter_Op<"attention_grad", [Pure,
    DeclareOpInterfaceMethods<Sinter_EvaluateOpInterface>,
    DeclareOpInterfaceMethods<Sinter_CompositeOpInterface>, Sinter_ResultRows]> {
  let summary = "gradients of attention with respect to query, key, value and mask";
  let description = [{
    `output_grad` is the gradient of a loss with respect to the output of `sinter.attention`. With the
    probabilities p = exp(score - stats), which are 0 in rows that are masked completely, and
    dp = output_grad * value^T: value_grad = p^T * output_grad; mask_grad = ds = p * (dp - sum over keys
    of p * dp); query_grad = scale * ds * key; key_grad = scale * ds^T * query. `output` and `stats` are the
    results of the attention; an implementation may use them or compute the probabilities again.

    C1: operands are those of an attention, with its results; `output_grad` has the type of `output`.
    C2: each gradient has the type of its operand; `mask_grad` is present if and only if `mask` is.
    ```mlir
    %dq, %dk, %dv = sinter.attention_grad %q, %k, %v, %y, %stats, %dy {scale = 0.5 : f64}
       : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>, tensor<2x3x6xf32>, tensor<2x3xf32>,
          tensor<2x3x6xf32>) -> (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>)
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$query, Sinter_FloatTensor:$key, Sinter_FloatTensor:$value,
                       Sinter_FloatTensor:$output, Sinter_FloatTensor:$stats,
                       Sinter_FloatTensor:$output_grad, Optional<Sinter_FloatTensor>:$mask,
                       F64Attr:$scale, UnitAttr:$causal);
  let results = (outs Sinter_FloatTensor:$query_grad, Sinter_FloatTensor:$key_grad,
                      Sinter_FloatTensor:$value_grad, Optional<Sinter_FloatTensor>:$mask_grad);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // SINTER_IR_OPS_ATTENTION_TD
