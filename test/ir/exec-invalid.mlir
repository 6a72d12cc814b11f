// RUN: sinter-opt %s --split-input-file --verify-diagnostics

// C4: bytes of a live buffer.
exec.program @overlap() -> () arena 128 unshared 128 max_live 128 {
  %a = exec.buffer arena[0] 0 + 128 : tensor<32xf32>
  // expected-note @below {{the buffer is here}}
  %b = exec.buffer arena[0] 64 + 64 : tensor<16xf32>
  exec.fill -> %b
  // expected-error @below {{writes bytes of a buffer that is still in use}}
  exec.fill -> %a
  %c = exec.buffer arena[0] 0 + 64 : tensor<16xf32>
  exec.copy %b -> %c
}

// -----

// C4: in place only at the same slice.
exec.program @shifted() -> () arena 192 unshared 192 max_live 192 {
  // expected-note @below {{the buffer is here}}
  %a = exec.buffer arena[0] 0 + 128 : tensor<32xf32>
  %b = exec.buffer arena[0] 64 + 128 : tensor<32xf32>
  exec.fill -> %a
  // expected-error @below {{writes bytes of a buffer that is still in use}}
  exec.copy %a -> %b
}

// -----

// C4: in place only for the last read.
exec.program @read_later("x" : tensor<16xf32>) -> ("y" : tensor<16xf32>) arena 64 unshared 128 max_live 64 {
  %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
  // expected-note @below {{the buffer is here}}
  %a = exec.buffer arena[0] 0 + 64 : tensor<16xf32>
  %b = exec.buffer arena[0] 0 + 64 : tensor<16xf32>
  %y = exec.buffer output[0] 0 + 64 : tensor<16xf32>
  exec.copy %x -> %a
  // expected-error @below {{writes bytes of a buffer that is still in use}}
  exec.copy %a -> %b
  exec.copy %a -> %y
}

// -----

// C4: the new value of a state before the last use of the old one.
sinter.state @w : tensor<16xf32> {role = #sinter<role param>}
exec.program @state_too_early("x" : tensor<16xf32>) -> ("y" : tensor<16xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
  // expected-note @below {{the buffer is here}}
  %old = exec.buffer state[0] 0 + 64 : tensor<16xf32>
  %new = exec.buffer state[0] 0 + 64 : tensor<16xf32>
  %y = exec.buffer output[0] 0 + 64 : tensor<16xf32>
  // expected-error @below {{writes bytes of a buffer that is still in use}}
  exec.copy %x -> %new
  exec.copy %old -> %y
}

// -----

// C4: new values of states stay to the end.
sinter.state @w : tensor<16xf32> {role = #sinter<role param>}
exec.program @state_twice("x" : tensor<16xf32>) -> () arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
  // expected-note @below {{the buffer is here}}
  %one = exec.buffer state[0] 0 + 64 : tensor<16xf32>
  %two = exec.buffer state[0] 0 + 64 : tensor<16xf32>
  exec.copy %x -> %one
  // expected-error @below {{writes bytes of a buffer that is still in use}}
  exec.copy %x -> %two
}

// -----

// C3: written before it is read.
exec.program @uninitialised() -> () arena 128 unshared 128 max_live 128 {
  %a = exec.buffer arena[0] 0 + 64 : tensor<16xf32>
  %b = exec.buffer arena[0] 64 + 64 : tensor<16xf32>
  // expected-error @below {{reads a buffer that nothing has written}}
  exec.copy %a -> %b
}

// -----

// C3: one value per buffer.
exec.program @written_twice() -> () arena 64 unshared 64 max_live 64 {
  %a = exec.buffer arena[0] 0 + 64 : tensor<16xf32>
  exec.fill -> %a
  // expected-error @below {{writes a buffer that was written before}}
  exec.fill -> %a
}

// -----

// C3: inputs are only read.
exec.program @writes_input("x" : tensor<16xf32>) -> () arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
  // expected-error @below {{writes into the space input}}
  exec.fill -> %x
}

// -----

// C2: within the arena.
exec.program @beyond_arena() -> () arena 64 unshared 64 max_live 64 {
  // expected-error @below {{ends at byte 128 of its space, which has 64}}
  %a = exec.buffer arena[0] 64 + 64 : tensor<16xf32>
  exec.fill -> %a
}

// -----

// C2: within a constant.
exec.constant at 0 = dense<[1.0, 2.0]> : tensor<2xf32>
exec.program @beyond_constants() -> () arena 64 unshared 64 max_live 64 {
  // expected-error @below {{ends at byte 72 of its space, which has 8}}
  %c = exec.buffer constant[0] 64 + 8 : tensor<2xf32>
  %a = exec.buffer arena[0] 0 + 8 : tensor<2xf32>
  exec.copy %c -> %a
}

// -----

// C2: a state that is there.
exec.program @no_state() -> () arena 64 unshared 64 max_live 64 {
  // expected-error @below {{has index 0 in a space of 0}}
  %c = exec.buffer state[0] 0 + 8 : tensor<2xf32>
  %a = exec.buffer arena[0] 0 + 8 : tensor<2xf32>
  exec.copy %c -> %a
}

// -----

// C5: every output.
// expected-error @below {{never writes output "y"}}
exec.program @output_missing() -> ("y" : tensor<16xf32>) arena 0 unshared 0 max_live 0 {
}

// -----

// buffer C1: the size of the type.
exec.program @wrong_size() -> () arena 64 unshared 64 max_live 64 {
  // expected-error @below {{has a slice of 32 bytes, but 'tensor<16xf32>' has 64}}
  %a = exec.buffer arena[0] 0 + 32 : tensor<16xf32>
}

// -----

// launch C1: a kernel that is there.
exec.program @no_kernel() -> () arena 64 unshared 64 max_live 64 {
  %a = exec.buffer arena[0] 0 + 64 : tensor<16xf32>
  // expected-error @below {{launches @k0, which is not an exec.kernel}}
  exec.launch @k0() -> (%a)
}

// -----

// launch C1: the number and sizes of its arguments.
exec.kernel @k0 loop over <[16] views [(d0) -> (d0)]> {
^bb0(%x: tensor<16xf32>):
  sinter.yield %x : tensor<16xf32>
}
exec.program @reads("x" : tensor<16xf32>) -> () arena 64 unshared 64 max_live 64 {
  %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
  %a = exec.buffer arena[0] 0 + 64 : tensor<16xf32>
  // expected-error @below {{has 2 reads, but @k0 has 1}}
  exec.launch @k0(%x, %x) -> (%a)
}

// -----

exec.kernel @k0 loop over <[16] views [(d0) -> (d0)]> {
^bb0(%x: tensor<16xf32>):
  sinter.yield %x : tensor<16xf32>
}
exec.program @size("x" : tensor<8xf32>) -> () arena 64 unshared 64 max_live 64 {
  %x = exec.buffer input[0] 0 + 32 : tensor<8xf32>
  %a = exec.buffer arena[0] 0 + 64 : tensor<16xf32>
  // expected-error @below {{reads number 0 have 32 bytes, but @k0 has 'tensor<16xf32>' there}}
  exec.launch @k0(%x) -> (%a)
}

// -----

// launch: the ticket of a kernel that has stages.
exec.kernel @k0 staged {
^bb0(%x: tensor<16xf32>):
  %0 = sinter.kernel loop(%x) over <[16] views [(d0) -> (d0)]> : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    sinter.yield %a : tensor<16xf32>
  }
  %1 = sinter.kernel loop(%0) over <[16] views [(d0) -> (d0)]> : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    sinter.yield %a : tensor<16xf32>
  }
  sinter.yield %0, %1 : tensor<16xf32>, tensor<16xf32>
}
exec.program @no_ticket("x" : tensor<16xf32>) -> () arena 128 unshared 128 max_live 128 {
  %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
  %t = exec.buffer input[0] 0 + 4 : tensor<i32>
  %a = exec.buffer arena[0] 0 + 64 : tensor<16xf32>
  %b = exec.buffer arena[0] 64 + 64 : tensor<16xf32>
  // expected-error @below {{has no ticket of its stream as its last operand, though @k0 has stages}}
  exec.launch @k0(%x, %t) -> (%a, %b)
}

// -----

// kernel C4: the constraints of sinter.kernel.
// expected-error @below {{of kind staged needs two kernels or more}}
exec.kernel @k0 staged {
^bb0(%x: tensor<16xf32>):
  sinter.yield %x : tensor<16xf32>
}

// -----

// matmul C2: all elements in their buffers.
exec.program @stride("x" : tensor<4x4xf32>) -> ("y" : tensor<4x4xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 64 : tensor<4x4xf32>
  %y = exec.buffer output[0] 0 + 64 : tensor<4x4xf32>
  // expected-error @below {{B needs 20 elements, its buffer has 16}}
  exec.matmul(%x, %x) -> %y m 4 n 4 k 5 batch [] a [3, 1] b [4, 1] c [4, 1]
}

// -----

// matmul C4: the bias has n elements.
exec.program @bias("x" : tensor<4x4xf32>, "b" : tensor<3xf32>) -> ("y" : tensor<4x4xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 64 : tensor<4x4xf32>
  %b = exec.buffer input[1] 0 + 12 : tensor<3xf32>
  %y = exec.buffer output[0] 0 + 64 : tensor<4x4xf32>
  // expected-error @below {{the bias needs 4 elements, its buffer has 3}}
  exec.matmul(%x, %x, %b) -> %y m 4 n 4 k 4 batch [] a [4, 1] b [4, 1] c [4, 1] post [#exec.post_op<bias read 2>]
}

// -----

// matmul C4: what is read and what is written are other fields.
exec.program @bits_read("x" : tensor<16xf32>) -> ("y" : tensor<16xf32>) arena 64 unshared 64 max_live 64 {
  %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
  %y = exec.buffer output[0] 0 + 64 : tensor<16xf32>
  // expected-error @+1 {{'exec.matmul' op has a post-op relu_bits with other fields than it takes}}
  exec.matmul(%x, %x, %x) -> %y m 4 n 4 k 4 batch [] a [4, 1] b [4, 1] c [4, 1] post [#exec.post_op<relu_bits read 2>]
}

// -----

// matmul C4: bits are lines of 128.
exec.program @bits_short("x" : tensor<16xf32>) -> ("y" : tensor<16xf32>) arena 64 unshared 64 max_live 64 {
  %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
  %b = exec.buffer arena[0] 0 + 63 : tensor<63xui8>
  %y = exec.buffer output[0] 0 + 64 : tensor<16xf32>
  // expected-error @+1 {{'exec.matmul' op the bits needs 64 elements, its buffer has 63}}
  exec.matmul(%x, %x) -> %y keeps(%b) m 4 n 4 k 4 batch [] a [4, 1] b [4, 1] c [4, 1] post [#exec.post_op<relu_bits write 1>]
}

// -----

// matmul C4: sums of an operand have no batch.
exec.program @batched_sum("x" : tensor<16xf32>) -> ("y" : tensor<16xf32>) arena 64 unshared 64 max_live 64 {
  %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
  %s = exec.buffer arena[0] 0 + 16 : tensor<4xf32>
  %y = exec.buffer output[0] 0 + 64 : tensor<16xf32>
  // expected-error @+1 {{'exec.matmul' op cannot have the post-op a_sum}}
  exec.matmul(%x, %x) -> %y keeps(%s) m 4 n 4 k 4 batch [1] a [0, 4, 1] b [0, 4, 1] c [16, 4, 1] post [#exec.post_op<a_sum write 1>]
}

// -----

// matmul C5: every kept buffer belongs to a post-op.
exec.program @kept_nothing("x" : tensor<16xf32>) -> ("y" : tensor<16xf32>) arena 64 unshared 64 max_live 64 {
  %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
  %s = exec.buffer arena[0] 0 + 16 : tensor<4xf32>
  %y = exec.buffer output[0] 0 + 64 : tensor<16xf32>
  // expected-error @+1 {{'exec.matmul' op has no post-op for write 1}}
  exec.matmul(%x, %x) -> %y keeps(%s) m 4 n 4 k 4 batch [] a [4, 1] b [4, 1] c [4, 1]
}

// -----

// matmul C4: fields of post-ops.
exec.program @post_op("x" : tensor<4x4xf32>) -> ("y" : tensor<4x4xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 64 : tensor<4x4xf32>
  %y = exec.buffer output[0] 0 + 64 : tensor<4x4xf32>
  // expected-error @below {{has a post-op scale with other fields than it takes}}
  exec.matmul(%x, %x) -> %y m 4 n 4 k 4 batch [] a [4, 1] b [4, 1] c [4, 1] post [#exec.post_op<scale>]
}

// -----

// conv C2: the window gives the output sizes.
exec.program @window("x" : tensor<1x1x4xf32>, "w" : tensor<1x1x3xf32>) -> ("y" : tensor<1x1x3xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 16 : tensor<1x1x4xf32>
  %w = exec.buffer input[1] 0 + 12 : tensor<1x1x3xf32>
  %y = exec.buffer output[0] 0 + 12 : tensor<1x1x3xf32>
  // expected-error @below {{has 3 outputs in spatial dimension 0, its window gives 2}}
  exec.conv forward(%x, %w) -> %y batch 1 channels 1 filters 1 groups 1 input [4] output [3]
    kernel [3] strides [1] dilations [1] low [0] high [0]
}

// -----

// conv C4: the sums of the channels are float32.
exec.program @sum_type("x" : tensor<1x4x1xbf16>, "w" : tensor<2x1x1xbf16>)
    -> ("y" : tensor<1x4x2xbf16>, "s" : tensor<2xbf16>, "q" : tensor<2xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 8 : tensor<1x4x1xbf16>
  %w = exec.buffer input[1] 0 + 4 : tensor<2x1x1xbf16>
  %y = exec.buffer output[0] 0 + 16 : tensor<1x4x2xbf16>
  %s = exec.buffer output[1] 0 + 4 : tensor<2xbf16>
  %q = exec.buffer output[2] 0 + 8 : tensor<2xf32>
  // expected-error @below {{the sum of a channel is 'bf16', expected 'f32'}}
  exec.conv forward(%x, %w) -> %y keeps(%s, %q) batch 1 channels 1 filters 2 groups 1 input [4] output [4]
    kernel [1] strides [1] dilations [1] low [0] high [0] channels_last
    post [#exec.post_op<channel_sum write 1>, #exec.post_op<channel_squares write 2>]
}

// -----

// conv C4: the sums of the channels come together, and last.
exec.program @one_sum("x" : tensor<1x4x1xbf16>, "w" : tensor<2x1x1xbf16>)
    -> ("y" : tensor<1x4x2xbf16>, "q" : tensor<2xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 8 : tensor<1x4x1xbf16>
  %w = exec.buffer input[1] 0 + 4 : tensor<2x1x1xbf16>
  %y = exec.buffer output[0] 0 + 16 : tensor<1x4x2xbf16>
  %q = exec.buffer output[1] 0 + 8 : tensor<2xf32>
  // expected-error @below {{does not end with channel_sum and channel_squares}}
  exec.conv forward(%x, %w) -> %y keeps(%q) batch 1 channels 1 filters 2 groups 1 input [4] output [4]
    kernel [1] strides [1] dilations [1] low [0] high [0] channels_last
    post [#exec.post_op<channel_squares write 1>]
}

// -----

// conv C4: no sums of an input gradient's channels.
exec.program @sum_of_gradient("g" : tensor<1x4x2xbf16>, "w" : tensor<2x1x1xbf16>)
    -> ("y" : tensor<1x4x1xbf16>, "s" : tensor<1xf32>) arena 0 unshared 0 max_live 0 {
  %g = exec.buffer input[0] 0 + 16 : tensor<1x4x2xbf16>
  %w = exec.buffer input[1] 0 + 4 : tensor<2x1x1xbf16>
  %y = exec.buffer output[0] 0 + 8 : tensor<1x4x1xbf16>
  %s = exec.buffer output[1] 0 + 4 : tensor<1xf32>
  // expected-error @below {{cannot have the post-op channel_sum}}
  exec.conv input_grad(%g, %w) -> %y keeps(%s) batch 1 channels 1 filters 2 groups 1 input [4] output [4]
    kernel [1] strides [1] dilations [1] low [0] high [0] channels_last
    post [#exec.post_op<channel_sum write 1>]
}

// -----

// copy C1: equal sizes.
exec.program @copy("x" : tensor<8xf32>) -> ("y" : tensor<4xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<8xf32>
  %y = exec.buffer output[0] 0 + 16 : tensor<4xf32>
  // expected-error @below {{copies 32 bytes into a buffer of 16}}
  exec.copy %x -> %y
}

// -----

// program C1: commands only.
exec.program @other_op() -> () arena 0 unshared 0 max_live 0 {
  // expected-error @below {{is neither a buffer nor a command}}
  %0 = sinter.constant dense<1.0> : tensor<4xf32>
}

// -----

// kernel C1: the terminator.
// expected-error @below {{has a body that does not end with sinter.yield}}
exec.kernel @k0 loop over <[16] views [(d0) -> (d0)]> {
^bb0(%x: tensor<16xf32>):
  %y = sinter.relu %x : tensor<16xf32>
}

// -----

// kernel C3: a grid has its block.
// expected-error @below {{has a grid or a block without the other}}
exec.kernel @k0 loop over <[16] views [(d0) -> (d0)]> grid [1, 1, 1] {
^bb0(%x: tensor<16xf32>):
  sinter.yield %x : tensor<16xf32>
}

// -----

// kernel C3: three positive numbers.
// expected-error @below {{has a grid or a block that is not three positive numbers}}
exec.kernel @k0 loop over <[16] views [(d0) -> (d0)]> grid [1, 0, 1] block [32, 1, 1] {
^bb0(%x: tensor<16xf32>):
  sinter.yield %x : tensor<16xf32>
}

// -----

// constant C1: aligned.
// expected-error @below {{is at 4, expected a multiple of 64 up to 2^62}}
exec.constant at 4 = dense<[1.0, 2.0]> : tensor<2xf32>

// -----

// attention C1: four operands.
exec.program @attention_count("x" : tensor<2x4x48xf16>) -> ("y" : tensor<2x2x4x8xf16>, "s" : tensor<2x2x4xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 768 : tensor<2x4x48xf16>
  %y = exec.buffer output[0] 0 + 256 : tensor<2x2x4x8xf16>
  %s = exec.buffer output[1] 0 + 64 : tensor<2x2x4xf32>
  // expected-error @below {{needs 4 operands and perhaps a mask, has 3}}
  exec.attention forward(%x) -> (%y, %s) batch 2 heads 2 queries 4 keys 4 depth 8 scale 1.25e-01
    at [#exec.heads<0 from 0 strides [192, 8, 48]>, #exec.heads<0 from 16 strides [192, 8, 48]>, #exec.heads<0 from 32 strides [192, 8, 48]>] stats 2
}

// -----

// attention C1: the output is written.
exec.program @attention_write("x" : tensor<2x4x48xf16>) -> ("y" : tensor<2x2x4x8xf16>, "s" : tensor<2x2x4xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 768 : tensor<2x4x48xf16>
  %y = exec.buffer output[0] 0 + 256 : tensor<2x2x4x8xf16>
  %s = exec.buffer output[1] 0 + 64 : tensor<2x2x4xf32>
  // expected-error @below {{has its output in buffer 0, which is not one of its writes}}
  exec.attention forward(%x) -> (%y, %s) batch 2 heads 2 queries 4 keys 4 depth 8 scale 1.25e-01
    at [#exec.heads<0 from 0 strides [192, 8, 48]>, #exec.heads<0 from 16 strides [192, 8, 48]>, #exec.heads<0 from 32 strides [192, 8, 48]>, #exec.heads<0 from 0 strides [192, 8, 48]>] stats 2
}

// -----

// attention C1: strides.
exec.program @attention_stride("x" : tensor<2x4x48xf16>) -> ("y" : tensor<2x2x4x8xf16>, "s" : tensor<2x2x4xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 768 : tensor<2x4x48xf16>
  %y = exec.buffer output[0] 0 + 256 : tensor<2x2x4x8xf16>
  %s = exec.buffer output[1] 0 + 64 : tensor<2x2x4xf32>
  // expected-error @below {{needs an offset of at least 0 and three strides of at least 1 for its key}}
  exec.attention forward(%x) -> (%y, %s) batch 2 heads 2 queries 4 keys 4 depth 8 scale 1.25e-01
    at [#exec.heads<0 from 0 strides [192, 8, 48]>, #exec.heads<0 from 16 strides [192, 0, 48]>, #exec.heads<0 from 32 strides [192, 8, 48]>, #exec.heads<1 from 0 strides [64, 32, 8]>] stats 2
}

// -----

// attention C2: elements lie in their buffers.
exec.program @attention_extent("x" : tensor<2x4x48xf16>) -> ("y" : tensor<2x2x4x8xf16>, "s" : tensor<2x2x4xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 768 : tensor<2x4x48xf16>
  %y = exec.buffer output[0] 0 + 256 : tensor<2x2x4x8xf16>
  %s = exec.buffer output[1] 0 + 64 : tensor<2x2x4xf32>
  // expected-error @below {{value needs 385 elements, its buffer has 384}}
  exec.attention forward(%x) -> (%y, %s) batch 2 heads 2 queries 4 keys 4 depth 8 scale 1.25e-01
    at [#exec.heads<0 from 0 strides [192, 8, 48]>, #exec.heads<0 from 16 strides [192, 8, 48]>, #exec.heads<0 from 33 strides [192, 8, 48]>, #exec.heads<1 from 0 strides [64, 32, 8]>] stats 2
}

// -----

// attention C1: a mask is read.
exec.program @attention_mask_read("x" : tensor<2x4x48xf16>) -> ("y" : tensor<2x2x4x8xf16>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 768 : tensor<2x4x48xf16>
  %y = exec.buffer output[0] 0 + 256 : tensor<2x2x4x8xf16>
  // expected-error @below {{needs its mask among its reads, in float32}}
  exec.attention forward(%x) -> (%y) batch 2 heads 2 queries 4 keys 4 depth 8 scale 1.25e-01
    at [#exec.heads<0 from 0 strides [192, 8, 48]>, #exec.heads<0 from 16 strides [192, 8, 48]>, #exec.heads<0 from 32 strides [192, 8, 48]>, #exec.heads<1 from 0 strides [64, 32, 8]>, #exec.heads<1 from 0 strides [4, 0, 0]>]
}

// -----

// attention C2: a mask lies in its buffer.
exec.program @attention_mask_extent("x" : tensor<2x4x48xf16>, "m" : tensor<2x4xf32>) -> ("y" : tensor<2x2x4x8xf16>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 768 : tensor<2x4x48xf16>
  %m = exec.buffer input[1] 0 + 32 : tensor<2x4xf32>
  %y = exec.buffer output[0] 0 + 256 : tensor<2x2x4x8xf16>
  // expected-error @below {{mask needs 9 elements, its buffer has 8}}
  exec.attention forward(%x, %m) -> (%y) batch 2 heads 2 queries 4 keys 4 depth 8 scale 1.25e-01
    at [#exec.heads<0 from 0 strides [192, 8, 48]>, #exec.heads<0 from 16 strides [192, 8, 48]>, #exec.heads<0 from 32 strides [192, 8, 48]>, #exec.heads<2 from 0 strides [64, 32, 8]>, #exec.heads<1 from 1 strides [4, 0, 0]>]
}

// -----

// attention C3: statistics are written.
exec.program @attention_stats("x" : tensor<2x4x48xf16>) -> ("y" : tensor<2x2x4x8xf16>, "s" : tensor<2x2x4xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 768 : tensor<2x4x48xf16>
  %y = exec.buffer output[0] 0 + 256 : tensor<2x2x4x8xf16>
  %s = exec.buffer output[1] 0 + 64 : tensor<2x2x4xf32>
  // expected-error @below {{has statistics in buffer 0, expected 16 float32 elements that it writes}}
  exec.attention forward(%x) -> (%y, %s) batch 2 heads 2 queries 4 keys 4 depth 8 scale 1.25e-01
    at [#exec.heads<0 from 0 strides [192, 8, 48]>, #exec.heads<0 from 16 strides [192, 8, 48]>, #exec.heads<0 from 32 strides [192, 8, 48]>, #exec.heads<1 from 0 strides [64, 32, 8]>] stats 0
}

// -----

// attention C2: writes are whole.
exec.program @attention_whole("x" : tensor<2x4x48xf16>) -> ("y" : tensor<2x2x4x8xf16>, "s" : tensor<2x2x4xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 768 : tensor<2x4x48xf16>
  %y = exec.buffer output[0] 0 + 256 : tensor<2x2x4x8xf16>
  %s = exec.buffer output[1] 0 + 64 : tensor<2x2x4xf32>
  // expected-error @below {{writes 0 elements of a buffer of 16}}
  exec.attention forward(%x) -> (%y, %s) batch 2 heads 2 queries 4 keys 4 depth 8 scale 1.25e-01
    at [#exec.heads<0 from 0 strides [192, 8, 48]>, #exec.heads<0 from 16 strides [192, 8, 48]>, #exec.heads<0 from 32 strides [192, 8, 48]>, #exec.heads<1 from 0 strides [64, 32, 8]>]
}

// -----

// matmul C4: a kept value has C's type.
exec.program @kept_type("x" : tensor<64xf32>) -> ("y" : tensor<64xf32>, "z" : tensor<64xbf16>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 256 : tensor<64xf32>
  %y = exec.buffer output[0] 0 + 256 : tensor<64xf32>
  %z = exec.buffer output[1] 0 + 128 : tensor<64xbf16>
  // expected-error @+1 {{'exec.matmul' op the stored result is 'bf16', expected 'f32'}}
  exec.matmul(%x, %x) -> %y keeps(%z) m 8 n 8 k 8 batch [] a [8, 1] b [8, 1] c [8, 1] post [#exec.post_op<store write 1>, #exec.post_op<gelu_tanh>]
}

// -----

// matmul C4: bits are bytes, not booleans.
exec.program @bits_type("x" : tensor<16xf32>, "m" : tensor<64xi1>) -> ("y" : tensor<16xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
  %m = exec.buffer input[1] 0 + 64 : tensor<64xi1>
  %y = exec.buffer output[0] 0 + 64 : tensor<16xf32>
  // expected-error @+1 {{'exec.matmul' op the bits are 'i1', expected 'ui8'}}
  exec.matmul(%x, %x, %m) -> %y m 4 n 4 k 4 batch [] a [4, 1] b [4, 1] c [4, 1] post [#exec.post_op<relu_grad read 2>]
}

// -----

// collective C1: reads and writes in pairs of sizes that fit.
exec.program @sum("x" : tensor<8xf32>) -> ("y" : tensor<4xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<8xf32>
  %y = exec.buffer output[0] 0 + 16 : tensor<4xf32>
  // expected-error @below {{makes 16 bytes of 32 with 2 replicas}}
  exec.collective all_reduce over data of 2 event 0 (%x) -> (%y)
  exec.await event 0
}

// -----

exec.program @part("x" : tensor<8xf32>) -> ("y" : tensor<4xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<8xf32>
  %y = exec.buffer output[0] 0 + 16 : tensor<4xf32>
  // expected-error @below {{makes 16 bytes of 32 with 4 replicas}}
  exec.collective reduce_scatter over data of 4 event 0 (%x) -> (%y)
  exec.await event 0
}

// -----

exec.program @whole("x" : tensor<8xf32>) -> ("y" : tensor<4xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<8xf32>
  %y = exec.buffer output[0] 0 + 16 : tensor<4xf32>
  // expected-error @below {{makes 16 bytes of 32 with 2 replicas}}
  exec.collective all_gather over data of 2 event 0 (%x) -> (%y)
  exec.await event 0
}

// -----

exec.program @axis("x" : tensor<8xf32>) -> ("y" : tensor<8xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<8xf32>
  %y = exec.buffer output[0] 0 + 32 : tensor<8xf32>
  // expected-error @+2 {{expected ::sinter::ir::MeshAxis to be one of: data}}
  // expected-error @below {{failed to parse Sinter_MeshAxisAttr parameter 'value' which is to be a `::sinter::ir::MeshAxis`}}
  exec.collective all_reduce over model of 2 event 0 (%x) -> (%y)
}

// -----

// collective C2: one event each.
exec.program @events("x" : tensor<8xf32>) -> ("y" : tensor<8xf32>, "z" : tensor<8xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<8xf32>
  %y = exec.buffer output[0] 0 + 32 : tensor<8xf32>
  %z = exec.buffer output[1] 0 + 32 : tensor<8xf32>
  exec.collective all_reduce over data of 2 event 0 (%x) -> (%y)
  // expected-error @below {{has event 0, which another collective has}}
  exec.collective all_reduce over data of 2 event 0 (%x) -> (%z)
  exec.await event 0
}

// -----

// Events are not negative.
exec.program @negative_event("x" : tensor<8xf32>) -> ("y" : tensor<8xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<8xf32>
  %y = exec.buffer output[0] 0 + 32 : tensor<8xf32>
  // expected-error @below {{has event -1, expected 0 or more}}
  exec.collective all_reduce over data of 2 event -1 (%x) -> (%y)
  exec.await event -1
}

// -----

exec.program @negative_await() -> () arena 0 unshared 0 max_live 0 {
  // expected-error @below {{has event -2, expected 0 or more}}
  exec.await event -2
}

// -----

exec.program @negative_record() -> () arena 0 unshared 0 max_live 0 {
  // expected-error @below {{has event -1, expected 0 or more}}
  exec.record -1
}

// -----

exec.program @negative_wait() -> () arena 0 unshared 0 max_live 0 {
  // expected-error @below {{has event -1, expected 0 or more}}
  exec.wait -1
}

// -----

// collective C3: one number of replicas.
exec.program @two_and_three("x" : tensor<8xf32>) -> ("y" : tensor<8xf32>, "z" : tensor<8xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<8xf32>
  %y = exec.buffer output[0] 0 + 32 : tensor<8xf32>
  %z = exec.buffer output[1] 0 + 32 : tensor<8xf32>
  exec.collective all_reduce over data of 2 event 0 (%x) -> (%y)
  exec.await event 0
  // expected-error @below {{has 3 replicas, an earlier collective 2}}
  exec.collective all_reduce over data of 3 event 1 (%x) -> (%z)
  exec.await event 1
}

// -----

// await C1: after its collective, once.
exec.program @nothing_to_await("x" : tensor<8xf32>) -> () arena 0 unshared 0 max_live 0 {
  // expected-error @below {{waits for event 3, which no collective before it has}}
  exec.await event 3
}

// -----

exec.program @never_awaited("x" : tensor<8xf32>) -> ("y" : tensor<8xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<8xf32>
  %y = exec.buffer output[0] 0 + 32 : tensor<8xf32>
  // expected-error @below {{is never awaited}}
  exec.collective all_reduce over data of 2 event 0 (%x) -> (%y)
}

// -----

// program C6: the result is not used before the wait.
exec.program @early("x" : tensor<8xf32>) -> ("y" : tensor<8xf32>) arena 64 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<8xf32>
  %a = exec.buffer arena[0] 0 + 32 : tensor<8xf32>
  %y = exec.buffer output[0] 0 + 32 : tensor<8xf32>
  // expected-note @below {{the collective is here}}
  exec.collective all_reduce over data of 2 event 0 (%x) -> (%a)
  // expected-error @below {{uses what a collective writes before it is awaited}}
  exec.copy %a -> %y
  exec.await event 0
}

// -----

// program C6: what is read stays until the wait.
exec.program @reused("x" : tensor<8xf32>) -> ("y" : tensor<8xf32>, "z" : tensor<8xf32>) arena 128 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<8xf32>
  // expected-note @below {{the buffer is here}}
  %a = exec.buffer arena[0] 0 + 32 : tensor<8xf32>
  %b = exec.buffer arena[0] 64 + 32 : tensor<8xf32>
  %c = exec.buffer arena[0] 0 + 32 : tensor<8xf32>
  %y = exec.buffer output[0] 0 + 32 : tensor<8xf32>
  %z = exec.buffer output[1] 0 + 32 : tensor<8xf32>
  exec.copy %x -> %a
  exec.collective all_reduce over data of 2 event 0 (%a) -> (%b)
  // expected-error @below {{writes bytes of a buffer that is still in use}}
  exec.copy %x -> %c
  exec.await event 0
  exec.copy %b -> %y
  exec.copy %c -> %z
}

// -----

// wait C1: recorded before.
exec.program @wait_first() -> () arena 0 unshared 0 max_live 0 {
  // expected-error @below {{waits for an event that was not recorded}}
  exec.wait 0
  exec.record 0
}

// -----

// record C1: once.
exec.program @twice() -> () arena 0 unshared 0 max_live 0 {
  exec.record 0
  // expected-error @below {{records an event a second time}}
  exec.record 0
}

// -----

// program C6: arenas of its place.
module attributes {sinter.devices = ["sim:0", "sim:1"]} {
  exec.program @elsewhere("x" : tensor<16xf32>) -> () arena 64 unshared 128 max_live 128 attributes {exec.arenas = array<i64: 64, 64>} {
    %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
    %y = exec.buffer arena[1] 0 + 64 : tensor<16xf32>
    // expected-error @below {{touches arena bytes of a place other than 0}}
    exec.copy %x -> %y
  }
}

// -----

// program C6: states of its place.
module attributes {sinter.devices = ["sim:0", "sim:1"]} {
  sinter.state @s : tensor<16xf32> {role = #sinter<role buffer>, sinter.device = 1 : i64}
  exec.program @state() -> () arena 0 unshared 0 max_live 0 attributes {exec.arenas = array<i64: 0, 0>} {
    %s = exec.buffer state[0] 0 + 64 : tensor<16xf32>
    // expected-error @below {{touches state bytes of a place other than 0}}
    exec.fill -> %s
  }
}

// -----

// program C6: one arena for each device.
module attributes {sinter.devices = ["sim:0", "sim:1"]} {
  // expected-error @below {{has 1 arenas for 2 devices}}
  exec.program @arenas() -> () arena 0 unshared 0 max_live 0 {
  }
}

// -----

// program C6: places that there are.
exec.program @places("x" : tensor<16xf32>) -> ("y" : tensor<16xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
  %y = exec.buffer output[0] 0 + 64 : tensor<16xf32>
  // expected-error @below {{is on place 1 of 1}}
  exec.copy %x -> %y {exec.place = 1 : i64}
}

// -----

// program C7: a copy to another place waits for what it reads.
module attributes {sinter.devices = ["sim:0", "sim:1"]} {
  exec.program @missing_wait("x" : tensor<16xf32>) -> ("y" : tensor<16xf32>) arena 64 unshared 128 max_live 128 attributes {exec.arenas = array<i64: 64, 64>} {
    %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
    %a = exec.buffer arena[0] 0 + 64 : tensor<16xf32>
    %b = exec.buffer arena[1] 0 + 64 : tensor<16xf32>
    %y = exec.buffer output[0] 0 + 64 : tensor<16xf32>
    // expected-note @below {{the command is here}}
    exec.copy %x -> %a
    exec.record 0
    // expected-error @below {{does not wait for a command on place 0, stream 0, that touches the same bytes}}
    exec.copy %a -> %b {exec.place = 1 : i64, exec.stream = 1 : i64, exec.from = 0 : i64}
    exec.copy %b -> %y {exec.place = 1 : i64}
  }
}

// -----

// program C7: the reader waits for the transfer.
module attributes {sinter.devices = ["sim:0", "sim:1"]} {
  exec.program @reader("x" : tensor<16xf32>) -> ("y" : tensor<16xf32>) arena 64 unshared 128 max_live 128 attributes {exec.arenas = array<i64: 64, 64>} {
    %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
    %a = exec.buffer arena[0] 0 + 64 : tensor<16xf32>
    %b = exec.buffer arena[1] 0 + 64 : tensor<16xf32>
    %y = exec.buffer output[0] 0 + 64 : tensor<16xf32>
    exec.copy %x -> %a
    exec.record 0
    exec.wait 0 {exec.place = 1 : i64, exec.stream = 1 : i64}
    // expected-note @below {{the command is here}}
    exec.copy %a -> %b {exec.place = 1 : i64, exec.stream = 1 : i64, exec.from = 0 : i64}
    // expected-error @below {{does not wait for a command on place 1, stream 1, that touches the same bytes}}
    exec.copy %b -> %y {exec.place = 1 : i64}
  }
}

// -----

// program C7: bytes are not written again while a transfer may still read them.
module attributes {sinter.devices = ["sim:0", "sim:1"]} {
  exec.program @reuse("x" : tensor<16xf32>) -> ("y" : tensor<16xf32>) arena 64 unshared 128 max_live 128 attributes {exec.arenas = array<i64: 64, 64>} {
    %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
    %a = exec.buffer arena[0] 0 + 64 : tensor<16xf32>
    %b = exec.buffer arena[1] 0 + 64 : tensor<16xf32>
    %c = exec.buffer arena[0] 0 + 64 : tensor<16xf32>
    %y = exec.buffer output[0] 0 + 64 : tensor<16xf32>
    exec.copy %x -> %a
    exec.record 0
    exec.wait 0 {exec.place = 1 : i64, exec.stream = 1 : i64}
    // expected-note @below {{the command is here}}
    exec.copy %a -> %b {exec.place = 1 : i64, exec.stream = 1 : i64, exec.from = 0 : i64}
    exec.record 1 {exec.place = 1 : i64, exec.stream = 1 : i64}
    exec.wait 1 {exec.place = 1 : i64}
    exec.copy %b -> %y {exec.place = 1 : i64}
    // expected-error @below {{does not wait for a command on place 1, stream 1, that touches the same bytes}}
    exec.fill -> %c
  }
}

// -----

// program C8: two streams of one device.
module {
  exec.program @gradient("x" : tensor<16xf32>) -> ("y" : tensor<16xf32>) arena 64 unshared 128 max_live 128 {
    %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
    %a = exec.buffer arena[0] 0 + 64 : tensor<16xf32>
    %y = exec.buffer output[0] 0 + 64 : tensor<16xf32>
    // expected-note @below {{the command is here}}
    exec.copy %x -> %a
    // expected-error @below {{does not wait for a command on place 0, stream 0, that touches the same bytes}}
    exec.copy %a -> %y {exec.stream = 2 : i64}
  }
}

// -----

// program C8: a sum over replicas is there when it has been awaited, not when it has begun.
module {
  exec.program @sum("x" : tensor<16xf32>) -> ("y" : tensor<16xf32>) arena 128 unshared 128 max_live 128 {
    %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
    %a = exec.buffer arena[0] 0 + 64 : tensor<16xf32>
    %y = exec.buffer output[0] 0 + 64 : tensor<16xf32>
    exec.collective all_reduce over data of 2 event 0 (%x) -> (%a) {exec.stream = 2 : i64}
    exec.record 1 {exec.stream = 2 : i64}
    // expected-note @below {{the command is here}}
    exec.await event 0 {exec.stream = 2 : i64}
    exec.wait 1
    // expected-error @below {{does not wait for a command on place 0, stream 2, that touches the same bytes}}
    exec.copy %a -> %y
  }
}

// -----

// matmul C4: dequantize is for 8-bit integers.
exec.program @dequantize_floats("x" : tensor<4x4xf32>, "w" : tensor<4x4xf32>, "s" : tensor<4xf32>) -> ("y" : tensor<4x4xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 64 : tensor<4x4xf32>
  %w = exec.buffer input[1] 0 + 64 : tensor<4x4xf32>
  %s = exec.buffer input[2] 0 + 16 : tensor<4xf32>
  %y = exec.buffer output[0] 0 + 64 : tensor<4x4xf32>
  // expected-error @below {{cannot have the post-op dequantize}}
  exec.matmul(%x, %w, %s) -> %y m 4 n 4 k 4 batch [] a [4, 1] b [4, 1] c [4, 1] post [#exec.post_op<dequantize read 2>]
}

// -----

// matmul C4: quantize comes after dequantize.
exec.program @quantize_first("x" : tensor<4x4xui8>, "w" : tensor<4x4xi8>, "s" : tensor<4xf32>) -> ("y" : tensor<4x4xui8>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 16 : tensor<4x4xui8>
  %w = exec.buffer input[1] 0 + 16 : tensor<4x4xi8>
  %s = exec.buffer input[2] 0 + 16 : tensor<4xf32>
  %y = exec.buffer output[0] 0 + 16 : tensor<4x4xui8>
  // expected-error @below {{has dequantize and quantize out of order}}
  exec.matmul(%x, %w, %s) -> %y m 4 n 4 k 4 batch [] a [4, 1] b [4, 1] c [4, 1] post [#exec.post_op<quantize alpha 0.5 : f32 beta 3.0 : f32>, #exec.post_op<dequantize read 2>]
}

// -----

// matmul C4: fake_quantize and add_codes need quantize.
exec.program @fake_quantize_last("x" : tensor<4x4xui8>, "w" : tensor<4x4xi8>, "s" : tensor<4xf32>) -> ("y" : tensor<4x4xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 16 : tensor<4x4xui8>
  %w = exec.buffer input[1] 0 + 16 : tensor<4x4xi8>
  %s = exec.buffer input[2] 0 + 16 : tensor<4xf32>
  %y = exec.buffer output[0] 0 + 64 : tensor<4x4xf32>
  // expected-error @below {{has fake_quantize or add_codes without quantize}}
  exec.matmul(%x, %w, %s) -> %y m 4 n 4 k 4 batch [] a [4, 1] b [4, 1] c [4, 1] post [#exec.post_op<dequantize read 2>, #exec.post_op<fake_quantize alpha 0.5 : f32 beta 3.0 : f32>]
}

// -----

// matmul C4: added codes have the type of the result.
exec.program @added_codes("x" : tensor<4x4xui8>, "w" : tensor<4x4xi8>, "s" : tensor<4xf32>) -> ("y" : tensor<4x4xui8>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 16 : tensor<4x4xui8>
  %w = exec.buffer input[1] 0 + 16 : tensor<4x4xi8>
  %s = exec.buffer input[2] 0 + 16 : tensor<4xf32>
  %y = exec.buffer output[0] 0 + 16 : tensor<4x4xui8>
  // expected-error @below {{the added codes are 'i8', expected 'ui8'}}
  exec.matmul(%x, %w, %s, %w) -> %y m 4 n 4 k 4 batch [] a [4, 1] b [4, 1] c [4, 1] post [#exec.post_op<dequantize read 2>, #exec.post_op<add_codes read 3 alpha 0.5 : f32 beta 3.0 : f32>, #exec.post_op<quantize alpha 0.5 : f32 beta 3.0 : f32>]
}

// -----

// conv C7: only 8-bit integers that are dequantised are padded with other values.
exec.program @pad_value("x" : tensor<1x4x4x1xui8>, "w" : tensor<1x1x3x3xi8>) -> ("y" : tensor<1x4x4x1xi32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 16 : tensor<1x4x4x1xui8>
  %w = exec.buffer input[1] 0 + 9 : tensor<1x1x3x3xi8>
  %y = exec.buffer output[0] 0 + 64 : tensor<1x4x4x1xi32>
  // expected-error @below {{pads 'ui8' with 3}}
  exec.conv forward(%x, %w) -> %y batch 1 channels 1 filters 1 groups 1 input [4, 4] output [4, 4] kernel [3, 3] strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] value 3 channels_last
}

// -----

// matmul C4: the result has the type of the last of both.
exec.program @dequantize_result("x" : tensor<4x4xui8>, "w" : tensor<4x4xi8>, "s" : tensor<4xf32>) -> ("y" : tensor<4x4xi32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 16 : tensor<4x4xui8>
  %w = exec.buffer input[1] 0 + 16 : tensor<4x4xi8>
  %s = exec.buffer input[2] 0 + 16 : tensor<4xf32>
  %y = exec.buffer output[0] 0 + 64 : tensor<4x4xi32>
  // expected-error @below {{has a result of 'i32' after dequantize}}
  exec.matmul(%x, %w, %s) -> %y m 4 n 4 k 4 batch [] a [4, 1] b [4, 1] c [4, 1] post [#exec.post_op<dequantize read 2>]
}

// -----

// matmul C4: before dequantize a bias is int32.
exec.program @integer_bias("x" : tensor<4x4xui8>, "w" : tensor<4x4xi8>, "s" : tensor<4xf32>) -> ("y" : tensor<4x4xui8>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 16 : tensor<4x4xui8>
  %w = exec.buffer input[1] 0 + 16 : tensor<4x4xi8>
  %s = exec.buffer input[2] 0 + 16 : tensor<4xf32>
  %y = exec.buffer output[0] 0 + 16 : tensor<4x4xui8>
  // expected-error @below {{the bias is 'f32', expected 'i32'}}
  exec.matmul(%x, %w, %s) -> %y m 4 n 4 k 4 batch [] a [4, 1] b [4, 1] c [4, 1] post [#exec.post_op<bias read 2>, #exec.post_op<dequantize read 2>, #exec.post_op<quantize alpha 0.5 : f32 beta 3.0 : f32>]
}

// -----

// matmul C3: 8-bit integers of two types have int32 sums.
exec.program @mixed_bytes("x" : tensor<4x4xui8>, "w" : tensor<4x4xi8>, "s" : tensor<4xf32>) -> ("y" : tensor<4x4xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 16 : tensor<4x4xui8>
  %w = exec.buffer input[1] 0 + 16 : tensor<4x4xi8>
  %s = exec.buffer input[2] 0 + 16 : tensor<4xf32>
  %y = exec.buffer output[0] 0 + 64 : tensor<4x4xf32>
  // expected-error @below {{has A and B of different element types}}
  exec.matmul(%x, %w, %s) -> %y m 4 n 4 k 4 batch [] a [4, 1] b [4, 1] c [4, 1] post [#exec.post_op<bias read 2>]
}

// -----

// matmul C7: weights.
exec.program @coded_block("x" : tensor<2x4xf32>, "w" : tensor<4x3xi8>, "s" : tensor<2x3xf32>) -> ("y" : tensor<2x3xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<2x4xf32>
  %w = exec.buffer input[1] 0 + 12 : tensor<4x3xi8>
  %s = exec.buffer input[2] 0 + 24 : tensor<2x3xf32>
  %y = exec.buffer output[0] 0 + 24 : tensor<2x3xf32>
  // expected-error @below {{has weights of 8 bits in blocks of 3, k is 4}}
  exec.matmul(%x, %w, %s) -> %y m 2 n 3 k 4 batch [] a [4, 1] b [3, 1] c [3, 1] weights <bits 8 block 3>
}

// -----

// matmul C7: weights.
exec.program @coded_bits("x" : tensor<2x4xf32>, "w" : tensor<4x3xi8>, "s" : tensor<2x3xf32>) -> ("y" : tensor<2x3xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<2x4xf32>
  %w = exec.buffer input[1] 0 + 12 : tensor<4x3xi8>
  %s = exec.buffer input[2] 0 + 24 : tensor<2x3xf32>
  %y = exec.buffer output[0] 0 + 24 : tensor<2x3xf32>
  // expected-error @below {{has weights of 2 bits in blocks of 4, k is 4}}
  exec.matmul(%x, %w, %s) -> %y m 2 n 3 k 4 batch [] a [4, 1] b [3, 1] c [3, 1] weights <bits 2 block 4>
}

// -----

// matmul C7: weights.
exec.program @coded_type("x" : tensor<2x4xf32>, "w" : tensor<4x3xf32>, "s" : tensor<2x3xf32>) -> ("y" : tensor<2x3xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<2x4xf32>
  %w = exec.buffer input[1] 0 + 48 : tensor<4x3xf32>
  %s = exec.buffer input[2] 0 + 24 : tensor<2x3xf32>
  %y = exec.buffer output[0] 0 + 24 : tensor<2x3xf32>
  // expected-error @below {{multiplies 'f32' by weights of 'f32' into 'f32'}}
  exec.matmul(%x, %w, %s) -> %y m 2 n 3 k 4 batch [] a [4, 1] b [3, 1] c [3, 1] weights <bits 8 block 4>
}

// -----

// matmul C7: weights.
exec.program @coded_signed("x" : tensor<2x4xf32>, "w" : tensor<4x3xi8>, "s" : tensor<2x3xf32>) -> ("y" : tensor<2x3xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<2x4xf32>
  %w = exec.buffer input[1] 0 + 12 : tensor<4x3xi8>
  %s = exec.buffer input[2] 0 + 24 : tensor<2x3xf32>
  %y = exec.buffer output[0] 0 + 24 : tensor<2x3xf32>
  // expected-error @below {{multiplies 'f32' by weights of 'i8' into 'f32'}}
  exec.matmul(%x, %w, %s) -> %y m 2 n 3 k 4 batch [] a [4, 1] b [3, 1] c [3, 1] weights <bits 4 block 4>
}

// -----

// matmul C7: weights.
exec.program @coded_strides("x" : tensor<2x4xf32>, "w" : tensor<4x3xi8>, "s" : tensor<2x3xf32>) -> ("y" : tensor<2x3xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<2x4xf32>
  %w = exec.buffer input[1] 0 + 12 : tensor<4x3xi8>
  %s = exec.buffer input[2] 0 + 24 : tensor<2x3xf32>
  %y = exec.buffer output[0] 0 + 24 : tensor<2x3xf32>
  // expected-error @below {{other strides than n and 1}}
  exec.matmul(%x, %w, %s) -> %y m 2 n 3 k 4 batch [] a [4, 1] b [1, 4] c [3, 1] weights <bits 8 block 4>
}

// -----

// matmul C7: weights.
exec.program @coded_read("x" : tensor<2x4xf32>, "w" : tensor<4x3xi8>, "s" : tensor<2x3xf32>) -> ("y" : tensor<2x3xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<2x4xf32>
  %w = exec.buffer input[1] 0 + 12 : tensor<4x3xi8>
  %s = exec.buffer input[2] 0 + 24 : tensor<2x3xf32>
  %y = exec.buffer output[0] 0 + 24 : tensor<2x3xf32>
  // expected-error @below {{has scales of read 3 of 3}}
  exec.matmul(%x, %w, %s) -> %y m 2 n 3 k 4 batch [] a [4, 1] b [3, 1] c [3, 1] weights <bits 8 block 4 scales 3>
}

// -----

// matmul C7: weights.
exec.program @coded_both("x" : tensor<2x4xf32>, "w" : tensor<4x3xi8>, "s" : tensor<2x3xf32>) -> ("y" : tensor<2x3xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<2x4xf32>
  %w = exec.buffer input[1] 0 + 12 : tensor<4x3xi8>
  %s = exec.buffer input[2] 0 + 24 : tensor<2x3xf32>
  %y = exec.buffer output[0] 0 + 24 : tensor<2x3xf32>
  // expected-error @below {{and a number for all}}
  exec.matmul(%x, %w, %s) -> %y m 2 n 3 k 4 batch [] a [4, 1] b [3, 1] c [3, 1] weights <bits 8 block 4 scales 2 scale 0.5 : f32>
}

// -----

// matmul C7: weights.
exec.program @coded_table("x" : tensor<2x4xf32>, "w" : tensor<4x3xi8>, "s" : tensor<2x3xf32>) -> ("y" : tensor<2x3xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<2x4xf32>
  %w = exec.buffer input[1] 0 + 12 : tensor<4x3xi8>
  %s = exec.buffer input[2] 0 + 24 : tensor<2x3xf32>
  %y = exec.buffer output[0] 0 + 24 : tensor<2x3xf32>
  // expected-error @below {{the table of zero points needs 12 elements, its buffer has 6}}
  exec.matmul(%x, %w, %s) -> %y m 2 n 3 k 4 batch [] a [4, 1] b [3, 1] c [3, 1] weights <bits 8 block 1 zeros 2>
}

// -----

// conv C8: chains.
exec.program @chain_copied("x" : tensor<1x4x4x2xf32>, "w" : tensor<2x2x1x1xf32>) -> ("y" : tensor<1x4x4x2xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 128 : tensor<1x4x4x2xf32>
  %w = exec.buffer input[1] 0 + 16 : tensor<2x2x1x1xf32>
  %y = exec.buffer output[0] 0 + 128 : tensor<1x4x4x2xf32>
  %t = exec.buffer chain[0] 0 + 128 : tensor<1x4x4x2xf32>
  // expected-error @below {{the next command is not a forward convolution of its result}}
  exec.conv forward(%x, %w) -> %t batch 1 channels 2 filters 2 groups 1 input [4, 4] output [4, 4]
      kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] channels_last
  exec.copy %t -> %y
}

// -----

exec.program @chain_other_input("x" : tensor<1x4x4x2xf32>, "w" : tensor<2x2x1x1xf32>) -> ("y" : tensor<1x4x4x2xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 128 : tensor<1x4x4x2xf32>
  %w = exec.buffer input[1] 0 + 16 : tensor<2x2x1x1xf32>
  %y = exec.buffer output[0] 0 + 128 : tensor<1x4x4x2xf32>
  %t = exec.buffer chain[0] 0 + 128 : tensor<1x4x4x2xf32>
  // expected-error @below {{the next command is not a forward convolution of its result}}
  exec.conv forward(%x, %w) -> %t batch 1 channels 2 filters 2 groups 1 input [4, 4] output [4, 4]
      kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] channels_last
  exec.conv forward(%x, %w) -> %y batch 1 channels 2 filters 2 groups 1 input [4, 4] output [4, 4]
      kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] channels_last
}

// -----

exec.program @chain_open("x" : tensor<1x4x4x2xf32>, "w" : tensor<2x2x1x1xf32>) -> ("y" : tensor<1x4x4x2xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 128 : tensor<1x4x4x2xf32>
  %w = exec.buffer input[1] 0 + 16 : tensor<2x2x1x1xf32>
  %y = exec.buffer output[0] 0 + 128 : tensor<1x4x4x2xf32>
  %t = exec.buffer chain[0] 0 + 128 : tensor<1x4x4x2xf32>
  exec.conv forward(%x, %w) -> %y batch 1 channels 2 filters 2 groups 1 input [4, 4] output [4, 4]
      kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] channels_last
  // expected-error @below {{is in a chain that nothing ends}}
  exec.conv forward(%x, %w) -> %t batch 1 channels 2 filters 2 groups 1 input [4, 4] output [4, 4]
      kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] channels_last
}

// -----

exec.program @chain_number("x" : tensor<1x4x4x2xf32>, "w" : tensor<2x2x1x1xf32>) -> ("y" : tensor<1x4x4x2xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 128 : tensor<1x4x4x2xf32>
  %w = exec.buffer input[1] 0 + 16 : tensor<2x2x1x1xf32>
  %y = exec.buffer output[0] 0 + 128 : tensor<1x4x4x2xf32>
  %t = exec.buffer chain[1] 0 + 128 : tensor<1x4x4x2xf32>
  // expected-error @below {{uses a buffer of a chain that it does not continue}}
  exec.conv forward(%x, %w) -> %t batch 1 channels 2 filters 2 groups 1 input [4, 4] output [4, 4]
      kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] channels_last
  exec.conv forward(%t, %w) -> %y batch 1 channels 2 filters 2 groups 1 input [4, 4] output [4, 4]
      kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] channels_last
}

// -----

exec.program @chain_added("x" : tensor<1x4x4x2xf32>, "w" : tensor<2x2x1x1xf32>) -> ("y" : tensor<1x4x4x2xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 128 : tensor<1x4x4x2xf32>
  %w = exec.buffer input[1] 0 + 16 : tensor<2x2x1x1xf32>
  %y = exec.buffer output[0] 0 + 128 : tensor<1x4x4x2xf32>
  %t = exec.buffer chain[0] 0 + 128 : tensor<1x4x4x2xf32>
  %u = exec.buffer chain[0] 0 + 128 : tensor<1x4x4x2xf32>
  exec.conv forward(%x, %w) -> %t batch 1 channels 2 filters 2 groups 1 input [4, 4] output [4, 4]
      kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] channels_last
  // expected-error @below {{uses a buffer of a chain that it does not continue}}
  exec.conv forward(%t, %w, %t) -> %y batch 1 channels 2 filters 2 groups 1 input [4, 4] output [4, 4]
      kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] channels_last post [#exec.post_op<add read 2>]
}

// -----

exec.program @chain_offset("x" : tensor<1x4x4x2xf32>, "w" : tensor<2x2x1x1xf32>) -> ("y" : tensor<1x4x4x2xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 128 : tensor<1x4x4x2xf32>
  %w = exec.buffer input[1] 0 + 16 : tensor<2x2x1x1xf32>
  %y = exec.buffer output[0] 0 + 128 : tensor<1x4x4x2xf32>
  // expected-error @below {{has an offset in a chain}}
  %t = exec.buffer chain[0] 64 + 128 : tensor<1x4x4x2xf32>
  exec.conv forward(%x, %w) -> %t batch 1 channels 2 filters 2 groups 1 input [4, 4] output [4, 4]
      kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] channels_last
  exec.conv forward(%t, %w) -> %y batch 1 channels 2 filters 2 groups 1 input [4, 4] output [4, 4]
      kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] channels_last
}

// -----

exec.program @chain_index("x" : tensor<1x4x4x2xf32>, "w" : tensor<2x2x1x1xf32>) -> ("y" : tensor<1x4x4x2xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 128 : tensor<1x4x4x2xf32>
  %w = exec.buffer input[1] 0 + 16 : tensor<2x2x1x1xf32>
  %y = exec.buffer output[0] 0 + 128 : tensor<1x4x4x2xf32>
  // expected-error @below {{has index 3 in a space of 3}}
  %t = exec.buffer chain[3] 0 + 128 : tensor<1x4x4x2xf32>
  exec.conv forward(%x, %w) -> %t batch 1 channels 2 filters 2 groups 1 input [4, 4] output [4, 4]
      kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] channels_last
  exec.conv forward(%t, %w) -> %y batch 1 channels 2 filters 2 groups 1 input [4, 4] output [4, 4]
      kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] channels_last
}

// -----

exec.program @chain_overwritten("x" : tensor<1x4x4x2xf32>, "w" : tensor<2x2x1x1xf32>) -> ("y" : tensor<1x4x4x2xf32>) arena 128 unshared 0 max_live 128 {
  %x = exec.buffer input[0] 0 + 128 : tensor<1x4x4x2xf32>
  %w = exec.buffer input[1] 0 + 16 : tensor<2x2x1x1xf32>
  %y = exec.buffer output[0] 0 + 128 : tensor<1x4x4x2xf32>
  // expected-note @below {{the buffer is here}}
  %a = exec.buffer arena[0] 0 + 128 : tensor<1x4x4x2xf32>
  %t = exec.buffer chain[0] 0 + 128 : tensor<1x4x4x2xf32>
  %u = exec.buffer arena[0] 0 + 128 : tensor<1x4x4x2xf32>
  exec.copy %x -> %a
  exec.conv forward(%a, %w) -> %t batch 1 channels 2 filters 2 groups 1 input [4, 4] output [4, 4]
      kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] channels_last
  // expected-error @below {{writes bytes of a buffer that is still in use}}
  exec.conv forward(%t, %w) -> %u batch 1 channels 2 filters 2 groups 1 input [4, 4] output [4, 4]
      kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] channels_last
  exec.copy %u -> %y
}

// -----

exec.program @chain_in_place("x" : tensor<1x4x4x2xf32>, "w" : tensor<2x2x1x1xf32>) -> ("y" : tensor<1x4x4x2xf32>) arena 128 unshared 0 max_live 128 {
  %x = exec.buffer input[0] 0 + 128 : tensor<1x4x4x2xf32>
  %w = exec.buffer input[1] 0 + 16 : tensor<2x2x1x1xf32>
  %y = exec.buffer output[0] 0 + 128 : tensor<1x4x4x2xf32>
  // expected-note @below {{the buffer is here}}
  %a = exec.buffer arena[0] 0 + 128 : tensor<1x4x4x2xf32>
  %t = exec.buffer chain[0] 0 + 128 : tensor<1x4x4x2xf32>
  %u = exec.buffer arena[0] 0 + 128 : tensor<1x4x4x2xf32>
  exec.copy %x -> %a
  exec.conv forward(%a, %w) -> %t batch 1 channels 2 filters 2 groups 1 input [4, 4] output [4, 4]
      kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] channels_last
  // expected-error @below {{writes bytes of a buffer that is still in use}}
  exec.conv forward(%t, %w, %a) -> %u batch 1 channels 2 filters 2 groups 1 input [4, 4] output [4, 4]
      kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] channels_last post [#exec.post_op<add read 2>]
  exec.copy %u -> %y
}
