// RUN: sinter-opt %s --verify-diagnostics --split-input-file

func.func @c1(%a : tensor<4x8xf32>, %b : tensor<8x3xf16>) {
  // expected-error @+1 {{'sinter.dot_general' op operands have element types 'f32' and 'f16', expected equal ones}}
  %c = sinter.dot_general %a, %b batch [] x [] contract [1] x [0]
     : (tensor<4x8xf32>, tensor<8x3xf16>) -> tensor<4x3xf32>
  return
}

// -----

func.func @c2_batch_pairs(%a : tensor<4x8xf32>, %b : tensor<8x3xf32>) {
  // expected-error @+1 {{'sinter.dot_general' op has 1 batch dimensions of lhs, but 0 of rhs}}
  %c = sinter.dot_general %a, %b batch [0] x [] contract [1] x [0]
     : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @c2_contract_pairs(%a : tensor<4x8xf32>, %b : tensor<8x3xf32>) {
  // expected-error @+1 {{'sinter.dot_general' op has 1 contracted dimensions of lhs, but 0 of rhs}}
  %c = sinter.dot_general %a, %b batch [] x [] contract [1] x []
     : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @c2_distinct(%a : tensor<4x4xf32>, %b : tensor<4x4xf32>) {
  // expected-error @+1 {{'sinter.dot_general' op 'lhs dimensions' holds 1 twice}}
  %c = sinter.dot_general %a, %b batch [1] x [0] contract [1] x [1]
     : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @c2_range(%a : tensor<4x4xf32>, %b : tensor<4x4xf32>) {
  // expected-error @+1 {{'sinter.dot_general' op 'rhs dimensions' holds -1, but the rank is 2}}
  %c = sinter.dot_general %a, %b batch [] x [] contract [1] x [-1]
     : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @c2_sizes(%a : tensor<4x8xf32>, %b : tensor<7x3xf32>) {
  // expected-error @+1 {{'sinter.dot_general' op paired contracted dimensions 1 and 0 have sizes 8 and 7}}
  %c = sinter.dot_general %a, %b batch [] x [] contract [1] x [0]
     : (tensor<4x8xf32>, tensor<7x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @result(%a : tensor<4x8xf32>, %b : tensor<8x3xf32>) {
  // expected-error @+1 {{result #0 has type 'tensor<3x4xf32>', expected 'tensor<4x3xf32>'}}
  %c = sinter.dot_general %a, %b batch [] x [] contract [1] x [0]
     : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<3x4xf32>
  return
}
