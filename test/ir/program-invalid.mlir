// RUN: sinter-opt %s --verify-diagnostics --split-input-file

// expected-error @+1 {{'sinter.state' op has type 'tensor<?xf32>', expected a tensor of static shape}}
sinter.state @w : tensor<?xf32> {role = #sinter<role param>}

// -----

// expected-error @+1 {{'sinter.state' op a state of role slot needs 'slot', its name}}
sinter.state @c1_slot : tensor<4xf32> {role = #sinter<role slot>}

// -----

sinter.state @w : tensor<4xf32> {role = #sinter<role param>}
// expected-error @+1 {{'sinter.state' op a state of role buffer has no 'of' and no 'slot'}}
sinter.state @c1_buffer : tensor<4xf32> {role = #sinter<role buffer>, of = @w}

// -----

sinter.state @b : tensor<4xf32> {role = #sinter<role buffer>}
// expected-error @+1 {{'sinter.state' op 'of' names @b, which is not a state of role param}}
sinter.state @c2 : tensor<4xf32> {role = #sinter<role slot>, slot = "m", of = @b}

// -----

// expected-error @+1 {{'sinter.state' op 'init' has type 'tensor<5xf32>', expected 'tensor<4xf32>'}}
sinter.state @c3 : tensor<4xf32> {role = #sinter<role param>, init = dense<0.0> : tensor<5xf32>}

// -----

// expected-error @+1 {{'sinter.state' op a state of role rounded needs 'of', and has no 'slot' and no 'init'}}
sinter.state @c4_of : tensor<4xbf16> {role = #sinter<role rounded>}

// -----

sinter.state @w : tensor<4xf32> {role = #sinter<role param>}
// expected-error @+1 {{'sinter.state' op has type 'tensor<4xf32>', expected 16-bit floats}}
sinter.state @c4_type : tensor<4xf32> {role = #sinter<role rounded>, of = @w}

// -----

sinter.state @w : tensor<4x8xf32> {role = #sinter<role param>}
// expected-error @+1 {{'sinter.state' op has type 'tensor<3x8xbf16>', which does not hold @w of type 'tensor<4x8xf32>'}}
sinter.state @c4_rows : tensor<3x8xbf16> {role = #sinter<role rounded>, of = @w}

// -----

sinter.state @w : tensor<4x8xf32> {role = #sinter<role param>}
sinter.state @r : tensor<6x8xbf16> {role = #sinter<role rounded>, of = @w}
// expected-error @+1 {{argument 0: attribute 'sinter.state' names @r of type 'tensor<6x8xbf16>', but the argument has type 'tensor<4x8xbf16>'}}
func.func @c4_argument(%r : tensor<4x8xbf16> {sinter.state = @r}) -> (tensor<4x8xbf16> {sinter.state = @r}) {
  return %r : tensor<4x8xbf16>
}

// -----

// expected-error @+1 {{argument 0: attribute 'sinter.state' names @w, which is not a sinter.state}}
func.func @unknown_state(%w : tensor<4xf32> {sinter.state = @w}) {
  return
}

// -----

sinter.state @w : tensor<5xf32> {role = #sinter<role param>}
// expected-error @+1 {{argument 0: attribute 'sinter.state' names @w of type 'tensor<5xf32>', but the argument has type 'tensor<4xf32>'}}
func.func @state_argument_type(%w : tensor<4xf32> {sinter.state = @w}) {
  return
}

// -----

sinter.state @w : tensor<5xf32> {role = #sinter<role param>}
// expected-error @+1 {{result 0: attribute 'sinter.state' names @w of type 'tensor<5xf32>', but the result has type 'tensor<4xf32>'}}
func.func @state_result_type(%w : tensor<4xf32>) -> (tensor<4xf32> {sinter.state = @w}) {
  return %w : tensor<4xf32>
}

// -----

// expected-error @+1 {{argument 0: attribute 'sinter.state' must be a symbol reference}}
func.func @state_string(%w : tensor<4xf32> {sinter.state = "w"}) {
  return
}

// -----

// expected-error @+1 {{argument 0: attribute 'sinter.input' must be a string}}
func.func @input_symbol(%w : tensor<4xf32> {sinter.input = @w}) {
  return
}

// -----

// expected-error @+1 {{attribute 'sinter.model' must be a string}}
module attributes {sinter.model = 3 : i32} {
}

// -----

func.func @fusion_c1(%x : tensor<4xf32>) {
  // expected-error @+1 {{'sinter.kernel' op the body's arguments do not have the types of the operands}}
  %0 = sinter.kernel loop(%x) over <[4] views [(d0) -> (d0)]> : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a : tensor<5xf32>, %b : tensor<4xf32>):
    sinter.yield %b : tensor<4xf32>
  }
  return
}

// -----

func.func @fusion_c2(%x : tensor<4xf32>) {
  // expected-error @+1 {{'sinter.kernel' op the yielded values do not have the types of the results}}
  %0 = sinter.kernel loop(%x) over <[4] views [(d0) -> (d0)]> : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a : tensor<4xf32>):
    sinter.yield
  }
  return
}

// -----

func.func @yield_parent() {
  // expected-error @+1 {{'sinter.yield' op}}
  sinter.yield
}

// -----

// copy C1: a device that there is.
func.func @copy(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{names device 1 of 1}}
  %y = sinter.copy %x to 1 : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// after C1: something to wait for.
func.func @after(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{waits for nothing}}
  %y = "sinter.after"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// C5: a part of a slot or parameter.
// expected-error @+1 {{'sinter.state' op has type 'tensor<4xf32>', which cannot be a part of a slot or parameter of type 'tensor<2x4xf32>'}}
sinter.state @buffer : tensor<4xf32> {role = #sinter<role buffer>, part_of = tensor<2x4xf32>}

// -----

// expected-error @+1 {{'sinter.state' op has type 'tensor<9xf32>', which cannot be a part of a slot or parameter of type 'tensor<2x4xf32>'}}
sinter.state @longer : tensor<9xf32> {role = #sinter<role slot>, slot = "m", part_of = tensor<2x4xf32>}

// -----

// expected-error @+1 {{'sinter.state' op has type 'tensor<4xf64>', which cannot be a part of a slot or parameter of type 'tensor<2x4xf32>'}}
sinter.state @wider : tensor<4xf64> {role = #sinter<role slot>, slot = "m", part_of = tensor<2x4xf32>}

// -----

// C3: the whole parameter has an initial value.
// expected-error @+1 {{'sinter.state' op 'init' has type 'tensor<4xf32>', expected 'tensor<2x4xf32>'}}
sinter.state @part : tensor<4xf32> {role = #sinter<role param>, init = dense<1.0> : tensor<4xf32>, part_of = tensor<2x4xf32>}
