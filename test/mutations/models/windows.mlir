// The gradient of a window with unequal padding.
module {
  func.func @main(%x: tensor<2x3x7x7xf32> {sinter.input = "x"}, %g: tensor<2x3x4x4xf32> {sinter.input = "g"}) -> (tensor<2x3x7x7xf32> {sinter.output = "y"}) {
    %y = sinter.reduce_window_grad max %x, %g {window = array<i64: 1, 1, 3, 3>, strides = array<i64: 1, 1, 2, 2>, dilations = array<i64: 1, 1, 1, 1>, pads_low = array<i64: 0, 0, 2, 2>, pads_high = array<i64: 0, 0, 1, 1>} : (tensor<2x3x7x7xf32>, tensor<2x3x4x4xf32>) -> tensor<2x3x7x7xf32> loc("pooled")
    return %y : tensor<2x3x7x7xf32>
  }
}
