// RUN: sinter-opt %s --verify-diagnostics --split-input-file

func.func @c1_rank(%q : tensor<3x4xf32>, %k : tensor<5x4xf32>, %v : tensor<5x6xf32>) {
  // expected-error @+1 {{'sinter.attention' op query, key and value have ranks 2, 2 and 2, expected equal ones of at least 3}}
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64}
     : (tensor<3x4xf32>, tensor<5x4xf32>, tensor<5x6xf32>) -> tensor<3x6xf32>
  return
}

// -----

func.func @c1_leading(%q : tensor<2x3x4xf32>, %k : tensor<3x5x4xf32>, %v : tensor<2x5x6xf32>) {
  // expected-error @+1 {{'sinter.attention' op query, key and value differ in their leading dimensions}}
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<3x5x4xf32>, tensor<2x5x6xf32>) -> tensor<2x3x6xf32>
  return
}

// -----

func.func @c2_depth(%q : tensor<2x3x4xf32>, %k : tensor<2x5x3xf32>, %v : tensor<2x5x6xf32>) {
  // expected-error @+1 {{'sinter.attention' op query and key have last dimensions 4 and 3, expected equal ones}}
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<2x5x3xf32>, tensor<2x5x6xf32>) -> tensor<2x3x6xf32>
  return
}

// -----

func.func @c2_positions(%q : tensor<2x3x4xf32>, %k : tensor<2x5x4xf32>, %v : tensor<2x4x6xf32>) {
  // expected-error @+1 {{'sinter.attention' op key and value have 5 and 4 positions}}
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x4x6xf32>) -> tensor<2x3x6xf32>
  return
}

// -----

func.func @c2_result(%q : tensor<2x3x4xf32>, %k : tensor<2x5x4xf32>, %v : tensor<2x5x6xf32>) {
  // expected-error @+1 {{'sinter.attention' op 'result' has shape 2x3x5, expected 2x3x6}}
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @c2_element(%q : tensor<2x3x4xf32>, %k : tensor<2x5x4xf64>, %v : tensor<2x5x6xf32>) {
  // expected-error @+1 {{'sinter.attention' op operands and result have different element types}}
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<2x5x4xf64>, tensor<2x5x6xf32>) -> tensor<2x3x6xf32>
  return
}

// -----

func.func @c3(%q : tensor<2x3x4xf32>, %k : tensor<2x5x4xf32>, %v : tensor<2x5x6xf32>, %m : tensor<1x3x5xf32>) {
  // expected-error @+1 {{'sinter.attention' op 'mask' has shape 1x3x5, expected 2x3x5}}
  %0 = sinter.attention %q, %k, %v, %m {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>, tensor<1x3x5xf32>) -> tensor<2x3x6xf32>
  return
}
