// RUN: sinter-opt %s --verify-diagnostics --split-input-file

func.func @unary_c1(%x : tensor<4xf32>) {
  // expected-error @+1 {{'sinter.exp' op requires the same type for all operands and results}}
  %0 = "sinter.exp"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @unary_element(%x : tensor<4xi32>) {
  // expected-error @+1 {{'sinter.exp' op operand #0 must be float tensor of static shape, but got 'tensor<4xi32>'}}
  %0 = sinter.exp %x : tensor<4xi32>
  return
}

// -----

func.func @dynamic_shape(%x : tensor<?xf32>) {
  // expected-error @+1 {{'sinter.exp' op operand #0 must be float tensor of static shape, but got 'tensor<?xf32>'}}
  %0 = sinter.exp %x : tensor<?xf32>
  return
}

// -----

// The bytes of this shape overflow an int64, though a size is 0.
func.func @unbounded_size(%x : tensor<0x4294967296x4294967296xf32>) {
  // expected-error @+1 {{'sinter.exp' op operand #0 must be float tensor of static shape}}
  %0 = sinter.exp %x : tensor<0x4294967296x4294967296xf32>
  return
}

// -----

func.func @binary_c1(%x : tensor<4xf32>, %y : tensor<1xf32>) {
  // expected-error @+1 {{'sinter.add' op requires the same type for all operands and results}}
  %0 = "sinter.add"(%x, %y) : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @gelu_grad_c1(%x : tensor<4xf32>, %y : tensor<5xf32>) {
  // expected-error @+1 {{'sinter.gelu_grad' op requires the same type for all operands and results}}
  %0 = "sinter.gelu_grad"(%x, %y) {form = #sinter<gelu_form erf>} : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @gelu_c1(%x : tensor<4xf32>) {
  // expected-error @+1 {{'sinter.gelu' op requires the same type for all operands and results}}
  %0 = "sinter.gelu"(%x) {form = #sinter<gelu_form erf>} : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @compare_c1(%x : tensor<4xf32>, %y : tensor<4xf64>) {
  // expected-error @+1 {{'sinter.compare' op requires all operands to have the same type}}
  %0 = "sinter.compare"(%x, %y) {kind = #sinter<compare eq>} : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xi1>
  return
}

// -----

func.func @compare_c2(%x : tensor<4xf32>) {
  // expected-error @+1 {{result #0 has type 'tensor<5xi1>', expected 'tensor<4xi1>'}}
  %0 = "sinter.compare"(%x, %x) {kind = #sinter<compare eq>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xi1>
  return
}

// -----

func.func @is_nan_c1(%x : tensor<4xf32>) {
  // expected-error @+1 {{result #0 has type 'tensor<i1>', expected 'tensor<4xi1>'}}
  %0 = "sinter.is_nan"(%x) : (tensor<4xf32>) -> tensor<i1>
  return
}

// -----

func.func @where_c1(%c : tensor<4xi1>, %x : tensor<4xf32>, %y : tensor<4xi32>) {
  // expected-error @+1 {{'sinter.where' op failed to verify that all of {lhs, rhs, result} have same type}}
  %0 = "sinter.where"(%c, %x, %y) : (tensor<4xi1>, tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @where_c2(%c : tensor<i1>, %x : tensor<4xf32>) {
  // expected-error @+1 {{'sinter.where' op all non-scalar operands/results must have the same shape and base type}}
  %0 = sinter.where %c, %x, %x : tensor<i1>, tensor<4xf32>
  return
}

// -----

func.func @cast_c1(%x : tensor<4x2xf32>) {
  // expected-error @+1 {{'sinter.cast' op all non-scalar operands/results must have the same shape and base type}}
  %0 = sinter.cast %x : tensor<4x2xf32> -> tensor<8xi32>
  return
}
