//===- Shape.td - ops that move elements ----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_SHAPE_TD
#define SINTER_IR_OPS_SHAPE_TD

include "Attrs.td"
include "Interfaces.td"

class Sinter_ShapeOp<string mnemonic, list<Trait> traits = []>
    : Sinter_Op<mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<Sinter_EvaluateOpInterface>], traits)>;

// Ops that only move elements.
class Sinter_MoveOp<string mnemonic, list<Trait> traits = []>
    : Sinter_ShapeOp<mnemonic, !listconcat([Sinter_PrecisionInfer], traits)>;

def Sinter_ConstantOp : Sinter_ShapeOp<"constant",
    [ConstantLike, AllTypesMatch<["value", "result"]>, Sinter_ZeroGradient, Sinter_ElementCost,
     Sinter_CarriedLayout]> {
  let summary = "a tensor known at compile time";
  let description = [{
    A value of more than 1 KiB is a `dense_resource` blob. A splat may have any shape.
    ```mlir
    %c = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Sinter_IotaOp : Sinter_ShapeOp<"iota", [Sinter_ZeroGradient, Sinter_ElementCost]> {
  let summary = "the index of each element along one dimension";
  let description = [{
    C1: `axis` is in range.
    ```mlir
    %i = sinter.iota {axis = 1 : i64} : tensor<4x8xi64>
    ```
  }];
  let arguments = (ins I64Attr:$axis);
  let results = (outs Sinter_NumberTensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Sinter_BroadcastOp : Sinter_MoveOp<"broadcast",
    [Sinter_View, Sinter_IndexMap, Sinter_ElementCost, Sinter_CarriedLayout, Sinter_ResultRows]> {
  let summary = "repeat elements along new dimensions or dimensions of size 1";
  let description = [{
    Dimension i of `x` becomes dimension `dims[i]` of the result.

    C1: `dims` has one entry per dimension of `x`, strictly ascending and in range.
    C2: size i of `x` is 1 or the size of dimension `dims[i]`. C3: element types are equal.
    ```mlir
    %y = sinter.broadcast %x dims [1] : tensor<8xf32> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Sinter_Tensor:$x, DenseI64ArrayAttr:$dims);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$x `dims` $dims attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Sinter_ReshapeOp : Sinter_MoveOp<"reshape",
    [Sinter_View, Sinter_Alias, Sinter_IndexMap, Sinter_ElementCost, Sinter_ResultRows]> {
  let summary = "the same elements in the same row-major order under another shape";
  let description = [{
    C1: operand and result have the same number of elements and the same element type.
    ```mlir
    %y = sinter.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
    ```
  }];
  let arguments = (ins Sinter_Tensor:$x);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Sinter_TransposeOp : Sinter_MoveOp<"transpose",
    [Sinter_View, Sinter_InferType, Sinter_IndexMap, Sinter_CheapAsLoad, Sinter_ResultRows]> {
  let summary = "permute dimensions";
  let description = [{
    Dimension i of the result is dimension `perm[i]` of `x`. C1: `perm` is a permutation.
    ```mlir
    %y = sinter.transpose %x perm [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Sinter_Tensor:$x, DenseI64ArrayAttr:$perm);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$x `perm` $perm attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Sinter_SliceOp : Sinter_MoveOp<"slice",
    [Sinter_View, Sinter_InferType, Sinter_IndexMap, Sinter_CheapAsLoad, Sinter_CarriedLayout,
     Sinter_ResultRows]> {
  let summary = "every stride-th element from start to below limit";
  let description = [{
    C1: one entry per dimension; 0 <= start <= limit <= size; stride >= 1.
    ```mlir
    %y = sinter.slice %x starts [0, 2] limits [4, 8] strides [1, 2] : (tensor<4x8xf32>) -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins Sinter_Tensor:$x, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$limits,
                       DenseI64ArrayAttr:$strides);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = [{
    $x `starts` $starts `limits` $limits `strides` $strides attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def Sinter_PadOp : Sinter_MoveOp<"pad",
    [Sinter_ChoosesElements, Sinter_InferType, Sinter_CarriedLayout, Sinter_ResultRows]> {
  let summary = "insert a value around and between the elements";
  let description = [{
    For each dimension: `low` elements of the value before, `high` after, and `interior` between neighbours.

    C1: one entry per dimension, all >= 0. C2: `value` is a scalar tensor of the same element type.
    ```mlir
    %y = sinter.pad %x, %v low [0, 1] high [0, 1] interior [0, 0]
       : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x10xf32>
    ```
  }];
  let arguments = (ins Sinter_Tensor:$x, Sinter_Tensor:$value, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = [{
    $x `,` $value `low` $low `high` $high `interior` $interior attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def Sinter_ConcatOp : Sinter_MoveOp<"concat",
    [Sinter_ChoosesElements, Sinter_InferType, Sinter_LayoutOpInterface, Sinter_ResultRows]> {
  let summary = "concatenate tensors along one dimension";
  let description = [{
    C1: at least one operand; `axis` in range; equal element types and equal other sizes.
    ```mlir
    %y = sinter.concat %a, %b axis 0 : (tensor<1x8xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Variadic<Sinter_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Sinter_ReverseOp : Sinter_MoveOp<"reverse",
    [Sinter_ChoosesElements, SameOperandsAndResultType, Sinter_IndexMap, Sinter_CheapAsLoad, Sinter_CarriedLayout,
     Sinter_ResultRows]> {
  let summary = "reverse the order of elements along some dimensions";
  let description = [{
    C1: `dims` are distinct and in range.
    ```mlir
    %y = sinter.reverse %x dims [1] : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Sinter_Tensor:$x, DenseI64ArrayAttr:$dims);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$x `dims` $dims attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Sinter_GatherOp : Sinter_MoveOp<"gather",
    [Sinter_InferType, Sinter_IndexMap, Sinter_CarriedLayout, Sinter_ResultRows]> {
  let summary = "slices along one dimension, chosen by indices (ONNX Gather)";
  let description = [{
    The dimensions of the result are those of `x` before `axis`, those of `indices`, and those of `x` after
    `axis`. A negative index counts from the end. An index that is out of range is clamped to it;
    importers add the checks that report it.

    C1: `axis` is in range. C2: `indices` are i32 or i64. C3: the dimension is not empty, unless the
    result is.
    ```mlir
    %y = sinter.gather %x, %i axis 0 : (tensor<9x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
    ```
  }];
  let arguments = (ins Sinter_Tensor:$x, Sinter_TensorOf<AnyTypeOf<[I32, I64]>>:$indices, I64Attr:$axis);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$x `,` $indices `axis` $axis attr-dict `:` functional-type(operands, results)";
}

def Sinter_GatherElementsOp : Sinter_MoveOp<"gather_elements",
    [Sinter_InferType, Sinter_IndexMap, Sinter_ResultRows]> {
  let summary = "one element along one dimension per index (ONNX GatherElements)";
  let description = [{
    y[i..] = x[i.., with indices[i..] at `axis`]. Indices that are negative or out of range are treated as in
    `gather`.

    C1: `axis` is in range; ranks are equal; other sizes of `indices` are not larger than those of `x`.
    C2: the dimension is not empty, unless the result is.
    ```mlir
    %y = sinter.gather_elements %x, %i axis 1 : (tensor<4x8xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
    ```
  }];
  let arguments = (ins Sinter_Tensor:$x, Sinter_TensorOf<AnyTypeOf<[I32, I64]>>:$indices, I64Attr:$axis);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$x `,` $indices `axis` $axis attr-dict `:` functional-type(operands, results)";
}

def Sinter_GatherNdOp : Sinter_MoveOp<"gather_nd", [Sinter_InferType, Sinter_ResultRows]> {
  let summary = "slices chosen by index tuples (ONNX GatherND)";
  let description = [{
    The last dimension of `indices` holds tuples that index the dimensions of `x` after the
    `batch_dims` leading ones. Indices that are negative or out of range are treated as in `gather`.

    C1: leading `batch_dims` sizes are equal. C2: the tuple is not longer than the rest of `x`'s rank.
    C3: no indexed dimension is empty, unless the result is.
    ```mlir
    %y = sinter.gather_nd %x, %i batch_dims 0 : (tensor<4x8x3xf32>, tensor<5x2xi64>) -> tensor<5x3xf32>
    ```
  }];
  let arguments = (ins Sinter_Tensor:$x, Sinter_TensorOf<AnyTypeOf<[I32, I64]>>:$indices, I64Attr:$batch_dims);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$x `,` $indices `batch_dims` $batch_dims attr-dict `:` functional-type(operands, results)";
}

def Sinter_ScatterOp : Sinter_ShapeOp<"scatter",
    [Sinter_SoloKernel, AllTypesMatch<["x", "result"]>, Sinter_ResultRows]> {
  let summary = "update slices along one dimension by index (the reverse of gather)";
  let description = [{
    `updates` has the shape of the `gather` of `x` with `indices` along `axis`. Updates of the same slice
    are applied in the order of the indices. A negative index counts from the end. Updates whose index is
    out of range are dropped.

    C1: `updates` has the shape given above. C2: only kind set takes i1.
    ```mlir
    %y = sinter.scatter sum %x, %i, %u axis 0
       : (tensor<9x4xf32>, tensor<2x3xi64>, tensor<2x3x4xf32>) -> tensor<9x4xf32>
    ```
  }];
  let arguments = (ins Sinter_ScatterKindAttr:$kind, Sinter_Tensor:$x, Sinter_TensorOf<AnyTypeOf<[I32, I64]>>:$indices,
                       Sinter_Tensor:$updates, I64Attr:$axis);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$kind $x `,` $indices `,` $updates `axis` $axis attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Sinter_ScatterElementsOp : Sinter_ShapeOp<"scatter_elements",
    [Sinter_SoloKernel, AllTypesMatch<["x", "result"]>, Sinter_ResultRows]> {
  let summary = "update one element along one dimension per index (ONNX ScatterElements)";
  let description = [{
    Updates of the same element are applied in the order of the indices. Indices are treated as in `scatter`.

    C1: `updates` has the shape of `indices`; ranks equal that of `x`; `axis` in range; other sizes
    are not larger than those of `x`. C2: only kind set takes i1.
    ```mlir
    %y = sinter.scatter_elements set %x, %i, %u axis 1
       : (tensor<4x8xf32>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Sinter_ScatterKindAttr:$kind, Sinter_Tensor:$x, Sinter_TensorOf<AnyTypeOf<[I32, I64]>>:$indices,
                       Sinter_Tensor:$updates, I64Attr:$axis);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$kind $x `,` $indices `,` $updates `axis` $axis attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Sinter_ScatterNdOp : Sinter_ShapeOp<"scatter_nd",
    [Sinter_SoloKernel, AllTypesMatch<["x", "result"]>, Sinter_ResultRows]> {
  let summary = "update slices by index tuples (ONNX ScatterND)";
  let description = [{
    Updates of the same slice are applied in the order of the indices. Indices are treated as in `scatter`; an update
    is dropped if any index of its tuple is out of range.

    C1: `updates` has the shape of `gather_nd` of `x` and `indices` with batch_dims 0.
    C2: only kind set takes i1.
    ```mlir
    %y = sinter.scatter_nd max %x, %i, %u
       : (tensor<4x8x3xf32>, tensor<5x2xi64>, tensor<5x3xf32>) -> tensor<4x8x3xf32>
    ```
  }];
  let arguments = (ins Sinter_ScatterKindAttr:$kind, Sinter_Tensor:$x, Sinter_TensorOf<AnyTypeOf<[I32, I64]>>:$indices,
                       Sinter_Tensor:$updates);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$kind $x `,` $indices `,` $updates attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Sinter_IndexFaultOp : Sinter_ShapeOp<"index_fault", [Sinter_InferType,
    DeclareOpInterfaceMethods<Sinter_CompositeOpInterface>]> {
  let summary = "the first index that is out of range, and its position";
  let description = [{
    An index i is in range if `lower` <= i < `upper`. The result is [position + 1, i] for the first index
    in row-major order that is not, or [0, 0] if there is none. The runtime turns it into an error: @main
    returns all of these in the result with the attribute `sinter.index_checks`.

    C1: `lower` < `upper`.
    ```mlir
    %f = sinter.index_fault %i from -9 to 9 : (tensor<2x3xi64>) -> tensor<2xi64>
    ```
  }];
  let arguments = (ins Sinter_TensorOf<AnyTypeOf<[I32, I64]>>:$indices, I64Attr:$lower, I64Attr:$upper);
  let results = (outs Sinter_TensorOf<I64>:$result);
  let assemblyFormat = "$indices `from` $lower `to` $upper attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // SINTER_IR_OPS_SHAPE_TD
