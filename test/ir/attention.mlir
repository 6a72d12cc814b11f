// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: @attention
func.func @attention(%q : tensor<2x3x4xf32>, %k : tensor<2x5x4xf32>, %v : tensor<2x5x6xf32>, %m : tensor<2x3x5xf32>) {
  // CHECK: sinter.attention %arg0, %arg1, %arg2 {causal, scale = 5.000000e-01 : f64}
  %0:2 = sinter.attention %q, %k, %v {scale = 0.5 : f64, causal}
     : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>) -> (tensor<2x3x6xf32>, tensor<2x3xf32>)
  // CHECK: sinter.attention %arg0, %arg1, %arg2, %arg3 {scale = 5.000000e-01 : f64}
  %1:2 = sinter.attention %q, %k, %v, %m {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>, tensor<2x3x5xf32>) -> (tensor<2x3x6xf32>, tensor<2x3xf32>)
  // CHECK: sinter.attention_grad %arg0, %arg1, %arg2, %output, %stats, %output {causal, scale = 5.000000e-01 : f64}
  %2:3 = sinter.attention_grad %q, %k, %v, %0#0, %0#1, %0#0 {scale = 0.5 : f64, causal}
     : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>, tensor<2x3x6xf32>, tensor<2x3xf32>, tensor<2x3x6xf32>)
     -> (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>)
  // CHECK: sinter.attention_grad %arg0, %arg1, %arg2, %output_0, %stats_1, %output_0, %arg3 {scale = 5.000000e-01 : f64}
  %3:4 = sinter.attention_grad %q, %k, %v, %1#0, %1#1, %1#0, %m {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>, tensor<2x3x6xf32>, tensor<2x3xf32>, tensor<2x3x6xf32>,
        tensor<2x3x5xf32>) -> (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>, tensor<2x3x5xf32>)
  return
}
