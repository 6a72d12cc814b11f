//===- ExecAttrs.td - the exec dialect: attributes and types --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_EXEC_EXECATTRS_TD
#define SINTER_IR_EXEC_EXECATTRS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::sinter::exec";
  let summary = "Planned programs: buffers with addresses, and commands in an order";
  let description = [{
    A module in this form holds `sinter.state`s, `exec.constant`s, `exec.kernel`s and one
    `exec.program` per entry. A program is a list of commands on buffers. It maps one to one
    to the tables of `sinter/abi.h`; enumerations have the numbers of that header.

    Two buffers may share bytes only if all uses of the first happen before the first use of
    the second; the verifier of `exec.program` checks that.

    If a program spans several devices, `sinter.devices` of the module names them. Its commands have the attributes
    `exec.place` (the number of the device that runs them) and `exec.stream` (0: compute, 1: transfers, 2: gradients of
    weights); copies from one device to another also `exec.from` and `exec.to`. An absent place or stream is 0, an absent
    from or to is the place. Commands of one place and stream run in order, others in any order that `exec.record` and `exec.wait`
    allow. `exec.arenas` of a program has the bytes of the arena of every place, `exec.target` of a kernel the kind of
    device that it is for.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let extraClassDeclaration = [{
    /// On the module: a TrainingAttr.
    static constexpr llvm::StringLiteral kTrainingAttr = "sinter.training";
    /// On commands, programs and kernels; see the description.
    static constexpr llvm::StringLiteral kPlaceAttr = "exec.place";
    static constexpr llvm::StringLiteral kStreamAttr = "exec.stream";
    static constexpr llvm::StringLiteral kFromAttr = "exec.from";
    static constexpr llvm::StringLiteral kToAttr = "exec.to";
    static constexpr llvm::StringLiteral kArenasAttr = "exec.arenas";
    /// On a program: the index checks whose findings its last output holds,
    /// which only the runtime reads. See SinterDialect.
    static constexpr llvm::StringLiteral kIndexChecksAttr = "exec.index_checks";
    static constexpr llvm::StringLiteral kTargetAttr = "exec.target";
  }];
}

//===----------------------------------------------------------------------===//
// Attributes and types
//===----------------------------------------------------------------------===//

class Exec_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::sinter::exec";
  let genSpecializedAttr = 0;
}
class Exec_Attr<string name, string attrMnemonic> : AttrDef<Exec_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Exec_Space : Exec_Enum<"Space", "a space of memory", [
  I32EnumAttrCase<"arena", 1>, I32EnumAttrCase<"state", 2>, I32EnumAttrCase<"input", 3>,
  I32EnumAttrCase<"output", 4>, I32EnumAttrCase<"constant", 5>, I32EnumAttrCase<"control", 6>,
  I32EnumAttrCase<"chain", 8>]>;

def Exec_SliceAttr : Exec_Attr<"Slice", "slice"> {
  let summary = "bytes of a space";
  let description = [{
    In the arena space `index` is the number of the device; in the state, input and output spaces, that of the state of
    the module, or of the input or output of the program; in the chain space, how many convolutions of the chain come
    before the one that writes it. In other spaces it is 0. `offset` and `size` are in bytes.
    ```mlir
    #exec.slice<arena[0] 64 + 256>
    ```
  }];
  let parameters = (ins "::sinter::exec::Space":$space, "int64_t":$index, "int64_t":$offset,
                        "int64_t":$size);
  let hasCustomAssemblyFormat = 1;
}

def Exec_PostOpKind : Exec_Enum<"PostOpKind", "what is done to the result of a contraction", [
  I32EnumAttrCase<"bias", 1>, I32EnumAttrCase<"add", 2>, I32EnumAttrCase<"relu", 3>,
  I32EnumAttrCase<"gelu_erf", 4>, I32EnumAttrCase<"gelu_tanh", 5>, I32EnumAttrCase<"sigmoid", 6>,
  I32EnumAttrCase<"tanh", 7>, I32EnumAttrCase<"clip", 8>, I32EnumAttrCase<"scale", 9>,
  I32EnumAttrCase<"swish", 10>, I32EnumAttrCase<"hard_swish", 11>, I32EnumAttrCase<"store", 12>,
  I32EnumAttrCase<"relu_bits", 13>, I32EnumAttrCase<"relu_grad", 14>,
  I32EnumAttrCase<"gelu_tanh_grad", 15>, I32EnumAttrCase<"bias_grad", 16>,
  I32EnumAttrCase<"a_sum", 17>, I32EnumAttrCase<"b_sum", 18>,
  I32EnumAttrCase<"channel_sum", 19>, I32EnumAttrCase<"channel_squares", 20>,
  I32EnumAttrCase<"dequantize", 21>, I32EnumAttrCase<"quantize", 22>,
  I32EnumAttrCase<"fake_quantize", 23>, I32EnumAttrCase<"add_codes", 24>]>;

def Exec_PostOpAttr : Exec_Attr<"PostOp", "post_op"> {
  let summary = "a step after a contraction";
  let description = [{
    `read` is the number of the operand of bias, add, relu_grad, gelu_tanh_grad, dequantize or add_codes among the reads of the
    command (from 2). `write` is the number of the buffer that a kind which keeps something writes (from 1). `alpha` is the factor of
    a scale; `alpha` and `beta` are the bounds of a clip. swish is x * sigmoid(x), hard_swish is
    x * min(max(x / 6 + 0.5, 0), 1).

    The kinds from store on are for products on devices whose library has them. store keeps x. relu_bits keeps the
    bits x > 0 of a relu, in lines of n bits padded to a multiple of 128. relu_grad is x where the bit is 1, else 0.
    gelu_tanh_grad is x * gelu'(read). bias_grad keeps the sums of x over the rows, a_sum and b_sum those of A and B
    over k; all three leave x unchanged. channel_sum and channel_squares end a forward convolution, and keep the sums
    of x and x^2 over each of its channels in float32.

    dequantize and quantize are for contractions of 8-bit integers. dequantize casts an int32 x to float32 and multiplies
    it by the scale of its column, which it reads. quantize, the last step, is round(x / alpha) + beta, rounded to nearest
    even and clamped to the type of the result; NaN becomes 0. Between both, fake_quantize is (q - beta) * alpha, where q
    is what quantize would make of x, and add_codes adds (read - beta) * alpha, where read has the type of the result.
    ```mlir
    #exec.post_op<bias read 2>
    #exec.post_op<relu_bits write 1>
    #exec.post_op<clip alpha 0.0 : f32 beta 6.0 : f32>
    ```
  }];
  let parameters = (ins EnumParameter<Exec_PostOpKind>:$kind, OptionalParameter<"int64_t">:$read,
                        OptionalParameter<"int64_t">:$write,
                        OptionalParameter<"::mlir::FloatAttr">:$alpha,
                        OptionalParameter<"::mlir::FloatAttr">:$beta);
  let assemblyFormat = "`<` $kind (`read` $read^)? (`write` $write^)? (`alpha` $alpha^)? (`beta` $beta^)? `>`";
}
def Exec_PostOps : TypedArrayAttrBase<Exec_PostOpAttr, "post-ops">;

def Exec_CodedWeightsAttr : Exec_Attr<"CodedWeights", "coded_weights"> {
  let summary = "weights as integers of 4 or 8 bits";
  let description = [{
    A product's B[k,n] is (code[k,n] - zero[k / block, n]) * scale[k / block, n]. `bits` is the size of a code. `scales`
    and `zeros` are the numbers of reads of float32, [k / block, n]; if one is absent, all blocks have the number `scale`
    or `zero`. 8-bit codes are [k, n]. 4-bit codes are unsigned, [k / 2, n]: the low half of a byte is that of an even k.
    ```mlir
    #exec.coded_weights<bits 4 block 32 scales 2 zero 8.0 : f32>
    ```
  }];
  let parameters = (ins "int64_t":$bits, "int64_t":$block, OptionalParameter<"int64_t">:$scales,
                        OptionalParameter<"int64_t">:$zeros, OptionalParameter<"::mlir::FloatAttr">:$scale,
                        OptionalParameter<"::mlir::FloatAttr">:$zero);
  let assemblyFormat = [{
    `<` `bits` $bits `block` $block (`scales` $scales^)? (`zeros` $zeros^)? (`scale` $scale^)? (`zero` $zero^)? `>`
  }];
}

def Exec_TrainingAttr : Exec_Attr<"Training", "training"> {
  let summary = "what a trainer must know of the program that it runs";
  let description = [{
    The module of a training program has it as `sinter.training`, from the train phase on; the artifact passes it on
    (`sinter_training` of abi.h). `lr`, `weight_decay` and `clip_norm` (0: no clipping) are defaults that a trainer may
    override. `constants` are the optimizer's compiled numbers by name, such as `beta1`. `recipe` is what the program was
    asked for: strings, numbers and truth values, which the manifest passes on to trainers. `batch` is the number of rows
    in one micro-batch of one replica. A label is `ignore_index` or in [0, `num_classes`); if `num_classes` is 0, it may
    be any number. `replicas` run each step together, in `accumulate` micro-batches. If `evaluation_mixed_by` or
    `step_mixed_by` is set, rows that pad a batch cannot be masked in `eval` or in `step`, because the node at this
    location mixes rows.
    ```mlir
    #exec.training<optimizer = "sgd", loss = "mse", lr = 0.01 : f64, weight_decay = 0.0 : f64, clip_norm = 0.0 : f64,
                   constants = {momentum = 0.9 : f64}, batch = 8, num_classes = 0>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$optimizer, "::mlir::StringAttr":$loss, "::mlir::FloatAttr":$lr,
                        "::mlir::FloatAttr":$weight_decay, "::mlir::FloatAttr":$clip_norm,
                        "::mlir::DictionaryAttr":$constants, OptionalParameter<"::mlir::DictionaryAttr">:$recipe,
                        "int64_t":$batch, "int64_t":$num_classes,
                        OptionalParameter<"::mlir::IntegerAttr">:$ignore_index,
                        DefaultValuedParameter<"int64_t", "1">:$replicas,
                        DefaultValuedParameter<"int64_t", "1">:$accumulate,
                        OptionalParameter<"::mlir::LocationAttr">:$evaluation_mixed_by,
                        OptionalParameter<"::mlir::LocationAttr">:$step_mixed_by);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// That of a training program; null for other modules.
    static TrainingAttr of(::mlir::ModuleOp module);
    /// A number of `constants`; nothing if the optimizer has none of this name.
    std::optional<double> constant(::llvm::StringRef name) const;
  }];
}

def Exec_ConvDirection : Exec_Enum<"ConvDirection", "which of the three convolutions", [
  I32EnumAttrCase<"forward", 1>, I32EnumAttrCase<"input_grad", 2>,
  I32EnumAttrCase<"filter_grad", 3>]>;
def Exec_ConvDirectionAttr : EnumAttr<Exec_Dialect, Exec_ConvDirection, "direction">;

def Exec_AttentionDirection : Exec_Enum<"AttentionDirection", "attention or its gradients", [
  I32EnumAttrCase<"forward", 1>, I32EnumAttrCase<"backward", 2>]>;
def Exec_AttentionDirectionAttr
    : EnumAttr<Exec_Dialect, Exec_AttentionDirection, "attention_direction">;

def Exec_CollectiveKind : Exec_Enum<"CollectiveKind", "what replicas do together", [
  I32EnumAttrCase<"all_reduce", 0>, I32EnumAttrCase<"reduce_scatter", 1>, I32EnumAttrCase<"all_gather", 2>]>;
def Exec_CollectiveKindAttr : EnumAttr<Exec_Dialect, Exec_CollectiveKind, "collective_kind">;

def Exec_HeadsAttr : Exec_Attr<"Heads", "heads"> {
  let summary = "the position of an operand or result of attention";
  let description = [{
    `buffer` is a number among the reads and then the writes of the command. The elements [batch, heads, rows, depth]
    begin at element `offset`. `strides` are those of batch, head and row, in elements; elements of a row are adjacent.
    ```mlir
    #exec.heads<0 from 64 strides [1536, 64, 192]>
    ```
  }];
  let parameters = (ins "int64_t":$buffer, "int64_t":$offset, ArrayRefParameter<"int64_t">:$strides);
  let assemblyFormat = "`<` $buffer `from` $offset `strides` `[` $strides `]` `>`";
}
def Exec_HeadsList : TypedArrayAttrBase<Exec_HeadsAttr, "operands of attention">;

def Exec_ScanInputKind : Exec_Enum<"ScanInputKind", "what an input of the body of a scan is", [
  I32EnumAttrCase<"slice", 1>, I32EnumAttrCase<"whole", 2>, I32EnumAttrCase<"carried", 3>]>;

def Exec_ScanInputAttr : Exec_Attr<"ScanInput", "scan_input"> {
  let summary = "where an input of the body of a scan lies";
  let description = [{
    `read` is a number among the reads of the scan. `slice`: a trip has its own slice of that buffer. `whole`: each trip has the
    whole buffer. `carried`: the first trip has that buffer, each later one what the trip before it wrote as `output`, a number
    among the outputs of the body.
    ```mlir
    #exec.scan_input<slice 0>
    #exec.scan_input<carried 1 output 0>
    ```
  }];
  let parameters = (ins EnumParameter<Exec_ScanInputKind>:$kind, "int64_t":$read,
                        DefaultValuedParameter<"int64_t", "-1">:$output);
  let assemblyFormat = "`<` $kind $read (`output` $output^)? `>`";
}
def Exec_ScanInputs : TypedArrayAttrBase<Exec_ScanInputAttr, "inputs of the body of a scan">;

def Exec_ScanOutputKind : Exec_Enum<"ScanOutputKind", "what an output of the body of a scan is", [
  I32EnumAttrCase<"slice", 1>, I32EnumAttrCase<"last", 2>]>;

def Exec_ScanOutputAttr : Exec_Attr<"ScanOutput", "scan_output"> {
  let summary = "where an output of the body of a scan lies";
  let description = [{
    `write` is a number among the writes of the scan. `slice`: a trip writes its own slice of that buffer. `last`: the last trip
    writes that buffer; the others write to the scratch, for the next trip.
    ```mlir
    #exec.scan_output<last 0>
    ```
  }];
  let parameters = (ins EnumParameter<Exec_ScanOutputKind>:$kind, "int64_t":$write);
  let assemblyFormat = "`<` $kind $write `>`";
}
def Exec_ScanOutputs : TypedArrayAttrBase<Exec_ScanOutputAttr, "outputs of the body of a scan">;

def Exec_BufferType : TypeDef<Exec_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "bytes that hold one tensor value";
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

def Exec_CommandOpInterface : OpInterface<"CommandOpInterface"> {
  let cppNamespace = "::sinter::exec";
  let description = "One step of a program, with the buffers that it only reads and those that it defines.";
  let methods = [
    InterfaceMethod<"Buffers that are read.", "::mlir::OperandRange", "getReads">,
    InterfaceMethod<"Buffers that get their value by the command.", "::mlir::OperandRange", "getWrites">
  ];
}

#endif // SINTER_IR_EXEC_EXECATTRS_TD
