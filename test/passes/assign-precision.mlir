// RUN: sinter-opt %s --sinter-assign-precision="policy=bf16" --split-input-file | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-precision="policy=bf16 keep-fp32=second" --split-input-file | FileCheck %s --check-prefix=KEEP
// RUN: sinter-opt %s --sinter-assign-precision="policy=tf32" --split-input-file | FileCheck %s --check-prefix=TF32

// The first product's result is stored in 16 bits with its bias; the output layer takes 16-bit
// operands and stores float32. Weights are rounded once, states stay float32.
sinter.state @w1 : tensor<8x16xf32> {role = #sinter<role param>}
sinter.state @b1 : tensor<16xf32> {role = #sinter<role param>}
sinter.state @w2 : tensor<16x4xf32> {role = #sinter<role param>}
// CHECK-LABEL: @two_layers
// CHECK-SAME: %[[X:.*]]: tensor<32x8xf32>
// CHECK: %[[X16:.*]] = sinter.cast %[[X]] : tensor<32x8xf32> -> tensor<32x8xbf16>
// CHECK: sinter.cast %[[X16]] : tensor<32x8xbf16> -> tensor<32x8xf32>
// CHECK: sinter.cast %{{.*}} : tensor<8x16xf32> -> tensor<8x16xbf16>
// CHECK: sinter.dot_general {{.*}} -> tensor<32x16xf32>
// CHECK: sinter.cast %{{.*}} : tensor<16xf32> -> tensor<16xbf16>
// CHECK: sinter.add
// CHECK: %[[H:.*]] = sinter.relu
// CHECK-NEXT: %[[H16:.*]] = sinter.cast %[[H]] : tensor<32x16xf32> -> tensor<32x16xbf16>
// CHECK-NEXT: %[[HR:.*]] = sinter.cast %[[H16]]
// CHECK: %[[Y:.*]] = sinter.dot_general %[[HR]]
// CHECK-NEXT: return %[[Y]]
// KEEP-LABEL: @two_layers
// KEEP-COUNT-1: -> tensor<32x8xbf16>
// KEEP-NOT: -> tensor<16x4xbf16>
// KEEP: return
// TF32-LABEL: @two_layers
// TF32-COUNT-2: sinter.dot_general {{.*}} {tf32}
func.func @two_layers(%x: tensor<32x8xf32> {sinter.input = "x"},
    %w1: tensor<8x16xf32> {sinter.state = @w1}, %b1: tensor<16xf32> {sinter.state = @b1},
    %w2: tensor<16x4xf32> {sinter.state = @w2}) -> (tensor<32x4xf32> {sinter.output = "y"}) {
  %0 = sinter.dot_general %x, %w1 batch [] x [] contract [1] x [0]
     : (tensor<32x8xf32>, tensor<8x16xf32>) -> tensor<32x16xf32> loc("first")
  %1 = sinter.broadcast %b1 dims [1] : tensor<16xf32> -> tensor<32x16xf32>
  %2 = sinter.add %0, %1 : tensor<32x16xf32>
  %3 = sinter.relu %2 : tensor<32x16xf32>
  %4 = sinter.dot_general %3, %w2 batch [] x [] contract [1] x [0]
     : (tensor<32x16xf32>, tensor<16x4xf32>) -> tensor<32x4xf32> loc("second")
  return %4 : tensor<32x4xf32>
}

// -----

// Softmax between two products: its steps are float32, what the second product reads is rounded.
// CHECK-LABEL: @exponentials_stay
// CHECK: %[[E:.*]] = sinter.exp %{{.*}} : tensor<8x8xf32>
// CHECK: sinter.reduce sum %[[E]]
// CHECK: %[[P:.*]] = sinter.div
// CHECK-NEXT: sinter.cast %[[P]] : tensor<8x8xf32> -> tensor<8x8xbf16>
func.func @exponentials_stay(%x: tensor<8x8xf32> {sinter.input = "x"},
    %v: tensor<8x4xf32> {sinter.input = "v"}) -> (tensor<8x4xf32> {sinter.output = "y"}) {
  %0 = sinter.dot_general %x, %x batch [] x [] contract [1] x [1]
     : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = sinter.exp %0 : tensor<8x8xf32>
  %2 = sinter.reduce sum %1 dims [1] : (tensor<8x8xf32>) -> tensor<8xf32>
  %3 = sinter.broadcast %2 dims [0] : tensor<8xf32> -> tensor<8x8xf32>
  %4 = sinter.div %1, %3 : tensor<8x8xf32>
  %5 = sinter.dot_general %4, %v batch [] x [] contract [1] x [0]
     : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %5 : tensor<8x4xf32>
}

// -----

// Pooling only chooses: its operand is rounded, so that 16 bits are moved.
// CHECK-LABEL: @pooling_moves_16_bits
// CHECK: %[[S:.*]] = sinter.sub
// CHECK-NEXT: sinter.cast %[[S]] : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xbf16>
// CHECK: sinter.reduce_window
func.func @pooling_moves_16_bits(%x: tensor<1x2x8x8xf32> {sinter.input = "x"},
    %w: tensor<4x2x1x1xf32> {sinter.input = "w"}) -> (tensor<1x4x4x4xf32> {sinter.output = "y"}) {
  %0 = sinter.sub %x, %x : tensor<1x2x8x8xf32>
  %1 = sinter.reduce_window max %0 {window = array<i64: 1, 1, 2, 2>, strides = array<i64: 1, 1, 2, 2>,
       dilations = array<i64: 1, 1, 1, 1>, pads_low = array<i64: 0, 0, 0, 0>, pads_high = array<i64: 0, 0, 0, 0>}
     : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  %2 = sinter.conv %1, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
       pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>}
     : (tensor<1x2x4x4xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x4x4xf32>
  return %2 : tensor<1x4x4x4xf32>
}

// -----

// Float64 is left alone.
// CHECK-LABEL: @float64
// CHECK-NOT: sinter.cast
// TF32-LABEL: @float64
// TF32-NOT: tf32}
func.func @float64(%x: tensor<8x8xf64> {sinter.input = "x"}) -> (tensor<8x8xf64> {sinter.output = "y"}) {
  %0 = sinter.dot_general %x, %x batch [] x [] contract [1] x [0]
     : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
  return %0 : tensor<8x8xf64>
}

// -----

// Without a library that keeps it, what a GELU is applied to is rounded for the GELU as well.
// CHECK-LABEL: @trained_gelu
// TF32-LABEL: @trained_gelu
// TF32: sinter.gelu tanh
// CHECK: %[[Z:.*]] = sinter.dot_general
// CHECK-NEXT: %[[Z16:.*]] = sinter.cast %[[Z]] : tensor<4x16xf32> -> tensor<4x16xbf16>
// CHECK-NEXT: %[[ZW:.*]] = sinter.cast %[[Z16]]
// CHECK: sinter.gelu tanh %[[ZW]]
// CHECK: sinter.gelu_grad tanh %{{.*}}, %[[ZW]]
func.func @trained_gelu(%x: tensor<4x8xf32> {sinter.input = "x"}, %w: tensor<8x16xf32> {sinter.input = "w"},
    %g: tensor<4x2xf32> {sinter.input = "g"}, %v: tensor<2x16xf32> {sinter.input = "v"})
    -> (tensor<4x4xf32> {sinter.output = "y"}) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = sinter.gelu tanh %0 : tensor<4x16xf32>
  %2 = sinter.dot_general %g, %v batch [] x [] contract [1] x [0] : (tensor<4x2xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
  %3 = sinter.gelu_grad tanh %2, %0 : tensor<4x16xf32>
  %4 = sinter.dot_general %1, %3 batch [] x [] contract [1] x [1] : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// -----

// In a step, the last product before the loss is the output layer, also if another output (here the norm of a
// gradient) depends on products behind the loss.
// CHECK-LABEL: @step
// CHECK: %[[Y:.*]] = sinter.dot_general {{.*}} -> tensor<32x4xf32>
// CHECK-NEXT: sinter.reduce sum %[[Y]]
func.func @step(%x: tensor<32x8xf32> {sinter.input = "x"}, %w: tensor<8x4xf32> {sinter.state = @w})
    -> (tensor<f32> {sinter.output = "loss"}, tensor<f32> {sinter.output = "grad_norm"}) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
     : (tensor<32x8xf32>, tensor<8x4xf32>) -> tensor<32x4xf32>
  %1 = sinter.reduce sum %0 dims [0, 1] : (tensor<32x4xf32>) -> tensor<f32>
  %2 = sinter.exp %0 : tensor<32x4xf32>
  %3 = sinter.dot_general %x, %2 batch [] x [] contract [0] x [0]
     : (tensor<32x8xf32>, tensor<32x4xf32>) -> tensor<8x4xf32>
  %4 = sinter.reduce sum %3 dims [0, 1] : (tensor<8x4xf32>) -> tensor<f32>
  return %1, %4 : tensor<f32>, tensor<f32>
}
sinter.state @w : tensor<8x4xf32> {role = #sinter<role param>}

// -----

// With micro-batches it is the last product before the sum of the losses.
// CHECK-LABEL: @grad
// CHECK: %[[Y:.*]] = sinter.dot_general {{.*}} -> tensor<32x4xf32>
// CHECK-NEXT: sinter.reduce sum %[[Y]]
func.func @grad(%x: tensor<32x8xf32> {sinter.input = "x"}, %w: tensor<8x4xf32> {sinter.state = @w},
                %sum: tensor<f32> {sinter.state = @loss_sum}, %g: tensor<8x4xf32> {sinter.state = @w.grad})
    -> (tensor<f32> {sinter.state = @loss_sum}, tensor<8x4xf32> {sinter.state = @w.grad}) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
     : (tensor<32x8xf32>, tensor<8x4xf32>) -> tensor<32x4xf32>
  %1 = sinter.reduce sum %0 dims [0, 1] : (tensor<32x4xf32>) -> tensor<f32>
  %2 = sinter.add %sum, %1 : tensor<f32>
  %3 = sinter.exp %0 : tensor<32x4xf32>
  %4 = sinter.dot_general %x, %3 batch [] x [] contract [0] x [0]
     : (tensor<32x8xf32>, tensor<32x4xf32>) -> tensor<8x4xf32>
  %5 = sinter.add %g, %4 : tensor<8x4xf32>
  return %2, %5 : tensor<f32>, tensor<8x4xf32>
}
sinter.state @w : tensor<8x4xf32> {role = #sinter<role param>}
sinter.state @loss_sum : tensor<f32> {role = #sinter<role accum>, slot = "loss_sum"}
sinter.state @w.grad : tensor<8x4xf32> {role = #sinter<role accum>, slot = "grad"}

// -----

// The product of a trip is followed by that of the next trip: it reads 16 bits and stores 16 bits.
// What is carried stays float32, as a state does. The stack is a result of a product that the scan
// multiplies again, so that it is rounded.
// CHECK-LABEL: @scan
// CHECK: %[[P:.*]] = sinter.dot_general
// CHECK: %[[P16:.*]] = sinter.cast %[[P]] : tensor<3x2x8xf32> -> tensor<3x2x8xbf16>
// CHECK: %[[PR:.*]] = sinter.cast %[[P16]]
// CHECK: sinter.scan trips 3 stacks(%[[PR]])
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<2x8xf32>, %[[BEFORE:.*]]: tensor<2x8xf32>, %[[W:.*]]: tensor<8x8xf32>):
// CHECK-DAG: %[[B16:.*]] = sinter.cast %[[BEFORE]] : tensor<2x8xf32> -> tensor<2x8xbf16>
// CHECK-DAG: %[[W16:.*]] = sinter.cast %[[W]] : tensor<8x8xf32> -> tensor<8x8xbf16>
// CHECK-DAG: %[[BR:.*]] = sinter.cast %[[B16]]
// CHECK-DAG: %[[WR:.*]] = sinter.cast %[[W16]]
// CHECK: %[[Q:.*]] = sinter.dot_general %[[BR]], %[[WR]]
// CHECK: %[[SLOW:.*]] = sinter.tanh
// CHECK-NEXT: %[[S16:.*]] = sinter.cast %[[SLOW]] : tensor<2x8xf32> -> tensor<2x8xbf16>
// CHECK-NEXT: %[[SR:.*]] = sinter.cast %[[S16]]
// CHECK-NEXT: %[[AFTER:.*]] = sinter.mul %[[SR]], %[[BEFORE]]
// CHECK-NEXT: sinter.yield %[[AFTER]]
// TF32-LABEL: @scan
// TF32-COUNT-2: sinter.dot_general {{.*}} {tf32}
func.func @scan(%x: tensor<3x2x4xf32> {sinter.input = "x"}, %v: tensor<4x8xf32> {sinter.input = "v"},
    %w: tensor<8x8xf32> {sinter.input = "w"}, %h: tensor<2x8xf32> {sinter.input = "h"})
    -> (tensor<2x8xf32> {sinter.output = "y"}) {
  %p = sinter.dot_general %x, %v batch [] x [] contract [2] x [0] : (tensor<3x2x4xf32>, tensor<4x8xf32>) -> tensor<3x2x8xf32>
  %y = sinter.scan trips 3 stacks(%p) initial(%h) whole(%w) : (tensor<3x2x8xf32>, tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32> {
  ^bb0(%slice: tensor<2x8xf32>, %before: tensor<2x8xf32>, %weights: tensor<8x8xf32>):
    %q = sinter.dot_general %before, %weights batch [] x [] contract [1] x [0] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %sum = sinter.add %q, %slice : tensor<2x8xf32>
    %slow = sinter.tanh %sum : tensor<2x8xf32>
    %after = sinter.mul %slow, %before : tensor<2x8xf32>
    sinter.yield %after : tensor<2x8xf32>
  }
  return %y : tensor<2x8xf32>
}

// -----

// A rounded value is stacked as other users read it; one that is carried is not rounded.
// CHECK-LABEL: @scan_stacked
// CHECK: %[[Q:.*]] = sinter.dot_general
// CHECK-NEXT: %[[Q16:.*]] = sinter.cast %[[Q]] : tensor<2x8xf32> -> tensor<2x8xbf16>
// CHECK-NEXT: %[[QR:.*]] = sinter.cast %[[Q16]]
// CHECK-NEXT: %[[AFTER:.*]] = sinter.exp %[[QR]]
// CHECK-NEXT: sinter.yield %[[AFTER]], %[[QR]]
func.func @scan_stacked(%w: tensor<8x8xf32> {sinter.input = "w"}, %h: tensor<2x8xf32> {sinter.input = "h"})
    -> (tensor<2x8xf32> {sinter.output = "y"}, tensor<3x2x8xf32> {sinter.output = "z"}) {
  %y, %z = sinter.scan trips 3 stacks() initial(%h) whole(%w) : (tensor<2x8xf32>, tensor<8x8xf32>) -> (tensor<2x8xf32>, tensor<3x2x8xf32>) {
  ^bb0(%before: tensor<2x8xf32>, %weights: tensor<8x8xf32>):
    %q = sinter.dot_general %before, %weights batch [] x [] contract [1] x [0] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %after = sinter.exp %q : tensor<2x8xf32>
    sinter.yield %after, %q : tensor<2x8xf32>, tensor<2x8xf32>
  }
  return %y, %z : tensor<2x8xf32>, tensor<3x2x8xf32>
}
