// RUN: sinter-opt %s --sinter-build-training --split-input-file --verify-diagnostics

// expected-error @below {{training needs a function @main with a body}}
module @empty {
}

// -----

module @two_outputs {
  sinter.state @w : tensor<3xf32> {role = #sinter<role param>}
  // expected-error @below {{the model has several float outputs ('a', 'b'); say which, for example --loss=cross-entropy:logits=a}}
  func.func @main(%x: tensor<4x3xf32> {sinter.input = "x"}, %w: tensor<3xf32> {sinter.state = @w})
      -> (tensor<4x3xf32> {sinter.output = "a"}, tensor<4x3xf32> {sinter.output = "b"}) {
    return %x, %x : tensor<4x3xf32>, tensor<4x3xf32>
  }
}

// -----

module @nothing_to_train {
  sinter.state @w : tensor<3xf32> {role = #sinter<role param>}
  // expected-error @below {{nothing to train: the loss depends on no trainable initializer}}
  func.func @main(%x: tensor<4x3xf32> {sinter.input = "x"}, %w: tensor<3xf32> {sinter.state = @w})
      -> (tensor<4x3xf32> {sinter.output = "y"}) {
    return %x : tensor<4x3xf32>
  }
}

// -----

module @rank_one {
  sinter.state @w : tensor<4xf32> {role = #sinter<role param>}
  // expected-error @below {{cross-entropy needs logits of rank 2 or more; output 'y' has rank 1}}
  func.func @main(%x: tensor<4xf32> {sinter.input = "x"}, %w: tensor<4xf32> {sinter.state = @w})
      -> (tensor<4xf32> {sinter.output = "y"}) {
    %y = sinter.mul %x, %w : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}

// -----

module @one_class {
  sinter.state @w : tensor<4x1xf32> {role = #sinter<role param>}
  // expected-error @below {{output 'y' has one class along axis 1, whose cross-entropy is always 0; bce takes one logit per label}}
  func.func @main(%x: tensor<4x1xf32> {sinter.input = "x"}, %w: tensor<4x1xf32> {sinter.state = @w})
      -> (tensor<4x1xf32> {sinter.output = "y"}) {
    %y = sinter.mul %x, %w : tensor<4x1xf32>
    return %y : tensor<4x1xf32>
  }
}

// -----

module @no_gradient {
  sinter.state @w : tensor<4x3xf32> {role = #sinter<role param>}
  func.func @main(%x: tensor<4x3xf32> {sinter.input = "x"}, %w: tensor<4x3xf32> {sinter.state = @w})
      -> (tensor<4x3xf32> {sinter.output = "y"}) {
    // expected-error @below {{'sinter.reduce_window_grad' has no gradient of second order for kind max, but the loss depends on a trainable value through it}}
    %g = sinter.reduce_window_grad max %x, %w {window = array<i64: 1, 1>, strides = array<i64: 1, 1>,
        dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>}
      : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    // expected-error @below {{'sinter.copy' has no gradient, but the loss depends on a trainable value through it}}
    %y = sinter.copy %g to 0 : tensor<4x3xf32>
    return %y : tensor<4x3xf32>
  }
}

// -----

module @mixes_rows {
  sinter.state @w : tensor<3x3xf32> {role = #sinter<role param>}
  func.func @main(%x: tensor<4x3xf32> {sinter.input = "x"}, %w: tensor<3x3xf32> {sinter.state = @w})
      -> (tensor<4x3xf32> {sinter.output = "y"}) {
    %p = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
      : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
    // expected-error @below {{mixes the rows of a batch}}
    %m = sinter.reduce max %p dims [0] : (tensor<4x3xf32>) -> tensor<3xf32>
    %b = sinter.broadcast %m dims [1] : tensor<3xf32> -> tensor<4x3xf32>
    %y = sinter.sub %p, %b : tensor<4x3xf32>
    return %y : tensor<4x3xf32>
  }
}

// -----

// What no choice of a loss would make work is said with the choice.
module @two_outputs_without_gradient {
  sinter.state @w : tensor<3xf32> {role = #sinter<role param>}
  // expected-error @below {{the model has several float outputs ('a', 'b'); say which, for example --loss=cross-entropy:logits=a}}
  func.func @main(%x: tensor<3xf32> {sinter.input = "x"}, %w: tensor<3xf32> {sinter.state = @w})
      -> (tensor<3xf32> {sinter.output = "a"}, tensor<3xf32> {sinter.output = "b"}) {
    // expected-error @below {{'sinter.copy' has no gradient, but the loss depends on a trainable value through it}}
    %a = sinter.copy %w to 0 : tensor<3xf32>
    %b = sinter.mul %a, %x : tensor<3xf32>
    return %a, %b : tensor<3xf32>, tensor<3xf32>
  }
}

// -----

module @one_output_with_gradient {
  sinter.state @w : tensor<3xf32> {role = #sinter<role param>}
  // expected-error @below {{the model has several float outputs ('a', 'b'); say which, for example --loss=cross-entropy:logits=a}}
  func.func @main(%x: tensor<3xf32> {sinter.input = "x"}, %w: tensor<3xf32> {sinter.state = @w})
      -> (tensor<3xf32> {sinter.output = "a"}, tensor<3xf32> {sinter.output = "b"}) {
    %a = sinter.copy %w to 0 : tensor<3xf32>
    %b = sinter.mul %w, %x : tensor<3xf32>
    return %a, %b : tensor<3xf32>, tensor<3xf32>
  }
}

// -----

// Labels of one shape are left by both axes, whether the graph has them or not.
module @both_axes {
  sinter.state @w : tensor<4x3x3xf32> {role = #sinter<role param>}
  // expected-error @below {{labels of one shape fit both the last axis (2) and axis 1 of the logits 'y', tensor<4x3x3xf32>; say with axis= which one has the classes}}
  func.func @main(%x: tensor<4x3x3xf32> {sinter.input = "x"}, %w: tensor<4x3x3xf32> {sinter.state = @w})
      -> (tensor<4x3x3xf32> {sinter.output = "y"}) {
    %y = sinter.mul %x, %w : tensor<4x3x3xf32>
    return %y : tensor<4x3x3xf32>
  }
}
