// RUN: sinter-opt %s --split-input-file --verify-diagnostics

// scan C1: one trip or more.
func.func @c1(%xs: tensor<4x8xf32>, %h: tensor<8xf32>) {
  // expected-error @+1 {{'sinter.scan' op 'trips' is 0, expected 1 or more}}
  %r:2 = sinter.scan trips 0 stacks(%xs) initial(%h) whole() : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  ^bb0(%x: tensor<8xf32>, %a: tensor<8xf32>):
    sinter.yield %a, %x : tensor<8xf32>, tensor<8xf32>
  }
  return
}

// -----

// scan C2: a slice for each trip.
func.func @c2(%xs: tensor<4x8xf32>, %h: tensor<8xf32>) {
  // expected-error @+1 {{'sinter.scan' op an operand in 'stacks' has type 'tensor<4x8xf32>', expected a first dimension of 5}}
  %r:2 = sinter.scan trips 5 stacks(%xs) initial(%h) whole() : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  ^bb0(%x: tensor<8xf32>, %a: tensor<8xf32>):
    sinter.yield %a, %x : tensor<8xf32>, tensor<8xf32>
  }
  return
}

// -----

// scan C2: a scalar has no slices.
func.func @c2_scalar(%x: tensor<f32>) {
  // expected-error @+1 {{'sinter.scan' op an operand in 'stacks' has type 'tensor<f32>', expected a first dimension of 1}}
  sinter.scan trips 1 stacks(%x) initial() whole() : (tensor<f32>) -> () {
  ^bb0(%a: tensor<f32>):
    sinter.yield
  }
  return
}

// -----

// scan C3: a stack gives slices.
func.func @c3_slice(%xs: tensor<4x8xf32>, %h: tensor<8xf32>) {
  // expected-error @+1 {{'sinter.scan' op the body's arguments do not have the types of the slices and of the other operands}}
  %r:2 = sinter.scan trips 4 stacks(%xs) initial(%h) whole() : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  ^bb0(%x: tensor<4x8xf32>, %a: tensor<8xf32>):
    sinter.yield %a, %a : tensor<8xf32>, tensor<8xf32>
  }
  return
}

// -----

// scan C3: an argument for each whole operand.
func.func @c3_count(%xs: tensor<4x8xf32>, %h: tensor<8xf32>) {
  // expected-error @+1 {{'sinter.scan' op the body's arguments do not have the types of the slices and of the other operands}}
  %r:2 = sinter.scan trips 4 stacks(%xs) initial(%h) whole(%h) : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  ^bb0(%x: tensor<8xf32>, %a: tensor<8xf32>):
    sinter.yield %a, %x : tensor<8xf32>, tensor<8xf32>
  }
  return
}

// -----

// scan C4: a result for each carried value.
func.func @c4_results(%xs: tensor<4x8xf32>, %h: tensor<8xf32>) {
  // expected-error @+1 {{'sinter.scan' op has 1 results, but carries 2 values}}
  %r:1 = sinter.scan trips 4 stacks(%xs) initial(%h, %h) whole() : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%x: tensor<8xf32>, %a: tensor<8xf32>, %b: tensor<8xf32>):
    sinter.yield %a, %b : tensor<8xf32>, tensor<8xf32>
  }
  return
}

// -----

// scan C4: the carried values come first.
func.func @c4_order(%xs: tensor<4x8xf32>, %h: tensor<8xf32>) {
  // expected-error @+1 {{'sinter.scan' op the first results do not have the types of the operands in 'initial'}}
  %r:2 = sinter.scan trips 4 stacks(%xs) initial(%h) whole() : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  ^bb0(%x: tensor<8xf32>, %a: tensor<8xf32>):
    sinter.yield %a, %x : tensor<8xf32>, tensor<8xf32>
  }
  return
}

// -----

// scan C4: stacked results have a slice for each trip.
func.func @c4_stacked(%xs: tensor<4x8xf32>, %h: tensor<8xf32>) {
  // expected-error @+1 {{'sinter.scan' op a stacked result has type 'tensor<5x8xf32>', expected a first dimension of 4}}
  %r:2 = sinter.scan trips 4 stacks(%xs) initial(%h) whole() : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<5x8xf32>) {
  ^bb0(%x: tensor<8xf32>, %a: tensor<8xf32>):
    sinter.yield %a, %x : tensor<8xf32>, tensor<8xf32>
  }
  return
}

// -----

// scan C4: the body yields what the next trip gets.
func.func @c4_yield(%xs: tensor<4x8xf32>, %h: tensor<8xf32>) {
  // expected-error @+1 {{'sinter.scan' op the body does not yield the types of the carried values and of the slices of the stacked results}}
  %r:2 = sinter.scan trips 4 stacks(%xs) initial(%h) whole() : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  ^bb0(%x: tensor<8xf32>, %a: tensor<8xf32>):
    sinter.yield %a : tensor<8xf32>
  }
  return
}

// -----

// the body ends with sinter.yield.
func.func @end(%h: tensor<8xf32>) {
  // expected-error @+1 {{'sinter.scan' op the body does not end with sinter.yield}}
  %r = sinter.scan trips 2 stacks() initial(%h) whole() : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = sinter.exp %a : tensor<8xf32>
  }
  return
}

// -----

// the body sees only its arguments.
func.func @isolated(%h: tensor<8xf32>, %w: tensor<8xf32>) {
  // expected-note @+1 {{required by region isolation constraints}}
  %r = sinter.scan trips 2 stacks() initial(%h) whole() : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    // expected-error @+1 {{'sinter.add' op using value defined outside the region}}
    %b = sinter.add %a, %w : tensor<8xf32>
    sinter.yield %b : tensor<8xf32>
  }
  return
}

// -----

// scan_call C1: the body is a function.
func.func @call_c1(%h: tensor<8xf32>) {
  // expected-error @+1 {{'sinter.scan_call' op 'none' is not a function}}
  %r = sinter.scan_call @none trips 2 stacks() initial(%h) whole() : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// scan_call C1: the function has the types of the body.
func.func private @body(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @call_c1_types(%h: tensor<8xf32>) {
  // expected-error @+1 {{'sinter.scan_call' op the body's arguments do not have the types of the slices and of the other operands}}
  %r = sinter.scan_call @body trips 2 stacks() initial(%h) whole() : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// scan_call C2: one trip or more.
func.func private @body(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
func.func @call_c2(%h: tensor<8xf32>) {
  // expected-error @+1 {{'sinter.scan_call' op 'trips' is 0, expected 1 or more}}
  %r = sinter.scan_call @body trips 0 stacks() initial(%h) whole() : (tensor<8xf32>) -> tensor<8xf32>
  return
}
