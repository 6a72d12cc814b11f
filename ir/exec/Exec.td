//===- Exec.td - the exec dialect: planned programs -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_EXEC_EXEC_TD
#define SINTER_IR_EXEC_EXEC_TD

include "ir/Attrs.td"
include "ir/Interfaces.td"
include "ir/exec/ExecAttrs.td"

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;
class Exec_CommandOp<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, !listconcat([HasParent<"ProgramOp">,
        DeclareOpInterfaceMethods<Exec_CommandOpInterface>], traits)>;

def Exec_LaunchOp : Exec_CommandOp<"launch", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "run a generated kernel";
  let description = [{
    The reads are the arguments of the body of the kernel, the writes are the values that it yields.

    C1: `kernel` names an `exec.kernel`; reads and writes have the number and the sizes of its
    arguments and results.
    ```mlir
    exec.launch @k0_relu(%x) -> (%y)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Exec_BufferType>:$reads,
                       Variadic<Exec_BufferType>:$writes);
  let assemblyFormat = "$kernel `(` $reads `)` `->` `(` $writes `)` attr-dict";
}

def Exec_MatmulOp : Exec_CommandOp<"matmul", [AttrSizedOperandSegments]> {
  let summary = "C[b,m,n] = sum over k of A[b,m,k] * B[b,k,n], then the post-ops";
  let description = [{
    Reads A, B and the operands of post-ops; writes C and the values that post-ops keep. Strides are in elements: first
    the batch strides, then those of m, k (A), k, n (B) and m, n (C). A batch stride of 0 repeats a matrix. A and B
    begin `a_offset` and `b_offset` elements into their buffers.

    C1: stride lists have one entry per batch dimension and two more, none negative; batch, sizes and offsets
    >= 0; at most 4 batch dimensions. C2: all elements are in their buffers. C3: A and B have the same element type, or both
    8-bit integers and C int32 or the result of dequantize.
    C4: at most 8 post-ops; the operand of a bias or bias_grad has n elements, that of an add, store or gelu_tanh_grad
    covers the elements of C, a_sum has m and b_sum n elements, without batch, and all have the element type of C; that
    of relu_bits and relu_grad has the bytes of the bits. Before dequantize it is int32, after it float32. C5: every kept buffer belongs to one post-op. C6: `tf32` is for float32 A and B.
    C7: `weights` are for float32 A and C without batch and offsets; B has 8-bit codes of [k, n], or 4-bit ones of
    [k / 2, n], and strides n and 1; the block divides k; scales and zeros are reads of float32 with k / block * n elements.
    ```mlir
    exec.matmul(%a, %b, %bias) -> %c m 4 n 3 k 8 batch [] a [8, 1] b [3, 1] c [3, 1]
        post [#exec.post_op<bias read 2>, #exec.post_op<relu>]
    exec.matmul(%a, %b) -> %c keeps(%bits) m 4 n 3 k 8 batch [] a [8, 1] b [3, 1] c [3, 1]
        post [#exec.post_op<relu_bits write 1>]
    exec.matmul(%a, %codes, %scales) -> %c m 4 n 3 k 8 batch [] a [8, 1] b [3, 1] c [3, 1]
        weights <bits 8 block 4 scales 2>
    ```
  }];
  let arguments = (ins Variadic<Exec_BufferType>:$inputs, Exec_BufferType:$output,
                       Variadic<Exec_BufferType>:$kept, I64Attr:$m, I64Attr:$n, I64Attr:$k, DenseI64ArrayAttr:$batch,
                       DenseI64ArrayAttr:$a_strides, DenseI64ArrayAttr:$b_strides,
                       DenseI64ArrayAttr:$c_strides, DefaultValuedAttr<I64Attr, "0">:$a_offset,
                       DefaultValuedAttr<I64Attr, "0">:$b_offset,
                       DefaultValuedAttr<Exec_PostOps, "{}">:$post_ops,
                       UnitAttr:$tf32, OptionalAttr<Exec_CodedWeightsAttr>:$weights);
  let assemblyFormat = [{
    `(` $inputs `)` `->` $output (`keeps` `(` $kept^ `)`)? `m` $m `n` $n `k` $k `batch` $batch `a` $a_strides (`from` $a_offset^)?
    `b` $b_strides (`from` $b_offset^)? `c` $c_strides (`weights` $weights^)? (`post` $post_ops^)? (`tf32` $tf32^)? attr-dict
  }];
}

def Exec_ConvOp : Exec_CommandOp<"conv", [AttrSizedOperandSegments]> {
  let summary = "a convolution or one of its gradients, then the post-ops";
  let description = [{
    Reads input and filter (forward), output gradient and filter (input_grad), or input and output gradient
    (filter_grad), then the operands of post-ops. Writes the result and the values that post-ops keep. In all
    directions `input` and `output` are the spatial sizes of the forward convolution, and `channels` and `filters` are
    its input and output channels.

    C1: one to three spatial dimensions, one entry each per list; strides, dilations, kernel >= 1; groups divide
    channels and filters. C2: the window gives the output sizes. C3: buffers have the sizes of their tensors.
    C4: at most 8 post-ops, none with filter_grad; operands as for `exec.matmul`; channel_sum and channel_squares
    are for forward and keep a float32 for each filter. C5: as for `exec.matmul`. C6: input and filter of a forward
    convolution have the same element type, or both 8-bit integers and the result int32 or
    that of dequantize. C7: the input is padded with `pad_value`, one of its values. It is 0 without dequantize.
    C8: a result in the space `chain` is read only by the next command, as the input of a convolution on the same place
    and stream; both are forward. What the convolutions of such a chain read from other spaces is not overwritten
    before the last of them has run: the runtime may compute them together, part by part.
    ```mlir
    exec.conv forward(%x, %w) -> %y batch 2 channels 3 filters 4 groups 1 input [8, 8] output [8, 8]
        kernel [3, 3] strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1]
    ```
  }];
  let arguments = (ins Exec_ConvDirectionAttr:$direction, Variadic<Exec_BufferType>:$inputs,
                       Exec_BufferType:$output, Variadic<Exec_BufferType>:$kept,
                       I64Attr:$batch, I64Attr:$channels, I64Attr:$filters,
                       I64Attr:$groups, DenseI64ArrayAttr:$input_dims, DenseI64ArrayAttr:$output_dims,
                       DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads_low,
                       DenseI64ArrayAttr:$pads_high, UnitAttr:$channels_last,
                       DefaultValuedAttr<Exec_PostOps, "{}">:$post_ops,
                       UnitAttr:$tf32, DefaultValuedAttr<I32Attr, "0">:$pad_value);
  let assemblyFormat = [{
    `` $direction `(` $inputs `)` `->` $output (`keeps` `(` $kept^ `)`)? `batch` $batch `channels` $channels `filters` $filters
    `groups` $groups `input` $input_dims `output` $output_dims `kernel` $kernel `strides` $strides
    `dilations` $dilations `low` $pads_low `high` $pads_high (`value` $pad_value^)? (`channels_last` $channels_last^)?
    (`post` $post_ops^)? (`tf32` $tf32^)? attr-dict
  }];
}

def Exec_AttentionOp : Exec_CommandOp<"attention", [AttrSizedOperandSegments]> {
  let summary = "scaled dot-product attention or its gradients";
  let description = [{
    Computes `sinter.attention` or `sinter.attention_grad` on operands [batch, heads, rows, depth], with `queries` or
    `keys` rows. `heads` has their positions: query, key, value, output (forward), or query, key, value, output, output
    gradient, query gradient, key gradient, value gradient (backward). If there is a mask, one more entry, the last, is
    its position: [batch, heads, queries, keys] in float32, with strides of 0 where it repeats. `stats` is the number of
    the buffer with the statistics, dense [batch, heads, queries] in float32: a written buffer or absent (forward), or a
    read one (backward).

    C1: sizes are positive; `heads` has 4 or 8 entries (and that of a mask) with 3 strides each, none less than 1
    (except those of a mask); the first three (backward: five) and a mask are in reads, the others in writes. C2: all
    elements are in their buffers and have one element type; writes are written completely. C3: `stats` is as above.
    ```mlir
    exec.attention forward(%qkv) -> (%y, %stats) batch 2 heads 4 queries 8 keys 8 depth 64 scale 1.25e-01 causal
        at [#exec.heads<0 from 0 strides [6144, 64, 768]>, #exec.heads<0 from 256 strides [6144, 64, 768]>,
            #exec.heads<0 from 512 strides [6144, 64, 768]>, #exec.heads<1 from 0 strides [2048, 64, 256]>] stats 2
    ```
  }];
  let arguments = (ins Exec_AttentionDirectionAttr:$direction, Variadic<Exec_BufferType>:$inputs,
                       Variadic<Exec_BufferType>:$outputs, I64Attr:$batch, I64Attr:$num_heads, I64Attr:$queries,
                       I64Attr:$keys, I64Attr:$depth, F64Attr:$scale, UnitAttr:$causal,
                       Exec_HeadsList:$heads, OptionalAttr<I64Attr>:$stats);
  let assemblyFormat = [{
    `` $direction `(` $inputs `)` `->` `(` $outputs `)` `batch` $batch `heads` $num_heads `queries` $queries `keys` $keys
    `depth` $depth `scale` $scale (`causal` $causal^)? `at` $heads (`stats` $stats^)? attr-dict
  }];
}

def Exec_CopyOp : Exec_CommandOp<"copy"> {
  let summary = "copy the bytes of one buffer to another of the same size";
  let description = [{
    C1: both buffers have the same size.
    ```mlir
    exec.copy %a -> %b
    ```
  }];
  let arguments = (ins Exec_BufferType:$from, Exec_BufferType:$to);
  let assemblyFormat = "$from `->` $to attr-dict";
}

def Exec_RecordOp : Exec_CommandOp<"record"> {
  let summary = "record an event: all earlier commands of this place and stream";
  let description = [{
    C1: a program records an event once.
    ```mlir
    exec.record 0 {exec.place = 1 : i64}
    ```
  }];
  let arguments = (ins I64Attr:$event);
  let assemblyFormat = "$event attr-dict";
}

def Exec_WaitOp : Exec_CommandOp<"wait"> {
  let summary = "make this place and stream wait for an event";
  let description = [{
    C1: the event is recorded earlier in the program.
    ```mlir
    exec.record 0
    exec.wait 0 {exec.place = 1 : i64, exec.stream = 1 : i64}
    ```
  }];
  let arguments = (ins I64Attr:$event);
  let assemblyFormat = "$event attr-dict";
}

def Exec_FillOp : Exec_CommandOp<"fill"> {
  let summary = "fill a buffer with zeros";
  let description = "```mlir\nexec.fill -> %a\n```";
  let arguments = (ins Exec_BufferType:$to);
  let assemblyFormat = "`->` $to attr-dict";
}

def Exec_CollectiveOp : Exec_CommandOp<"collective", [AttrSizedOperandSegments]> {
  let summary = "what all replicas do together, while later commands run";
  let description = [{
    all_reduce: write i is the sum of read i over the replicas. reduce_scatter: on replica r, write i is part r of that sum,
    of `replicas` equal parts. all_gather: part r of write i is read i of replica r. `axis` is the axis of the mesh along
    which the replicas lie. The message is sent when all earlier commands are done. Later
    commands do not wait for it until `exec.await` of the same event; until then its reads must not change, and its
    writes must not be touched.

    C1: as many reads as writes, at least one; all of one element type. Read i has the size of write i, that times `replicas`
    (reduce_scatter), or that divided by `replicas` (all_gather). C2: `event` is not negative, and belongs to one collective
    of the program. C3: all collectives of a program have the same number of replicas.
    ```mlir
    exec.collective all_reduce over data of 2 event 0 (%a, %b) -> (%c, %d)
    ```
  }];
  let arguments = (ins Exec_CollectiveKindAttr:$kind, Sinter_MeshAxisAttr:$axis, I64Attr:$replicas, I64Attr:$event,
                       Variadic<Exec_BufferType>:$reads, Variadic<Exec_BufferType>:$writes);
  let assemblyFormat = [{
    $kind `over` $axis `of` $replicas `event` $event `(` $reads `)` `->` `(` $writes `)` attr-dict
  }];
}

def Exec_ScanOp : Exec_CommandOp<"scan", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "run a program once for each trip";
  let description = [{
    Runs the commands of the program `body` `trips` times, one trip after the other. `body_inputs` and `body_outputs` say for each input and
    output of the body where it lies. Slice t of a buffer is byte t * size of the input or output, and on; with
    `reverse`, the first trip has the last slice. The scratch holds the arena of the body, and then, for each output of kind last,
    two places, which the trips use in turn; each begins at a multiple of 64 bytes.

    C1: `body` names an `exec.program` that no other command refers to; `body_inputs` and `body_outputs` have one entry for each of its
    inputs and outputs. C2: `trips` is 1 or more. C3: buffers of kind slice have `trips` times the bytes of the input or
    output, others the same number. C4: the output of a carried input has the bytes of the input; no two inputs have the same
    output. C5: the scratch has the bytes that are said above, or more. C6: the body has no events, collectives,
    states, index checks or scans.
    ```mlir
    exec.scan @main.scan0 trips 4 (%xs, %h0) -> (%h) scratch %s inputs [#exec.scan_input<slice 0>, #exec.scan_input<carried 1 output 0>]
        outputs [#exec.scan_output<last 0>]
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$body, I64Attr:$trips, UnitAttr:$reverse, Variadic<Exec_BufferType>:$reads,
                       Variadic<Exec_BufferType>:$outputs, Exec_BufferType:$scratch, Exec_ScanInputs:$body_inputs,
                       Exec_ScanOutputs:$body_outputs);
  let assemblyFormat = [{
    $body `trips` $trips (`reverse` $reverse^)? `(` $reads `)` `->` `(` $outputs `)` `scratch` $scratch
    `inputs` $body_inputs `outputs` $body_outputs attr-dict
  }];
  let hasVerifier = 1;
}

def Exec_AwaitOp : Exec_CommandOp<"await"> {
  let summary = "make later commands wait for a collective";
  let description = [{
    C1: there is one for each `exec.collective`, after it.
    ```mlir
    exec.await event 0
    ```
  }];
  let arguments = (ins I64Attr:$event);
  let assemblyFormat = "`event` $event attr-dict";
}

//===----------------------------------------------------------------------===//
// What commands refer to
//===----------------------------------------------------------------------===//

def Exec_BufferOp : Exec_Op<"buffer", [HasParent<"ProgramOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "the bytes of one tensor value";
  let description = [{
    Each buffer holds one value: the one that is there when the program starts (states, inputs, constants,
    control fields), or the one that a command writes.

    C1: the slice has the size of the type, and is within its space.
    ```mlir
    %h = exec.buffer arena[0] 64 + 256 : tensor<8x8xf32>
    ```
  }];
  let arguments = (ins Exec_SliceAttr:$slice, TypeAttrOf<AnyRankedTensor>:$type);
  let results = (outs Exec_BufferType:$result);
  let assemblyFormat = "custom<Slice>($slice) attr-dict `:` $type";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::mlir::cast<::mlir::RankedTensorType>(getType());
    }
  }];
}

def Exec_KernelOp : Exec_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock,
    Sinter_KernelOpInterface]> {
  let summary = "a kernel to be generated";
  let description = [{
    The body is that of the equal `sinter.kernel`s that it stands for, with their kind and domain. `tiles` is the number
    of independent parts that workers of a CPU may claim. `grid`, `block` and `shared` are the blocks, the threads of a
    block (x, y, z) and the bytes of dynamic shared memory of a CUDA launch. They are known after code generation.

    In a kernel of kind `staged`, the block that finishes the first stage last computes the other stages. Blocks take
    tickets to find out which block that is. The blocks of a kernel of kind `persistent` run all at once, and count in
    the same way how many of them have finished a stage; its `grid` is the largest useful one, of which a device
    launches as many blocks as it can run at once. A launch of such kernels has a ticket of the control block, that of
    its stream, as its last operand.

    C1: the body ends with `sinter.yield`. C2: `tiles` is not negative. C3: `grid` and `block` are both present or both absent, with
    three positive numbers each. C4: the constraints C3 to C11 of `sinter.kernel`.
    ```mlir
    exec.kernel @k0_relu loop over <[8, 8] views [(d0, d1) -> (d0, d1)]> {
    ^bb0(%x: tensor<8x8xf32>):
      %y = sinter.relu %x : tensor<8x8xf32>
      sinter.yield %y : tensor<8x8xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Sinter_KernelKindAttr:$kind, OptionalAttr<Sinter_DomainAttr>:$domain,
                       OptionalAttr<I64Attr>:$tiles,
                       OptionalAttr<DenseI64ArrayAttr>:$grid, OptionalAttr<DenseI64ArrayAttr>:$block,
                       OptionalAttr<I64Attr>:$shared);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name $kind (`over` $domain^)? (`tiles` $tiles^)? (`grid` $grid^)? (`block` $block^)? (`shared` $shared^)?
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The values that the body yields.
    ::mlir::OperandRange getYielded();
    /// True when the kernel has stages: launches then have one more operand, the ticket of the control block.
    bool isStaged();
    /// The number of buffers that a launch reads (with a ticket) and writes.
    unsigned getNumBuffers() {
      return getBody().front().getNumArguments() + isStaged() + getYielded().size();
    }
  }];
}

def Exec_ConstantOp : Exec_Op<"constant", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "bytes of the constant space";
  let description = [{
    C1: the offset is a multiple of 64.
    ```mlir
    exec.constant at 64 = dense<[1.0, 2.0]> : tensor<2xf32>
    ```
  }];
  let arguments = (ins I64Attr:$offset, ElementsAttr:$value);
  let assemblyFormat = "`at` $offset `=` $value attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getSizeBytes();
  }];
}

def Exec_ProgramOp : Exec_Op<"program", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one entry: buffers, and commands in the order in which they run";
  let description = [{
    `arena_bytes` is the size of the arena (of the first place). `unshared_bytes` is the size that its buffers would
    take without sharing, and `max_live_bytes` is the largest sum of buffers that are live at one command; both count
    each buffer rounded up to 64 bytes.

    C1: the body holds only buffers and commands. C2: slices are within their spaces. C3: every buffer
    that is read was written, or had its value when the program started; none is written twice, and none in
    a space that is only read. C4: buffers whose bytes overlap are not live at the same time; in one
    command, a written buffer may take the bytes of one that is read there for the last time, if both
    have the same slice. C5: every output is written completely. C6: until its `exec.await`, the reads and writes of
    an `exec.collective` are live, and no other command touches its writes. C7: a command uses only arenas and
    states of its place. C8: of two commands on different places or streams that touch the same bytes, one of which
    writes, the later one waits for an event that comes after the earlier one; a collective touches its bytes until its
    await.
    ```mlir
    exec.program @main("x" : tensor<8xf32>) -> ("y" : tensor<8xf32>) arena 0 unshared 0 max_live 0 {
      %x = exec.buffer input[0] 0 + 32 : tensor<8xf32>
      %y = exec.buffer output[0] 0 + 32 : tensor<8xf32>
      exec.copy %x -> %y
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$input_names, TypeArrayAttr:$input_types,
                       StrArrayAttr:$output_names, TypeArrayAttr:$output_types, I64Attr:$arena_bytes,
                       I64Attr:$unshared_bytes, I64Attr:$max_live_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `` custom<NamedTypes>($input_names, $input_types) `->`
    custom<NamedTypes>($output_names, $output_types) `arena` $arena_bytes `unshared` $unshared_bytes
    `max_live` $max_live_bytes attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

#endif // SINTER_IR_EXEC_EXEC_TD
