// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-fuse-epilogues))' | FileCheck %s

// CHECK-LABEL: @bias_relu
// CHECK: sinter.fusion "matmul"(%arg0, %arg1, %arg2)
// CHECK: sinter.dot_general
// CHECK: sinter.broadcast
// CHECK: sinter.add
// CHECK: %[[Y:.*]] = sinter.relu
// CHECK: sinter.yield %[[Y]]
func.func @bias_relu(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>, %b: tensor<3xf32>) -> tensor<4x3xf32> {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = sinter.broadcast %b dims [1] : tensor<3xf32> -> tensor<4x3xf32>
  %2 = sinter.add %0, %1 : tensor<4x3xf32>
  %3 = sinter.relu %2 : tensor<4x3xf32>
  return %3 : tensor<4x3xf32>
}

// CHECK-LABEL: @residual
// CHECK: sinter.fusion "conv"(%arg0, %arg1, %arg2)
// CHECK: sinter.conv
// CHECK: %[[Y:.*]] = sinter.add
// CHECK: sinter.yield %[[Y]]
func.func @residual(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>, %r: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %0 = sinter.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>}
     : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = sinter.add %0, %r : tensor<1x2x4x4xf32>
  return %1 : tensor<1x2x4x4xf32>
}

// Must not fire: the result of the contraction has another user.
// CHECK-LABEL: @two_users
// CHECK: %[[D:.*]] = sinter.fusion "matmul"
// CHECK: sinter.yield
// CHECK: sinter.relu %[[D]]
// CHECK: return %[[D]]
func.func @two_users(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = sinter.relu %0 : tensor<4x3xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<4x3xf32>
}

// Must not fire: a bias along the rows is none for the library.
// CHECK-LABEL: @bias_along_rows
// CHECK: sinter.fusion "matmul"(%arg0, %arg1) :
func.func @bias_along_rows(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>, %b: tensor<4xf32>) -> tensor<4x3xf32> {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = sinter.broadcast %b dims [0] : tensor<4xf32> -> tensor<4x3xf32>
  %2 = sinter.add %0, %1 : tensor<4x3xf32>
  return %2 : tensor<4x3xf32>
}
