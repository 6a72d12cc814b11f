// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: @reduce
func.func @reduce(%x : tensor<4x8x2xf32>, %b : tensor<4x0xi1>) {
  // CHECK: sinter.reduce sum %arg0 dims [1] : (tensor<4x8x2xf32>) -> tensor<4x2xf32>
  %0 = sinter.reduce sum %x dims [1] : (tensor<4x8x2xf32>) -> tensor<4x2xf32>
  %1 = sinter.reduce prod %x dims [] : (tensor<4x8x2xf32>) -> tensor<4x8x2xf32>
  %2 = sinter.reduce max %x dims [0, 1, 2] : (tensor<4x8x2xf32>) -> tensor<f32>
  %3 = sinter.reduce min %x dims [0, 2] : (tensor<4x8x2xf32>) -> tensor<8xf32>
  // CHECK: sinter.reduce all %arg1 dims [1] : (tensor<4x0xi1>) -> tensor<4xi1>
  %4 = sinter.reduce all %b dims [1] : (tensor<4x0xi1>) -> tensor<4xi1>
  %5 = sinter.reduce any %b dims [0] : (tensor<4x0xi1>) -> tensor<0xi1>
  return
}

// CHECK-LABEL: @order
func.func @order(%x : tensor<4x8xf32>) {
  // CHECK: sinter.arg_reduce max %arg0 {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4xi64>
  %0 = sinter.arg_reduce max %x {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4xi64>
  %1 = sinter.arg_reduce min %x {axis = 0 : i64, select_last} : (tensor<4x8xf32>) -> tensor<8xi64>
  // CHECK: sinter.top_k %arg0 {axis = 1 : i64, k = 3 : i64, largest} : (tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi64>)
  %2, %3 = sinter.top_k %x {axis = 1 : i64, k = 3 : i64, largest}
     : (tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi64>)
  %4, %5 = sinter.top_k %x {axis = 0 : i64, k = 0 : i64}
     : (tensor<4x8xf32>) -> (tensor<0x8xf32>, tensor<0x8xi64>)
  // CHECK: sinter.cumulative sum %arg0 {axis = 1 : i64} : tensor<4x8xf32>
  %6 = sinter.cumulative sum %x {axis = 1 : i64} : tensor<4x8xf32>
  %7 = sinter.cumulative prod %x {axis = 0 : i64, exclusive, reverse} : tensor<4x8xf32>
  %8 = sinter.slice %x starts [0, 0] limits [4, 2] strides [1, 1] : (tensor<4x8xf32>) -> tensor<4x2xf32>
  // CHECK: sinter.cumulative_parts sum %arg0, %{{.*}} {axis = 1 : i64, part = 3 : i64} : tensor<4x8xf32>, tensor<4x2xf32>
  %9 = sinter.cumulative_parts sum %x, %8 {axis = 1 : i64, part = 3 : i64} : tensor<4x8xf32>, tensor<4x2xf32>
  return
}

// CHECK-LABEL: @windows
func.func @windows(%x : tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
  // CHECK: sinter.reduce_window max %arg0
  %y = sinter.reduce_window max %x {window = array<i64: 1, 1, 2, 2>, strides = array<i64: 1, 1, 2, 2>,
         dilations = array<i64: 1, 1, 1, 1>, pads_low = array<i64: 0, 0, 0, 0>, pads_high = array<i64: 0, 0, 0, 0>}
     : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  // CHECK: sinter.reduce_window_grad max %arg0, %{{.*}}
  %dx = sinter.reduce_window_grad max %x, %y {window = array<i64: 1, 1, 2, 2>, strides = array<i64: 1, 1, 2, 2>,
         dilations = array<i64: 1, 1, 1, 1>, pads_low = array<i64: 0, 0, 0, 0>, pads_high = array<i64: 0, 0, 0, 0>}
     : (tensor<1x2x8x8xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32>
  return %dx : tensor<1x2x8x8xf32>
}
