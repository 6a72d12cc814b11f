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

// CHECK-LABEL: @muon
func.func @muon(%w : tensor<4x2xf32>, %s : tensor<f32>) {
  // CHECK: sinter.muon_update %arg0, %arg0, %arg0, %arg1, %arg1 {epsilon = {{.*}} : f64, momentum = {{.*}} : f64, nesterov, steps = 5 : i64}
  %0, %1 = sinter.muon_update %w, %w, %w, %s, %s
       {momentum = 0.95 : f64, nesterov, epsilon = 1.0e-7 : f64, steps = 5 : i64}
     : (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<f32>, tensor<f32>)
    -> (tensor<4x2xf32>, tensor<4x2xf32>)
  return
}
