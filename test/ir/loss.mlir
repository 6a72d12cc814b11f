// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: @cross_entropy
func.func @cross_entropy(%x : tensor<4x10xf32>, %t : tensor<4xi64>, %u : tensor<10xui8>) {
  // CHECK: sinter.softmax_cross_entropy %arg0, %arg1 {axis = 1 : i64, label_smoothing = 0.000000e+00 : f64}
  %0 = sinter.softmax_cross_entropy %x, %t {axis = 1 : i64, label_smoothing = 0.0 : f64}
     : (tensor<4x10xf32>, tensor<4xi64>) -> tensor<4xf32>
  // CHECK: ignore_index = -100 : i64
  %1 = sinter.softmax_cross_entropy %x, %u {axis = 0 : i64, label_smoothing = 1.0 : f64, ignore_index = -100 : i64}
     : (tensor<4x10xf32>, tensor<10xui8>) -> tensor<10xf32>
  return
}
