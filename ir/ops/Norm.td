//===- Norm.td - softmax and normalisations (composites) ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_NORM_TD
#define SINTER_IR_OPS_NORM_TD

include "Attrs.td"
include "Interfaces.td"

class Sinter_NormOp<string mnemonic, list<Trait> traits = []>
    : Sinter_Op<mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<Sinter_EvaluateOpInterface>,
        DeclareOpInterfaceMethods<Sinter_CompositeOpInterface>], traits)> {
  let hasVerifier = 1;
}

def Sinter_SoftmaxOp : Sinter_NormOp<"softmax", [SameOperandsAndResultType, Sinter_ResultRows]> {
  let summary = "exp(x - max) / sum(exp(x - max)) along one dimension";
  let description = [{
    C1: `axis` is in range.
    ```mlir
    %y = sinter.softmax %x {axis = 1 : i64} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$x, I64Attr:$axis);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}

def Sinter_LogSoftmaxOp : Sinter_NormOp<"log_softmax",
    [SameOperandsAndResultType, Sinter_ResultRows]> {
  let summary = "(x - max) - log(sum(exp(x - max))) along one dimension";
  let description = [{
    C1: `axis` is in range.
    ```mlir
    %y = sinter.log_softmax %x {axis = 1 : i64} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$x, I64Attr:$axis);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}

def Sinter_LayerNormOp : Sinter_NormOp<"layer_norm",
    [AllTypesMatch<["x", "result"]>, Sinter_ResultRows]> {
  let summary = "normalise over the dimensions from axis on, then scale and shift";
  let description = [{
    `(x - mean) / sqrt(var + epsilon) * scale + bias`, where `var` is the biased variance, the mean of
    squared deviations.

    C1: `axis` is in range. C2: `scale` and `bias` have the shape of `x` from `axis` on.
    ```mlir
    %y = sinter.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f64}
       : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$x, Sinter_FloatTensor:$scale,
                       Optional<Sinter_FloatTensor>:$bias, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Sinter_BatchNormOp : Sinter_NormOp<"batch_norm", [AllTypesMatch<["x", "result"]>,
    AllTypesMatch<["scale", "bias", "mean", "variance"]>, Sinter_ResultRows]> {
  let summary = "normalise each channel (dimension 1) with given statistics";
  let description = [{
    `(x - mean) / sqrt(variance + epsilon) * scale + bias`. `momentum` (ONNX: running = running *
    momentum + batch * (1 - momentum)) has no effect on this op; the train phase reads it.

    C1: rank of `x` >= 2. C2: the other operands have shape [channels] and the element type of `x`.
    ```mlir
    %y = sinter.batch_norm %x, %s, %b, %m, %v {epsilon = 1.0e-5 : f64}
       : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      -> tensor<2x3x4xf32>
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$x, Sinter_FloatTensor:$scale, Sinter_FloatTensor:$bias,
                       Sinter_FloatTensor:$mean, Sinter_FloatTensor:$variance, F64Attr:$epsilon,
                       DefaultValuedAttr<F64Attr, "0.9">:$momentum);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Sinter_BatchNormTrainingOp : Sinter_NormOp<"batch_norm_training",
    [AllTypesMatch<["x", "result"]>,
    AllTypesMatch<["scale", "bias", "batch_mean", "batch_variance"]>]> {
  let summary = "normalise each channel (dimension 1) with the statistics of the batch";
  let description = [{
    Also returns the mean and the biased variance over all other dimensions.

    C1: rank of `x` >= 2. C2: `scale` and `bias` have shape [channels] and the element type of `x`.
    ```mlir
    %y, %m, %v = sinter.batch_norm_training %x, %s, %b {epsilon = 1.0e-5 : f64}
       : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$x, Sinter_FloatTensor:$scale, Sinter_FloatTensor:$bias,
                       F64Attr:$epsilon);
  let results = (outs Sinter_FloatTensor:$result, Sinter_FloatTensor:$batch_mean,
                      Sinter_FloatTensor:$batch_variance);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Sinter_GroupNormOp : Sinter_NormOp<"group_norm", [AllTypesMatch<["x", "result"]>,
    AllTypesMatch<["scale", "bias"]>, Sinter_ResultRows]> {
  let summary = "normalise each group of channels of each example; groups = channels is instance norm";
  let description = [{
    C1: rank of `x` >= 2. C2: `groups` divides the channels. C3: `scale` and `bias` have shape
    [channels] and the element type of `x`.
    ```mlir
    %y = sinter.group_norm %x, %s, %b {groups = 2 : i64, epsilon = 1.0e-5 : f64}
       : (tensor<2x4x5xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x5xf32>
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$x, Sinter_FloatTensor:$scale, Sinter_FloatTensor:$bias,
                       I64Attr:$groups, F64Attr:$epsilon);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif // SINTER_IR_OPS_NORM_TD
