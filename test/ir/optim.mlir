// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: @updates
func.func @updates(%w : tensor<4xf32>, %lr : tensor<f32>, %wd : tensor<f32>, %t : tensor<f32>) {
  // CHECK: sinter.sgd_update %arg0, %arg0, %arg1, %arg2 {momentum = 0.000000e+00 : f64}
  %0 = sinter.sgd_update %w, %w, %lr, %wd {momentum = 0.0 : f64}
     : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: sinter.sgd_update %arg0, %arg0, %arg1, %arg2, %arg0 {momentum = {{.*}} : f64, nesterov}
  %1, %2 = sinter.sgd_update %w, %w, %lr, %wd, %w {momentum = 0.9 : f64, nesterov}
     : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK: sinter.adam_update %arg0, %arg0, %arg0, %arg0, %arg1, %arg2, %arg3
  %3, %4, %5 = sinter.adam_update %w, %w, %w, %w, %lr, %wd, %t
       {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, decoupled}
     : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>,
        tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}
