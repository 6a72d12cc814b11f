// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: @norms
func.func @norms(%x : tensor<4x8xf32>, %s : tensor<8xf32>, %z : tensor<2x4x5xf32>, %c : tensor<4xf32>) {
  // CHECK: sinter.softmax %arg0 {axis = 1 : i64} : tensor<4x8xf32>
  %0 = sinter.softmax %x {axis = 1 : i64} : tensor<4x8xf32>
  // CHECK: sinter.log_softmax %arg0 {axis = 0 : i64} : tensor<4x8xf32>
  %1 = sinter.log_softmax %x {axis = 0 : i64} : tensor<4x8xf32>
  // CHECK: sinter.layer_norm %arg0, %arg1, %arg1 {axis = 1 : i64, epsilon = 1.000000e-05 : f64}
  %2 = sinter.layer_norm %x, %s, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64}
     : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: sinter.layer_norm %arg0, %arg1 {
  %3 = sinter.layer_norm %x, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64}
     : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: sinter.batch_norm %{{.*}} {epsilon = 1.000000e-05 : f64, momentum = 8.000000e-01 : f64}
  %4 = sinter.batch_norm %z, %c, %c, %c, %c {epsilon = 1.0e-5 : f64, momentum = 0.8 : f64}
     : (tensor<2x4x5xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x5xf32>
  // CHECK: sinter.batch_norm_training %arg2, %arg3, %arg3
  %5, %6, %7 = sinter.batch_norm_training %z, %c, %c {epsilon = 1.0e-5 : f64}
     : (tensor<2x4x5xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x5xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: sinter.group_norm %arg2, %arg3, %arg3
  %8 = sinter.group_norm %z, %c, %c {groups = 2 : i64, epsilon = 1.0e-5 : f64}
     : (tensor<2x4x5xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x5xf32>
  return
}
