// RUN: sinter-opt %s --verify-diagnostics --split-input-file

func.func @c1(%x : tensor<4x10xf32>, %t : tensor<4xi64>) {
  // expected-error @+1 {{'sinter.softmax_cross_entropy' op 'axis' is 2, but the rank is 2}}
  %0 = sinter.softmax_cross_entropy %x, %t {axis = 2 : i64, label_smoothing = 0.0 : f64}
     : (tensor<4x10xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @c2_labels(%x : tensor<4x10xf32>, %t : tensor<5xi64>) {
  // expected-error @+1 {{'sinter.softmax_cross_entropy' op 'labels' has shape 5, expected 4}}
  %0 = sinter.softmax_cross_entropy %x, %t {axis = 1 : i64, label_smoothing = 0.0 : f64}
     : (tensor<4x10xf32>, tensor<5xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @c2_result(%x : tensor<4x10xf32>, %t : tensor<4xi64>) {
  // expected-error @+1 {{'sinter.softmax_cross_entropy' op 'losses' has shape scalar, expected 4}}
  %0 = sinter.softmax_cross_entropy %x, %t {axis = 1 : i64, label_smoothing = 0.0 : f64}
     : (tensor<4x10xf32>, tensor<4xi64>) -> tensor<f32>
  return
}

// -----

func.func @c2_element(%x : tensor<4x10xf32>, %t : tensor<4xi64>) {
  // expected-error @+1 {{'sinter.softmax_cross_entropy' op 'losses' have element type 'f64', expected 'f32'}}
  %0 = sinter.softmax_cross_entropy %x, %t {axis = 1 : i64, label_smoothing = 0.0 : f64}
     : (tensor<4x10xf32>, tensor<4xi64>) -> tensor<4xf64>
  return
}

// -----

func.func @c2_float_labels(%x : tensor<4x10xf32>, %t : tensor<4xf32>) {
  // expected-error @+1 {{'sinter.softmax_cross_entropy' op operand #1 must be integer tensor of static shape, but got 'tensor<4xf32>'}}
  %0 = sinter.softmax_cross_entropy %x, %t {axis = 1 : i64, label_smoothing = 0.0 : f64}
     : (tensor<4x10xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @c3(%x : tensor<4x10xf32>, %t : tensor<4xi64>) {
  // expected-error @+1 {{'sinter.softmax_cross_entropy' op 'label_smoothing' is}}
  %0 = sinter.softmax_cross_entropy %x, %t {axis = 1 : i64, label_smoothing = 1.5 : f64}
     : (tensor<4x10xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @c3_nan(%x : tensor<4x10xf32>, %t : tensor<4xi64>) {
  // expected-error @+1 {{'sinter.softmax_cross_entropy' op 'label_smoothing' is}}
  %0 = sinter.softmax_cross_entropy %x, %t {axis = 1 : i64, label_smoothing = 0x7FF8000000000000 : f64}
     : (tensor<4x10xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}
