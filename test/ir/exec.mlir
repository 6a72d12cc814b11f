// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: module @planned
module @planned {
  // CHECK: sinter.state @w : tensor<4x3xf32>
  sinter.state @w : tensor<4x3xf32> {role = #sinter<role param>}
  // CHECK: exec.constant at 64 = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  exec.constant at 64 = dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: exec.kernel @k0_relu loop over <[2, 3] views [(d0, d1) -> (d0, d1)]> tiles 2 {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<2x3xf32>):
  exec.kernel @k0_relu loop over <[2, 3] views [(d0, d1) -> (d0, d1)]> tiles 2 {
  ^bb0(%x: tensor<2x3xf32>):
    %y = sinter.relu %x : tensor<2x3xf32>
    // CHECK: sinter.yield
    sinter.yield %y : tensor<2x3xf32>
  }
  // CHECK: exec.kernel @k1_relu loop over <[6] views [(d0) -> (d0)]> grid [2, 1, 1] block [128, 1, 1] shared 64 {
  exec.kernel @k1_relu loop over <[6] views [(d0) -> (d0)]> grid [2, 1, 1] block [128, 1, 1] shared 64 {
  ^bb0(%x: tensor<6xf32>):
    %y = sinter.relu %x : tensor<6xf32>
    sinter.yield %y : tensor<6xf32>
  }
  // CHECK: exec.program @step("x" : tensor<2x4xf32>, "a b" : tensor<2x3x8x8xf32>) ->
  // CHECK-SAME: ("y" : tensor<2x3xf32>, "conv" : tensor<2x4x8x8xf32>) arena 64 unshared 128 max_live 64 {
  exec.program @step("x" : tensor<2x4xf32>, "a b" : tensor<2x3x8x8xf32>)
      -> ("y" : tensor<2x3xf32>, "conv" : tensor<2x4x8x8xf32>) arena 64 unshared 128 max_live 64 {
    // CHECK: %[[X:.*]] = exec.buffer input[0] 0 + 32 : tensor<2x4xf32>
    %x = exec.buffer input[0] 0 + 32 : tensor<2x4xf32>
    // CHECK: %[[W:.*]] = exec.buffer state[0] 0 + 48 : tensor<4x3xf32>
    %w = exec.buffer state[0] 0 + 48 : tensor<4x3xf32>
    %lr = exec.buffer control[0] 0 + 4 : tensor<f32>
    %c = exec.buffer constant[0] 64 + 8 : tensor<2xf32>
    // CHECK: %[[H:.*]] = exec.buffer arena[0] 0 + 24 : tensor<2x3xf32>
    %h = exec.buffer arena[0] 0 + 24 : tensor<2x3xf32>
    %h2 = exec.buffer arena[0] 0 + 24 : tensor<2x3xf32>
    %y = exec.buffer output[0] 0 + 24 : tensor<2x3xf32>
    // CHECK: exec.matmul(%[[X]], %[[W]]) -> %[[H]] m 2 n 3 k 4 batch [] a [4, 1] b [3, 1] c [3, 1]
    // CHECK-SAME: post [#exec.post_op<relu>, #exec.post_op<clip alpha 0.000000e+00 : f32 beta 6.000000e+00 : f32>]
    exec.matmul(%x, %w) -> %h m 2 n 3 k 4 batch [] a [4, 1] b [3, 1] c [3, 1]
      post [#exec.post_op<relu>, #exec.post_op<clip alpha 0.0 : f32 beta 6.0 : f32>]
    // CHECK: exec.launch @k0_relu(%[[H]]) -> (%[[H2:.*]])
    exec.launch @k0_relu(%h) -> (%h2)
    // CHECK: exec.copy %[[H2]] ->
    exec.copy %h2 -> %y
    %i = exec.buffer input[1] 0 + 1536 : tensor<2x3x8x8xf32>
    %f = exec.buffer arena[0] 0 + 48 : tensor<4x3x1x1xf32>
    // CHECK: exec.fill -> %[[F:.*]]
    exec.fill -> %f
    %o = exec.buffer output[1] 0 + 2048 : tensor<2x4x8x8xf32>
    // CHECK: exec.conv forward(%{{.*}}, %[[F]]) -> %{{.*}} batch 2 channels 3 filters 4 groups 1 input [8, 8]
    // CHECK-SAME: output [8, 8] kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0]
    exec.conv forward(%i, %f) -> %o batch 2 channels 3 filters 4 groups 1 input [8, 8] output [8, 8]
      kernel [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0]
  }
}

// CHECK-LABEL: exec.program @attention
exec.program @attention("x" : tensor<2x4x48xf16>, "g" : tensor<2x2x4x8xf16>)
    -> ("y" : tensor<2x2x4x8xf16>, "dx" : tensor<2x4x48xf16>) arena 64 unshared 64 max_live 64 {
  %x = exec.buffer input[0] 0 + 768 : tensor<2x4x48xf16>
  %y = exec.buffer output[0] 0 + 256 : tensor<2x2x4x8xf16>
  %s = exec.buffer arena[0] 0 + 64 : tensor<2x2x4xf32>
  // CHECK: exec.attention forward(%[[X:.*]]) -> (%[[Y:.*]], %[[S:.*]]) batch 2 heads 2 queries 4 keys 4 depth 8
  // CHECK-SAME: scale 1.250000e-01 causal at [#exec.heads<0 from 0 strides[192, 8, 48]>
  // CHECK-SAME: stats 2
  exec.attention forward(%x) -> (%y, %s) batch 2 heads 2 queries 4 keys 4 depth 8 scale 1.25e-01 causal
    at [#exec.heads<0 from 0 strides [192, 8, 48]>, #exec.heads<0 from 16 strides [192, 8, 48]>,
        #exec.heads<0 from 32 strides [192, 8, 48]>, #exec.heads<1 from 0 strides [64, 32, 8]>] stats 2
  %g = exec.buffer input[1] 0 + 256 : tensor<2x2x4x8xf16>
  %dx = exec.buffer output[1] 0 + 768 : tensor<2x4x48xf16>
  // CHECK: exec.attention backward(%[[X]], %[[Y]], %{{.*}}, %[[S]]) -> (%{{.*}})
  exec.attention backward(%x, %y, %g, %s) -> (%dx) batch 2 heads 2 queries 4 keys 4 depth 8 scale 1.25e-01 causal
    at [#exec.heads<0 from 0 strides [192, 8, 48]>, #exec.heads<0 from 16 strides [192, 8, 48]>,
        #exec.heads<0 from 32 strides [192, 8, 48]>, #exec.heads<1 from 0 strides [64, 32, 8]>,
        #exec.heads<2 from 0 strides [64, 32, 8]>, #exec.heads<4 from 0 strides [192, 8, 48]>,
        #exec.heads<4 from 16 strides [192, 8, 48]>, #exec.heads<4 from 32 strides [192, 8, 48]>] stats 3
}

// -----

// A mask for each key of a sequence.
// CHECK-LABEL: exec.program @attention_mask
exec.program @attention_mask("x" : tensor<2x4x48xf16>, "m" : tensor<2x1x1x4xf32>) -> ("y" : tensor<2x2x4x8xf16>)
    arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 768 : tensor<2x4x48xf16>
  %m = exec.buffer input[1] 0 + 32 : tensor<2x1x1x4xf32>
  %y = exec.buffer output[0] 0 + 256 : tensor<2x2x4x8xf16>
  // CHECK: #exec.heads<2 from 0 strides[64, 32, 8]>, #exec.heads<1 from 0 strides[4, 0, 0]>]
  exec.attention forward(%x, %m) -> (%y) batch 2 heads 2 queries 4 keys 4 depth 8 scale 1.25e-01
    at [#exec.heads<0 from 0 strides [192, 8, 48]>, #exec.heads<0 from 16 strides [192, 8, 48]>,
        #exec.heads<0 from 32 strides [192, 8, 48]>, #exec.heads<2 from 0 strides [64, 32, 8]>,
        #exec.heads<1 from 0 strides [4, 0, 0]>]
}

// -----

// A program on two devices: events order their streams.
// CHECK-LABEL: exec.program @two_devices
// CHECK: exec.record 0
// CHECK: exec.wait 0 {exec.place = 1 : i64, exec.stream = 1 : i64}
// CHECK: exec.copy %{{.*}} -> %{{.*}} {exec.from = 0 : i64, exec.place = 1 : i64, exec.stream = 1 : i64}
module attributes {sinter.devices = ["sim:0", "sim:1"]} {
  exec.program @two_devices("x" : tensor<16xf32>) -> ("y" : tensor<16xf32>) arena 64 unshared 128 max_live 128 attributes {exec.arenas = array<i64: 64, 64>} {
    %x = exec.buffer input[0] 0 + 64 : tensor<16xf32>
    %a = exec.buffer arena[0] 0 + 64 : tensor<16xf32>
    %b = exec.buffer arena[1] 0 + 64 : tensor<16xf32>
    %y = exec.buffer output[0] 0 + 64 : tensor<16xf32>
    exec.copy %x -> %a
    exec.record 0
    exec.wait 0 {exec.place = 1 : i64, exec.stream = 1 : i64}
    exec.copy %a -> %b {exec.place = 1 : i64, exec.stream = 1 : i64, exec.from = 0 : i64}
    exec.record 1 {exec.place = 1 : i64, exec.stream = 1 : i64}
    exec.wait 1 {exec.place = 1 : i64}
    exec.copy %b -> %y {exec.place = 1 : i64}
  }
}

// What post-ops keep is written beside the result.
// CHECK-LABEL: exec.program @kept
exec.program @kept("x" : tensor<4x4xf32>, "g" : tensor<4x4xf32>) -> ("y" : tensor<4x4xf32>, "s" : tensor<4xf32>, "z" : tensor<4x4xf32>) arena 64 unshared 64 max_live 64 {
  %x = exec.buffer input[0] 0 + 64 : tensor<4x4xf32>
  %g = exec.buffer input[1] 0 + 64 : tensor<4x4xf32>
  %bits = exec.buffer arena[0] 0 + 64 : tensor<4x16xui8>
  %y = exec.buffer output[0] 0 + 64 : tensor<4x4xf32>
  // CHECK: exec.matmul(%[[X:.*]], %[[X]]) -> %{{.*}} keeps(%[[BITS:.*]]) m 4 n 4 k 4 batch [] a [4, 1] b [4, 1] c [4, 1] post [#exec.post_op<relu_bits write 1>]
  exec.matmul(%x, %x) -> %y keeps(%bits) m 4 n 4 k 4 batch [] a [4, 1] b [4, 1] c [4, 1] post [#exec.post_op<relu_bits write 1>]
  %s = exec.buffer output[1] 0 + 16 : tensor<4xf32>
  %z = exec.buffer output[2] 0 + 64 : tensor<4x4xf32>
  // CHECK: exec.matmul(%{{.*}}, %[[X]], %[[BITS]]) -> %{{.*}} keeps(%{{.*}}) {{.*}} post [#exec.post_op<relu_grad read 2>, #exec.post_op<bias_grad write 1>]
  exec.matmul(%g, %x, %bits) -> %z keeps(%s) m 4 n 4 k 4 batch [] a [4, 1] b [4, 1] c [4, 1] post [#exec.post_op<relu_grad read 2>, #exec.post_op<bias_grad write 1>]
}

// Weights as codes: of 8 bits with scales and zero points of blocks, and of 4
// bits with one scale for all.
// CHECK-LABEL: exec.program @coded
exec.program @coded("x" : tensor<2x4xf32>, "a" : tensor<4x3xi8>, "b" : tensor<2x3xui8>, "s" : tensor<2x3xf32>, "z" : tensor<2x3xf32>) -> ("y" : tensor<2x3xf32>, "v" : tensor<2x3xf32>) arena 0 unshared 0 max_live 0 {
  %x = exec.buffer input[0] 0 + 32 : tensor<2x4xf32>
  %a = exec.buffer input[1] 0 + 12 : tensor<4x3xi8>
  %b = exec.buffer input[2] 0 + 6 : tensor<2x3xui8>
  %s = exec.buffer input[3] 0 + 24 : tensor<2x3xf32>
  %z = exec.buffer input[4] 0 + 24 : tensor<2x3xf32>
  %y = exec.buffer output[0] 0 + 24 : tensor<2x3xf32>
  %v = exec.buffer output[1] 0 + 24 : tensor<2x3xf32>
  // CHECK: exec.matmul({{.*}}) -> {{.*}} c [3, 1] weights <bits 8 block 2 scales 2 zeros 3> post [#exec.post_op<relu>]
  exec.matmul(%x, %a, %s, %z) -> %y m 2 n 3 k 4 batch [] a [4, 1] b [3, 1] c [3, 1] weights <bits 8 block 2 scales 2 zeros 3> post [#exec.post_op<relu>]
  // CHECK: exec.matmul({{.*}}) -> {{.*}} c [3, 1] weights <bits 4 block 4 scale 5.000000e-01 : f32 zero 8.000000e+00 : f32>
  exec.matmul(%x, %b) -> %v m 2 n 3 k 4 batch [] a [4, 1] b [3, 1] c [3, 1] weights <bits 4 block 4 scale 0.5 : f32 zero 8.0 : f32>
}
