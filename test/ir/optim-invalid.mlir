// RUN: sinter-opt %s --verify-diagnostics --split-input-file

func.func @sgd_c1_new(%w : tensor<4xf32>, %s : tensor<f32>) {
  // expected-error @+1 {{'sinter.sgd_update' op has a velocity, but no new one}}
  %0 = sinter.sgd_update %w, %w, %s, %s, %w {momentum = 0.9 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sgd_c1_old(%w : tensor<4xf32>, %s : tensor<f32>) {
  // expected-error @+1 {{'sinter.sgd_update' op gives a new velocity, but has none}}
  %0, %1 = sinter.sgd_update %w, %w, %s, %s {momentum = 0.9 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @sgd_c2(%w : tensor<4xf32>, %v : tensor<5xf32>, %s : tensor<f32>) {
  // expected-error @+1 {{'sinter.sgd_update' op the velocities have types 'tensor<5xf32>' and 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %0, %1 = sinter.sgd_update %w, %w, %s, %s, %v {momentum = 0.9 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<5xf32>) -> (tensor<4xf32>, tensor<5xf32>)
  return
}

// -----

func.func @sgd_grad(%w : tensor<4xf32>, %g : tensor<5xf32>, %s : tensor<f32>) {
  // expected-error @+1 {{'sinter.sgd_update' op failed to verify that all of {param, grad, new_param} have same type}}
  %0 = sinter.sgd_update %w, %g, %s, %s {momentum = 0.9 : f64} : (tensor<4xf32>, tensor<5xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @adam_c1_beta1(%w : tensor<4xf32>, %p : tensor<4xf32>, %s : tensor<f32>) {
  // expected-error @+1 {{'sinter.adam_update' op 'beta1' is}}
  %0, %1, %2 = sinter.adam_update %w, %w, %p, %w, %s, %s, %s {beta1 = 1.0 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64}
     : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adam_c1_beta2(%w : tensor<4xf32>, %p : tensor<4xf32>, %s : tensor<f32>) {
  // expected-error @+1 {{'sinter.adam_update' op 'beta2' is}}
  %0, %1, %2 = sinter.adam_update %w, %w, %p, %w, %s, %s, %s {beta1 = 0.9 : f64, beta2 = -0.5 : f64, epsilon = 1.0e-8 : f64}
     : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adam_types(%w : tensor<4xf32>, %p : tensor<5xf32>, %s : tensor<f32>) {
  // expected-error @+1 {{'sinter.adam_update' op failed to verify that all of {param, grad, m, v, new_param, new_m, new_v} have same type}}
  %0, %1, %2 = sinter.adam_update %w, %w, %p, %w, %s, %s, %s {beta1 = 0.9 : f64, beta2 = 0.5 : f64, epsilon = 1.0e-8 : f64}
     : (tensor<4xf32>, tensor<4xf32>, tensor<5xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @lamb_c1(%w : tensor<4xf32>, %s : tensor<f32>) {
  // expected-error @+1 {{'sinter.lamb_update' op 'beta1' is}}
  %0, %1, %2 = sinter.lamb_update %w, %w, %w, %w, %s, %s, %s {beta1 = 1.0 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-6 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @muon_c1(%w : tensor<4xf32>, %s : tensor<f32>) {
  // expected-error @+1 {{'sinter.muon_update' op updates}}
  %0, %1 = sinter.muon_update %w, %w, %w, %s, %s {momentum = 0.9 : f64, epsilon = 1.0e-7 : f64, steps = 5 : i64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @muon_c2(%w : tensor<4x2xf32>, %s : tensor<f32>) {
  // expected-error @+1 {{'sinter.muon_update' op 'momentum' is}}
  %0, %1 = sinter.muon_update %w, %w, %w, %s, %s {momentum = 1.0 : f64, epsilon = 1.0e-7 : f64, steps = 5 : i64} : (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<f32>, tensor<f32>) -> (tensor<4x2xf32>, tensor<4x2xf32>)
  return
}

// -----

func.func @muon_c3(%w : tensor<4x2xf32>, %s : tensor<f32>) {
  // expected-error @+1 {{'sinter.muon_update' op 'steps' is 0, expected 1 to 100}}
  %0, %1 = sinter.muon_update %w, %w, %w, %s, %s {momentum = 0.9 : f64, epsilon = 1.0e-7 : f64, steps = 0 : i64} : (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<f32>, tensor<f32>) -> (tensor<4x2xf32>, tensor<4x2xf32>)
  return
}

// -----

func.func @lion_c1(%w : tensor<4xf32>, %s : tensor<f32>) {
  // expected-error @+1 {{'sinter.lion_update' op 'beta2' is}}
  %0, %1 = sinter.lion_update %w, %w, %w, %s, %s {beta1 = 0.9 : f64, beta2 = -0.5 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @rmsprop_c1(%w : tensor<4xf32>, %s : tensor<f32>) {
  // expected-error @+1 {{'sinter.rmsprop_update' op has a velocity, but no new one}}
  %0, %1 = sinter.rmsprop_update %w, %w, %w, %s, %s, %w {alpha = 0.99 : f64, epsilon = 1.0e-8 : f64, momentum = 0.9 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @rmsprop_c3(%w : tensor<4xf32>, %s : tensor<f32>) {
  // expected-error @+1 {{'sinter.rmsprop_update' op 'alpha' is}}
  %0, %1 = sinter.rmsprop_update %w, %w, %w, %s, %s {alpha = 1.0 : f64, epsilon = 1.0e-8 : f64, momentum = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}
