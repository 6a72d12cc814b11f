//===- Conv.td - convolution and its two gradients ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_CONV_TD
#define SINTER_IR_OPS_CONV_TD

include "Attrs.td"
include "Interfaces.td"

def Sinter_ConvTensor : Sinter_TensorOf<AnyTypeOf<[F16, BF16, F32, F64, I32], "float or int32">>;

// The three ops are closed under differentiation; each can be one library call.
// Activations are N C spatial.. (channels_last: N spatial.. C); filters O I/groups
// spatial... `tf32` and casts of 16-bit operands mean the same as for dot_general.
class Sinter_ConvLikeOp<string mnemonic, list<Trait> traits = []>
    : Sinter_Op<mnemonic, !listconcat([Pure, Sinter_PrecisionAllow, Sinter_Contraction,
        Sinter_CarriedLayout,
        DeclareOpInterfaceMethods<Sinter_EvaluateOpInterface>], traits)> {
  dag window = (ins DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high,
                DefaultValuedAttr<I64Attr, "1">:$groups, UnitAttr:$channels_last,
                UnitAttr:$tf32);
}

def Sinter_ConvOp : Sinter_ConvLikeOp<"conv", [Sinter_InferType, Sinter_ResultRows]> {
  let summary = "cross-correlation of a batch with filters";
  let description = [{
    Activations have the dimensions N C spatial.. (with `channels_last` N spatial.. C), filters
    O I/groups spatial... `tf32` and casts of 16-bit operands mean the same as for `sinter.dot_general`.

    C1: operands have the same element type, float or int32, and rank >= 3. Sums of int32 wrap. An int32 operand that is
    cast from 8 bits means the same as for `sinter.dot_general`.
    C2: `strides`, `dilations` >= 1, `pads_low`, `pads_high` >= 0, one per spatial dimension.
    C3: `groups` divides the channels and the filters; the filter's second dimension is channels / groups.
    C4: the dilated kernel is not larger than the padded input.
    ```mlir
    %y = sinter.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
           pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>}
       : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
    ```
  }];
  let arguments = !con((ins Sinter_ConvTensor:$input, Sinter_ConvTensor:$filter), window);
  let results = (outs Sinter_ConvTensor:$result);
  let assemblyFormat = "$input `,` $filter attr-dict `:` functional-type(operands, results)";
}

def Sinter_ConvInputGradOp : Sinter_ConvLikeOp<"conv_input_grad", [Sinter_ResultRows]> {
  let summary = "gradient of conv with respect to its input; a transposed convolution";
  let description = [{
    C1: a conv of a tensor of the result's type and `filter` with these attributes has the type of `output_grad`.
    ```mlir
    %dx = sinter.conv_input_grad %dy, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
            pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>}
       : (tensor<2x4x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x3x8x8xf32>
    ```
  }];
  let arguments = !con((ins Sinter_FloatTensor:$output_grad, Sinter_FloatTensor:$filter), window);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$output_grad `,` $filter attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Sinter_ConvFilterGradOp : Sinter_ConvLikeOp<"conv_filter_grad"> {
  let summary = "gradient of conv with respect to its filter";
  let description = [{
    C1: a conv of `input` and a filter of the result's type with these attributes has the type of `output_grad`.
    ```mlir
    %dw = sinter.conv_filter_grad %x, %dy {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
            pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>}
       : (tensor<2x3x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<4x3x3x3xf32>
    ```
  }];
  let arguments = !con((ins Sinter_FloatTensor:$input, Sinter_FloatTensor:$output_grad), window);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$input `,` $output_grad attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // SINTER_IR_OPS_CONV_TD
