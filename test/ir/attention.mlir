// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: @attention
func.func @attention(%q : tensor<2x3x4xf32>, %k : tensor<2x5x4xf32>, %v : tensor<2x5x6xf32>, %m : tensor<2x3x5xf32>) {
  // CHECK: sinter.attention %arg0, %arg1, %arg2 {causal, scale = 5.000000e-01 : f64}
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64, causal}
     : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>) -> tensor<2x3x6xf32>
  // CHECK: sinter.attention %arg0, %arg1, %arg2, %arg3 {scale = 5.000000e-01 : f64}
  %1 = sinter.attention %q, %k, %v, %m {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>, tensor<2x3x5xf32>) -> tensor<2x3x6xf32>
  return
}
