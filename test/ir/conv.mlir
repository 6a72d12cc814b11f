// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: @three
func.func @three(%x : tensor<2x3x8x8xf32>, %w : tensor<4x3x3x3xf32>) -> (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) {
  // CHECK: sinter.conv %arg0, %arg1 {dilations = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %y = sinter.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
         pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>}
     : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: sinter.conv_input_grad
  %dx = sinter.conv_input_grad %y, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
          pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>}
     : (tensor<2x4x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x3x8x8xf32>
  // CHECK: sinter.conv_filter_grad
  %dw = sinter.conv_filter_grad %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
          pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>}
     : (tensor<2x3x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<4x3x3x3xf32>
  return %dx, %dw : tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>
}

// One spatial dimension, groups, stride, dilation, one-sided padding.
// CHECK-LABEL: @grouped
func.func @grouped(%x : tensor<2x7x6xf32>, %w : tensor<9x2x2xf32>) -> tensor<2x3x9xf32> {
  // CHECK: channels_last
  // CHECK-SAME: groups = 3
  %y = sinter.conv %x, %w {strides = array<i64: 2>, dilations = array<i64: 3>, pads_low = array<i64: 0>,
         pads_high = array<i64: 1>, groups = 3 : i64, channels_last}
     : (tensor<2x7x6xf32>, tensor<9x2x2xf32>) -> tensor<2x3x9xf32>
  return %y : tensor<2x3x9xf32>
}

// CHECK-LABEL: @empty_batch
func.func @empty_batch(%x : tensor<0x3x8xf32>, %w : tensor<4x3x3xf32>) -> tensor<0x4x6xf32> {
  // CHECK: sinter.conv
  %y = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>,
         pads_high = array<i64: 0>} : (tensor<0x3x8xf32>, tensor<4x3x3xf32>) -> tensor<0x4x6xf32>
  return %y : tensor<0x4x6xf32>
}

// Sums of int32 wrap.
// CHECK-LABEL: @integers
func.func @integers(%x : tensor<1x2x8xi32>, %w : tensor<4x2x3xi32>) -> tensor<1x4x6xi32> {
  // CHECK: sinter.conv {{.*}} : (tensor<1x2x8xi32>, tensor<4x2x3xi32>) -> tensor<1x4x6xi32>
  %y = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>,
         pads_high = array<i64: 0>} : (tensor<1x2x8xi32>, tensor<4x2x3xi32>) -> tensor<1x4x6xi32>
  return %y : tensor<1x4x6xi32>
}
