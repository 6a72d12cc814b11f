// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: @sources
func.func @sources() {
  // CHECK: sinter.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %0 = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: sinter.constant dense_resource<weights> : tensor<2xf32>
  %1 = sinter.constant dense_resource<weights> : tensor<2xf32>
  // CHECK: sinter.iota {axis = 1 : i64} : tensor<4x8xi64>
  %2 = sinter.iota {axis = 1 : i64} : tensor<4x8xi64>
  return
}

// CHECK-LABEL: @places
func.func @places(%x : tensor<4x8xf32>, %v : tensor<8xf32>) {
  // CHECK: sinter.broadcast %arg1 dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  %0 = sinter.broadcast %v dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  // CHECK: sinter.reshape %arg0 : tensor<4x8xf32> -> tensor<32xf32>
  %1 = sinter.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
  // CHECK: sinter.transpose %arg0 perm [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %2 = sinter.transpose %x perm [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK: sinter.reverse %arg0 dims [1] : tensor<4x8xf32>
  %3 = sinter.reverse %x dims [1] : tensor<4x8xf32>
  return
}

// CHECK-LABEL: @parts
func.func @parts(%x : tensor<4x8xf32>, %a : tensor<1x8xf32>, %v : tensor<f32>) {
  // CHECK: sinter.slice %arg0 starts [0, 2] limits [4, 8] strides [1, 2] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  %0 = sinter.slice %x starts [0, 2] limits [4, 8] strides [1, 2] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  // An empty slice.
  %1 = sinter.slice %x starts [4, 0] limits [4, 8] strides [1, 1] : (tensor<4x8xf32>) -> tensor<0x8xf32>
  // CHECK: sinter.pad %arg0, %arg2 low [0, 1] high [0, 1] interior [0, 0]
  %2 = sinter.pad %x, %v low [0, 1] high [0, 1] interior [0, 0]
     : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x10xf32>
  // CHECK: sinter.concat %arg1, %arg0 axis 0 : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<5x8xf32>
  %3 = sinter.concat %a, %x axis 0 : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<5x8xf32>
  return
}

{-#
  dialect_resources: { builtin: { weights: "0x400000000000803F00000040" } }
#-}
