// Labels that are an input of the graph and fit two axes, or none.
module @both_axes_of_four {
  sinter.state @w : tensor<4x3x5x3xf32> {role = #sinter<role param>}
  // expected-error @below {{the labels fit both the last axis (3) and axis 1 of the logits 'y', tensor<4x3x5x3xf32>; say with axis= which one has the classes}}
  func.func @main(%x: tensor<4x3x5x3xf32> {sinter.input = "x"}, %t: tensor<4x15xi64> {sinter.input = "t"}, %w: tensor<4x3x5x3xf32> {sinter.state = @w})
      -> (tensor<4x3x5x3xf32> {sinter.output = "y"}) {
    %y = sinter.mul %x, %w : tensor<4x3x5x3xf32>
    return %y : tensor<4x3x5x3xf32>
  }
}

// -----

module @no_axis {
  sinter.state @w : tensor<4x3x5x6xf32> {role = #sinter<role param>}
  // expected-error @below {{labels input 't' of type 'tensor<4x3x6xi64>' fits neither the last axis nor axis 1 of the logits 'y', 'tensor<4x3x5x6xf32>'; say with axis= which one has the classes}}
  func.func @main(%x: tensor<4x3x5x6xf32> {sinter.input = "x"}, %t: tensor<4x3x6xi64> {sinter.input = "t"}, %w: tensor<4x3x5x6xf32> {sinter.state = @w})
      -> (tensor<4x3x5x6xf32> {sinter.output = "y"}) {
    %y = sinter.mul %x, %w : tensor<4x3x5x6xf32>
    return %y : tensor<4x3x5x6xf32>
  }
}
