//===- Reduce.td - many elements into one ---------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_REDUCE_TD
#define SINTER_IR_OPS_REDUCE_TD

include "Attrs.td"
include "Interfaces.td"

class Sinter_ReduceLikeOp<string mnemonic, list<Trait> traits = []>
    : Sinter_Op<mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<Sinter_EvaluateOpInterface>], traits)>;

def Sinter_ReduceOp : Sinter_ReduceLikeOp<"reduce",
    [Sinter_InferType, Sinter_IndexMap, Sinter_CarriedLayout, Sinter_ResultRows]> {
  let summary = "combine all elements along some dimensions";
  let description = [{
    The reduced dimensions are removed. Of no elements, sum is 0, prod 1, max the lowest value (-inf),
    min the highest (inf), all true, and any false. max and min give NaN if any element is NaN.

    C1: `dims` are distinct, ascending and in range. C2: all and any take i1, the others numbers.
    ```mlir
    %y = sinter.reduce sum %x dims [1] : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Sinter_ReduceKindAttr:$kind, Sinter_Tensor:$x, DenseI64ArrayAttr:$dims);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$kind $x `dims` $dims attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Sinter_ArgReduceOp : Sinter_ReduceLikeOp<"arg_reduce",
    [Sinter_InferType, Sinter_ZeroGradient, Sinter_IndexMap, Sinter_ResultRows]> {
  let summary = "index of the greatest or smallest element along one dimension";
  let description = [{
    Of equal elements the first one counts, with `select_last` the last one. NaN counts as greater
    (max) or smaller (min) than every number. The result is i64, without the dimension.

    C1: `kind` is max or min. C2: `axis` is in range and its size is not 0.
    ```mlir
    %i = sinter.arg_reduce max %x {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4xi64>
    ```
  }];
  let arguments = (ins Sinter_ReduceKindAttr:$kind, Sinter_NumberTensor:$x, I64Attr:$axis,
                       UnitAttr:$select_last);
  let results = (outs Sinter_TensorOf<I64>:$result);
  let assemblyFormat = "$kind $x attr-dict `:` functional-type(operands, results)";
}

def Sinter_ReduceWindowOp : Sinter_ReduceLikeOp<"reduce_window",
    [Sinter_InferType, Sinter_CarriedLayout, Sinter_ResultRows]> {
  let summary = "combine the elements of a sliding window";
  let description = [{
    Windows slide over all dimensions. Padding does not contribute: sum adds nothing for it, max and
    min ignore it, and a window of only padding gives the value of an empty reduction.

    C1: `kind` is sum, max or min; lists have one entry per dimension.
    C2: `window`, `strides`, `dilations` >= 1; `pads_low`, `pads_high` >= 0.
    C3: the dilated window is not larger than the padded input.
    ```mlir
    %y = sinter.reduce_window max %x {window = array<i64: 1, 1, 2, 2>, strides = array<i64: 1, 1, 2, 2>,
           dilations = array<i64: 1, 1, 1, 1>, pads_low = array<i64: 0, 0, 0, 0>, pads_high = array<i64: 0, 0, 0, 0>}
       : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
    ```
  }];
  let arguments = (ins Sinter_ReduceKindAttr:$kind, Sinter_NumberTensor:$x, DenseI64ArrayAttr:$window,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high);
  let results = (outs Sinter_NumberTensor:$result);
  let assemblyFormat = "$kind $x attr-dict `:` functional-type(operands, results)";
}

def Sinter_ReduceWindowGradOp : Sinter_ReduceLikeOp<"reduce_window_grad",
    [Sinter_SoloKernel, AllTypesMatch<["x", "result"]>, Sinter_CarriedLayout, Sinter_ResultRows]> {
  let summary = "gradient of reduce_window with respect to its input";
  let description = [{
    max: each element of `output_grad` is added to the first element of its window, in row-major order,
    that equals the maximum of the window in `x` (a NaN is the maximum). sum: it is added to every element
    of its window. Contributions to one element are summed in row-major order of the windows.

    C1: `kind` is max or sum. C2: `reduce_window` of `x` has the type of `output_grad`.
    ```mlir
    %dx = sinter.reduce_window_grad max %x, %dy {window = array<i64: 2>, strides = array<i64: 2>,
            dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>}
       : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Sinter_ReduceKindAttr:$kind, Sinter_FloatTensor:$x, Sinter_FloatTensor:$output_grad,
                       DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$kind $x `,` $output_grad attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Sinter_CumulativeOp : Sinter_ReduceLikeOp<"cumulative",
    [Sinter_SoloKernel, SameOperandsAndResultType, Sinter_ResultRows]> {
  let summary = "running sum or product along one dimension";
  let description = [{
    Element i combines elements 0..i, with `exclusive` 0..i-1; with `reverse` counted from the end.

    C1: `kind` is sum or prod. C2: `axis` is in range.
    ```mlir
    %y = sinter.cumulative sum %x {axis = 1 : i64} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Sinter_ReduceKindAttr:$kind, Sinter_NumberTensor:$x, I64Attr:$axis,
                       UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs Sinter_NumberTensor:$result);
  let assemblyFormat = "$kind $x attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Sinter_CumulativePartsOp : Sinter_ReduceLikeOp<"cumulative_parts",
    [Sinter_SoloKernel, AllTypesMatch<["x", "result"]>, Sinter_NotDifferentiable]> {
  let summary = "running sums or products in parts, each of which continues from a given start";
  let description = [{
    Like `cumulative`, but each line is cut into parts of `part` elements, counted in the direction of the sum; the
    last part may be shorter. Element i combines the start of its part with the elements of the part that `cumulative`
    would combine. Part p starts with element p-1 of `starts` along the axis (with `reverse` counted from the end);
    the first part has no start. `sinter-split-scans` creates this op for long lines, so that parts are computed side
    by side.

    C1: `kind` is sum or prod. C2: `axis` is in range. C3: `part` is at least 1. C4: `starts` has the shape of `x`,
    but along `axis` one element for each part except the first. C5: `starts` has the element type of `x`, or f32 if
    that is a 16-bit float.
    ```mlir
    %y = sinter.cumulative_parts sum %x, %s {axis = 1 : i64, part = 3 : i64} : tensor<4x8xf32>, tensor<4x2xf32>
    ```
  }];
  let arguments = (ins Sinter_ReduceKindAttr:$kind, Sinter_NumberTensor:$x, Sinter_NumberTensor:$starts,
                       I64Attr:$axis, I64Attr:$part, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs Sinter_NumberTensor:$result);
  let assemblyFormat = "$kind $x `,` $starts attr-dict `:` type($result) `,` type($starts)";
  let hasVerifier = 1;
}

def Sinter_TopKOp : Sinter_ReduceLikeOp<"top_k", [Sinter_SoloKernel, Sinter_InferType, Sinter_ResultRows]> {
  let summary = "the k greatest (or smallest) elements along one dimension, in order";
  let description = [{
    Equal elements keep their order. NaN counts as greater than every number. With `k` equal to the size of the
    dimension the op sorts.

    C1: `axis` is in range. C2: 0 <= `k` <= the size of that dimension.
    ```mlir
    %v, %i = sinter.top_k %x {axis = 1 : i64, k = 3 : i64, largest}
       : (tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi64>)
    ```
  }];
  let arguments = (ins Sinter_NumberTensor:$x, I64Attr:$axis, I64Attr:$k, UnitAttr:$largest);
  let results = (outs Sinter_NumberTensor:$values, Sinter_TensorOf<I64>:$indices);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

#endif // SINTER_IR_OPS_REDUCE_TD
