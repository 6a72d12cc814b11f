// RUN: sinter-opt %s --verify-diagnostics --split-input-file

func.func @c1_rank(%q : tensor<3x4xf32>, %k : tensor<5x4xf32>, %v : tensor<5x6xf32>) {
  // expected-error @+1 {{'sinter.attention' op query, key and value have ranks 2, 2 and 2, expected equal ones of at least 3}}
  %0:2 = sinter.attention %q, %k, %v {scale = 0.5 : f64}
     : (tensor<3x4xf32>, tensor<5x4xf32>, tensor<5x6xf32>) -> (tensor<3x6xf32>, tensor<3xf32>)
  return
}

// -----

func.func @c1_leading(%q : tensor<2x3x4xf32>, %k : tensor<3x5x4xf32>, %v : tensor<2x5x6xf32>) {
  // expected-error @+1 {{'sinter.attention' op query, key and value differ in their leading dimensions}}
  %0:2 = sinter.attention %q, %k, %v {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<3x5x4xf32>, tensor<2x5x6xf32>) -> (tensor<2x3x6xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @c2_depth(%q : tensor<2x3x4xf32>, %k : tensor<2x5x3xf32>, %v : tensor<2x5x6xf32>) {
  // expected-error @+1 {{'sinter.attention' op query and key have last dimensions 4 and 3, expected equal ones}}
  %0:2 = sinter.attention %q, %k, %v {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<2x5x3xf32>, tensor<2x5x6xf32>) -> (tensor<2x3x6xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @c2_positions(%q : tensor<2x3x4xf32>, %k : tensor<2x5x4xf32>, %v : tensor<2x4x6xf32>) {
  // expected-error @+1 {{'sinter.attention' op key and value have 5 and 4 positions}}
  %0:2 = sinter.attention %q, %k, %v {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x4x6xf32>) -> (tensor<2x3x6xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @c2_result(%q : tensor<2x3x4xf32>, %k : tensor<2x5x4xf32>, %v : tensor<2x5x6xf32>) {
  // expected-error @+1 {{'sinter.attention' op 'output' has shape 2x3x5, expected 2x3x6}}
  %0:2 = sinter.attention %q, %k, %v {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>) -> (tensor<2x3x5xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @c2_element(%q : tensor<2x3x4xf32>, %k : tensor<2x5x4xf64>, %v : tensor<2x5x6xf32>) {
  // expected-error @+1 {{'sinter.attention' op operands and result have different element types}}
  %0:2 = sinter.attention %q, %k, %v {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<2x5x4xf64>, tensor<2x5x6xf32>) -> (tensor<2x3x6xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @c3(%q : tensor<2x3x4xf32>, %k : tensor<2x5x4xf32>, %v : tensor<2x5x6xf32>, %m : tensor<1x3x5xf32>) {
  // expected-error @+1 {{'sinter.attention' op 'mask' has shape 1x3x5, expected 2x3x5}}
  %0:2 = sinter.attention %q, %k, %v, %m {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>, tensor<1x3x5xf32>) -> (tensor<2x3x6xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @c3_stats(%q : tensor<2x3x4xf32>, %k : tensor<2x5x4xf32>, %v : tensor<2x5x6xf32>) {
  // expected-error @+1 {{'sinter.attention' op 'stats' has shape 2x5, expected 2x3}}
  %0:2 = sinter.attention %q, %k, %v {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>) -> (tensor<2x3x6xf32>, tensor<2x5xf32>)
  return
}

// -----

func.func @c4(%q : tensor<2x3x4xbf16>, %k : tensor<2x5x4xbf16>, %v : tensor<2x5x6xbf16>) {
  // expected-error @+1 {{'sinter.attention' op 'stats' has element type 'bf16', expected 'f32'}}
  %0:2 = sinter.attention %q, %k, %v {scale = 0.5 : f64}
     : (tensor<2x3x4xbf16>, tensor<2x5x4xbf16>, tensor<2x5x6xbf16>) -> (tensor<2x3x6xbf16>, tensor<2x3xbf16>)
  return
}

// -----

func.func @grad_c1(%q : tensor<2x3x4xf32>, %k : tensor<2x5x4xf32>, %y : tensor<2x3x4xf32>, %s : tensor<2x3xf32>, %dy : tensor<2x3x5xf32>) {
  // expected-error @+1 {{'sinter.attention_grad' op 'output_grad' has type 'tensor<2x3x5xf32>', expected 'tensor<2x3x4xf32>'}}
  %0:3 = sinter.attention_grad %q, %k, %k, %y, %s, %dy {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3x5xf32>)
     -> (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>)
  return
}

// -----

func.func @grad_c2(%q : tensor<2x3x4xf32>, %k : tensor<2x5x4xf32>, %y : tensor<2x3x4xf32>, %s : tensor<2x3xf32>) {
  // expected-error @+1 {{'sinter.attention_grad' op 'key_grad' has type 'tensor<2x3x4xf32>', expected 'tensor<2x5x4xf32>'}}
  %0:3 = sinter.attention_grad %q, %k, %k, %y, %s, %y {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3x4xf32>)
     -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x5x4xf32>)
  return
}

// -----

func.func @grad_c2_mask(%q : tensor<2x3x4xf32>, %k : tensor<2x5x4xf32>, %y : tensor<2x3x4xf32>, %s : tensor<2x3xf32>, %m : tensor<2x3x5xf32>) {
  // expected-error @+1 {{'sinter.attention_grad' op 'mask' and 'mask_grad' must both be present or absent}}
  %0:3 = sinter.attention_grad %q, %k, %k, %y, %s, %y, %m {scale = 0.5 : f64}
     : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3x4xf32>, tensor<2x3x5xf32>)
     -> (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>)
  return
}
