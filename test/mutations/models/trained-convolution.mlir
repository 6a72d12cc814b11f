// A trained convolution whose padding differs from side to side.
module {
  sinter.state @f : tensor<3x2x2x2xf32> {role = #sinter<role param>, trainable, onnx = "f", init = dense<[[[[0.1, -0.2], [0.3, 0.4]], [[-0.5, 0.6], [0.2, 0.1]]], [[[0.7, 0.2], [-0.3, 0.5]], [[0.1, -0.4], [0.6, 0.2]]], [[[-0.6, 0.3], [0.2, 0.1]], [[0.4, 0.5], [-0.1, 0.3]]]]> : tensor<3x2x2x2xf32>}
  func.func @main(%x: tensor<2x2x5x5xf32> {sinter.input = "x"}, %f: tensor<3x2x2x2xf32> {sinter.state = @f}) -> (tensor<2x3x5x5xf32> {sinter.output = "y"}) {
    %convolved = sinter.conv %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x2x5x5xf32>, tensor<3x2x2x2xf32>) -> tensor<2x3x5x5xf32> loc("convolved")
    return %convolved : tensor<2x3x5x5xf32>
  }
}
