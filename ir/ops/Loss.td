//===- Loss.td - losses per example (composites) --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_LOSS_TD
#define SINTER_IR_OPS_LOSS_TD

include "Attrs.td"
include "Interfaces.td"

def Sinter_SoftmaxCrossEntropyOp : Sinter_Op<"softmax_cross_entropy", [Pure,
    DeclareOpInterfaceMethods<Sinter_EvaluateOpInterface>,
    DeclareOpInterfaceMethods<Sinter_CompositeOpInterface>, Sinter_ResultRows]> {
  let summary = "-log(softmax(logits)[label]) for each example";
  let description = [{
    With smoothing e over K classes, the target distribution is e / K for every class, plus 1 - e at the
    label. An example whose label is `ignore_index` has loss 0 and no gradient.

    C1: `axis` is in range. C2: `labels` (any integer type) and the result have the shape of `logits`
    without `axis`. C3: 0 <= label_smoothing <= 1.
    ```mlir
    %l = sinter.softmax_cross_entropy %x, %t {axis = 1 : i64, label_smoothing = 0.0 : f64}
       : (tensor<4x10xf32>, tensor<4xi64>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$logits, Sinter_IntTensor:$labels, I64Attr:$axis,
                       OptionalAttr<I64Attr>:$ignore_index, F64Attr:$label_smoothing);
  let results = (outs Sinter_FloatTensor:$losses);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // SINTER_IR_OPS_LOSS_TD
