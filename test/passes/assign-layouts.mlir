// RUN: sinter-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(sinter-assign-layouts))' | FileCheck %s

// Everything between the convolutions goes along; the transposes are at the
// function's border, and none is between the two.
// CHECK-LABEL: @between_convolutions
// CHECK: %[[X:.*]] = sinter.transpose %arg0 perm [0, 2, 3, 1]
// CHECK: %[[A:.*]] = sinter.conv %[[X]], %arg1 {channels_last
// CHECK-SAME: -> tensor<2x8x8x6xf32>
// CHECK: %[[B:.*]] = sinter.broadcast %arg2 dims [3] : tensor<6xf32> -> tensor<2x8x8x6xf32>
// CHECK: %[[S:.*]] = sinter.add %[[A]], %[[B]]
// CHECK: %[[R:.*]] = sinter.relu %[[S]]
// CHECK: %[[Y:.*]] = sinter.conv %[[R]], %arg3 {channels_last
// CHECK: %[[T:.*]] = sinter.transpose %[[Y]] perm [0, 3, 1, 2]
// CHECK: return %[[T]]
func.func @between_convolutions(%x: tensor<2x6x8x8xf32>, %w: tensor<6x6x3x3xf32>, %b: tensor<6xf32>,
                                %v: tensor<6x6x3x3xf32>) -> tensor<2x6x8x8xf32> {
  %a = sinter.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>,
         pads_high = array<i64: 1, 1>} : (tensor<2x6x8x8xf32>, tensor<6x6x3x3xf32>) -> tensor<2x6x8x8xf32>
  %c = sinter.broadcast %b dims [1] : tensor<6xf32> -> tensor<2x6x8x8xf32>
  %s = sinter.add %a, %c : tensor<2x6x8x8xf32>
  %r = sinter.relu %s : tensor<2x6x8x8xf32>
  %y = sinter.conv %r, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>,
         pads_high = array<i64: 1, 1>} : (tensor<2x6x8x8xf32>, tensor<6x6x3x3xf32>) -> tensor<2x6x8x8xf32>
  return %y : tensor<2x6x8x8xf32>
}

// -----

// Lists with an entry per dimension are permuted; a reduction over the spatial
// dimensions leaves batch and channels as they were.
// CHECK-LABEL: @dimension_lists
// CHECK: sinter.reduce_window max {{.*}}pads_high = array<i64: 0, 1, 0, 0>, pads_low = array<i64: 0, 0, 1, 0>, strides = array<i64: 1, 2, 1, 1>, window = array<i64: 1, 2, 3, 1>
// CHECK: sinter.pad {{.*}} low [0, 1, 2, 0] high [0, 0, 3, 0] interior [0, 0, 0, 0]
// CHECK: sinter.slice {{.*}} starts [0, 1, 2, 3] limits [2, 4, 8, 5] strides [1, 1, 2, 1]
// CHECK: sinter.reverse {{.*}} dims [1]
// CHECK: sinter.concat {{.*}} axis 3
// CHECK: %[[R:.*]] = sinter.reduce sum {{.*}} dims [1, 2] : (tensor<2x3x3x4xf32>) -> tensor<2x4xf32>
// CHECK: return %[[R]]
func.func @dimension_lists(%x: tensor<2x6x8x8xf32>, %w: tensor<6x6x1x1xf32>, %zero: tensor<f32>)
    -> tensor<2x4xf32> {
  %a = sinter.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>,
         pads_high = array<i64: 0, 0>} : (tensor<2x6x8x8xf32>, tensor<6x6x1x1xf32>) -> tensor<2x6x8x8xf32>
  %b = sinter.conv %a, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>,
         pads_high = array<i64: 0, 0>} : (tensor<2x6x8x8xf32>, tensor<6x6x1x1xf32>) -> tensor<2x6x8x8xf32>
  %p = sinter.reduce_window max %b {window = array<i64: 1, 1, 2, 3>, strides = array<i64: 1, 1, 2, 1>,
         dilations = array<i64: 1, 1, 1, 1>, pads_low = array<i64: 0, 0, 0, 1>, pads_high = array<i64: 0, 0, 1, 0>}
     : (tensor<2x6x8x8xf32>) -> tensor<2x6x4x7xf32>
  %q = sinter.pad %p, %zero low [0, 0, 1, 2] high [0, 0, 0, 3] interior [0, 0, 0, 0]
     : (tensor<2x6x4x7xf32>, tensor<f32>) -> tensor<2x6x5x12xf32>
  %s = sinter.slice %q starts [0, 3, 1, 2] limits [2, 5, 4, 8] strides [1, 1, 1, 2]
     : (tensor<2x6x5x12xf32>) -> tensor<2x2x3x3xf32>
  %r = sinter.reverse %s dims [2] : tensor<2x2x3x3xf32>
  %c = sinter.concat %r, %s axis 1 : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x4x3x3xf32>
  %y = sinter.reduce sum %c dims [2, 3] : (tensor<2x4x3x3xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// A reduction that keeps spatial dimensions gives them back behind the
// channels.
// CHECK-LABEL: @reduction_keeps_rows
// CHECK: %[[R:.*]] = sinter.reduce max {{.*}} dims [2] : (tensor<2x8x8x6xf32>) -> tensor<2x8x6xf32>
// CHECK: %[[T:.*]] = sinter.transpose %[[R]] perm [0, 2, 1]
// CHECK: return %[[T]] : tensor<2x6x8xf32>
func.func @reduction_keeps_rows(%x: tensor<2x6x8x8xf32>, %w: tensor<6x6x1x1xf32>) -> tensor<2x6x8xf32> {
  %a = sinter.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>,
         pads_high = array<i64: 0, 0>} : (tensor<2x6x8x8xf32>, tensor<6x6x1x1xf32>) -> tensor<2x6x8x8xf32>
  %y = sinter.reduce max %a dims [3] : (tensor<2x6x8x8xf32>) -> tensor<2x6x8xf32>
  return %y : tensor<2x6x8xf32>
}

// -----

// Gradients of convolutions and windows have one layout with what they are
// computed from; the filter's gradient keeps that of the filter.
// CHECK-LABEL: @gradients
// CHECK-DAG: %[[X:.*]] = sinter.transpose %arg0 perm [0, 2, 3, 1]
// CHECK-DAG: %[[G:.*]] = sinter.transpose %arg2 perm [0, 2, 3, 1]
// CHECK: %[[DP:.*]] = sinter.reduce_window_grad max %{{.*}}, %[[G]] {{.*}} -> tensor<2x8x8x6xf32>
// CHECK: sinter.conv_filter_grad %[[X]], %[[DP]] {channels_last{{.*}} -> tensor<6x6x1x1xf32>
// CHECK: %[[DX:.*]] = sinter.conv_input_grad %[[DP]], %arg1 {channels_last
// CHECK: sinter.transpose %[[DX]] perm [0, 3, 1, 2]
func.func @gradients(%x: tensor<2x6x8x8xf32>, %w: tensor<6x6x1x1xf32>, %g: tensor<2x6x4x4xf32>)
    -> (tensor<6x6x1x1xf32>, tensor<2x6x8x8xf32>) {
  %a = sinter.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>,
         pads_high = array<i64: 0, 0>} : (tensor<2x6x8x8xf32>, tensor<6x6x1x1xf32>) -> tensor<2x6x8x8xf32>
  %da = sinter.reduce_window_grad max %a, %g {window = array<i64: 1, 1, 2, 2>, strides = array<i64: 1, 1, 2, 2>,
         dilations = array<i64: 1, 1, 1, 1>, pads_low = array<i64: 0, 0, 0, 0>, pads_high = array<i64: 0, 0, 0, 0>}
     : (tensor<2x6x8x8xf32>, tensor<2x6x4x4xf32>) -> tensor<2x6x8x8xf32>
  %dw = sinter.conv_filter_grad %x, %da {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
         pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>}
     : (tensor<2x6x8x8xf32>, tensor<2x6x8x8xf32>) -> tensor<6x6x1x1xf32>
  %dx = sinter.conv_input_grad %da, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
         pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>}
     : (tensor<2x6x8x8xf32>, tensor<6x6x1x1xf32>) -> tensor<2x6x8x8xf32>
  return %dw, %dx : tensor<6x6x1x1xf32>, tensor<2x6x8x8xf32>
}

// -----

// Must not fire: no convolution in the area.
// CHECK-LABEL: @no_convolution
// CHECK-NOT: sinter.transpose
func.func @no_convolution(%x: tensor<2x6x8x8xf32>) -> tensor<2x6x8x8xf32> {
  %y = sinter.relu %x : tensor<2x6x8x8xf32>
  return %y : tensor<2x6x8x8xf32>
}

// -----

// Must not fire: the transposes would cost more than the one convolution saves.
// CHECK-LABEL: @borders_cost_more
// CHECK-NOT: sinter.transpose
func.func @borders_cost_more(%x: tensor<2x6x8x8xf32>, %w: tensor<6x6x1x1xf32>, %a: tensor<2x6x8x8xf32>,
                             %b: tensor<2x6x8x8xf32>) -> tensor<2x6x8x8xf32> {
  %c = sinter.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>,
         pads_high = array<i64: 0, 0>} : (tensor<2x6x8x8xf32>, tensor<6x6x1x1xf32>) -> tensor<2x6x8x8xf32>
  %d = sinter.mul %c, %a : tensor<2x6x8x8xf32>
  %e = sinter.add %d, %b : tensor<2x6x8x8xf32>
  return %e : tensor<2x6x8x8xf32>
}

// -----

// At the same cost, convolutions of 8-bit integers become channels-last: they have
// a kernel for no other layout.
// CHECK-LABEL: @bytes_at_any_cost
// CHECK: sinter.conv {{.*}} {channels_last{{.*}}xi32>
func.func @bytes_at_any_cost(%x: tensor<2x6x8x8xui8>, %w: tensor<6x6x1x1xi8>, %a: tensor<2x6x8x8xi32>,
                             %b: tensor<2x6x8x8xi32>) -> tensor<2x6x8x8xi32> {
  %xi = sinter.cast %x : tensor<2x6x8x8xui8> -> tensor<2x6x8x8xi32>
  %wi = sinter.cast %w : tensor<6x6x1x1xi8> -> tensor<6x6x1x1xi32>
  %c = sinter.conv %xi, %wi {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>,
         pads_high = array<i64: 0, 0>} : (tensor<2x6x8x8xi32>, tensor<6x6x1x1xi32>) -> tensor<2x6x8x8xi32>
  %d = sinter.mul %c, %a : tensor<2x6x8x8xi32>
  %e = sinter.add %d, %b : tensor<2x6x8x8xi32>
  return %e : tensor<2x6x8x8xi32>
}
