// RUN: sinter-opt %s --sinter-plan-memory --split-input-file --verify-diagnostics

func.func @no_fusion(%x: tensor<4xf32> {sinter.input = "x"}) -> (tensor<4xf32> {sinter.output = "y"}) {
  // expected-error @below {{'sinter.relu' is in no fusion}}
  %y = sinter.relu %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{argument 0 names no input, state or control field}}
func.func @unnamed_argument(%x: tensor<4xf32>) -> (tensor<4xf32> {sinter.output = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{result 0 names no output or state}}
func.func @unnamed_result(%x: tensor<4xf32> {sinter.input = "x"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{argument 0: there is no control field "momentum"}}
func.func @no_such_control(%x: tensor<f32> {sinter.control = "momentum"}) -> (tensor<f32> {sinter.output = "y"}) {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{argument 0: control field "lr" has 4 bytes, not those of 'tensor<i64>'}}
func.func @control_type(%x: tensor<i64> {sinter.control = "lr"}) -> (tensor<i64> {sinter.output = "y"}) {
  return %x : tensor<i64>
}

// -----

sinter.state @w : tensor<4xf32> {role = #sinter<role param>}
// expected-error @below {{has two results for the state @w}}
func.func @two_updates(%w: tensor<4xf32> {sinter.state = @w}, %x: tensor<4xf32> {sinter.input = "x"})
    -> (tensor<4xf32> {sinter.state = @w}, tensor<4xf32> {sinter.state = @w}) {
  return %x, %w : tensor<4xf32>, tensor<4xf32>
}

// -----

// The two contracted dimensions lie in another order in the other operand.
func.func @no_matmul(%a: tensor<4x5x6xf32> {sinter.input = "a"}, %b: tensor<6x5x7xf32> {sinter.input = "b"})
    -> (tensor<4x7xf32> {sinter.output = "y"}) {
  // expected-error @below {{cannot call a library for this matmul: its dimensions cannot be joined to one stride each for m, n and k}}
  %y = sinter.library_call matmul(%a, %b) : (tensor<4x5x6xf32>, tensor<6x5x7xf32>) -> tensor<4x7xf32> {
  ^bb0(%0: tensor<4x5x6xf32>, %1: tensor<6x5x7xf32>):
    %2 = sinter.dot_general %0, %1 batch [] x [] contract [1, 2] x [1, 0] : (tensor<4x5x6xf32>, tensor<6x5x7xf32>) -> tensor<4x7xf32>
    sinter.yield %2 : tensor<4x7xf32>
  }
  return %y : tensor<4x7xf32>
}

// -----

func.func @no_post_op(%a: tensor<4x5xf32> {sinter.input = "a"}, %b: tensor<5x7xf32> {sinter.input = "b"})
    -> (tensor<4x7xf32> {sinter.output = "y"}) {
  // expected-error @below {{cannot call a library for this matmul: 'sinter.exp' is not a post-op}}
  %y = sinter.library_call matmul(%a, %b) : (tensor<4x5xf32>, tensor<5x7xf32>) -> tensor<4x7xf32> {
  ^bb0(%0: tensor<4x5xf32>, %1: tensor<5x7xf32>):
    %2 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [0] : (tensor<4x5xf32>, tensor<5x7xf32>) -> tensor<4x7xf32>
    %3 = sinter.exp %2 : tensor<4x7xf32>
    sinter.yield %3 : tensor<4x7xf32>
  }
  return %y : tensor<4x7xf32>
}

// -----

func.func @prologue(%a: tensor<4x5xf32> {sinter.input = "a"}, %b: tensor<5x7xf32> {sinter.input = "b"})
    -> (tensor<4x7xf32> {sinter.output = "y"}) {
  // expected-error @below {{cannot call a library for this matmul: 'sinter.exp' computes an operand inside of it}}
  %y = sinter.library_call matmul(%a, %b) : (tensor<4x5xf32>, tensor<5x7xf32>) -> tensor<4x7xf32> {
  ^bb0(%0: tensor<4x5xf32>, %1: tensor<5x7xf32>):
    %2 = sinter.exp %0 : tensor<4x5xf32>
    %3 = sinter.dot_general %2, %1 batch [] x [] contract [1] x [0] : (tensor<4x5xf32>, tensor<5x7xf32>) -> tensor<4x7xf32>
    sinter.yield %3 : tensor<4x7xf32>
  }
  return %y : tensor<4x7xf32>
}

// -----

func.func @main(%h: tensor<4xf32> {sinter.input = "h"}) -> (tensor<4xf32> {sinter.output = "y"}) {
  // expected-error @+1 {{a scan of 4194305 trips of 1 commands is not supported: at most 4194304 commands in all trips}}
  %y = sinter.scan_call @main.scan0 trips 4194305 stacks() initial(%h) whole() : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @main.scan0(%h: tensor<4xf32> {sinter.input = "in0"}) -> (tensor<4xf32> {sinter.output = "out0"}) {
  %0 = sinter.kernel loop(%h) over <[4] views [(d0) -> (d0)]> : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    %1 = sinter.neg %x : tensor<4xf32>
    sinter.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
