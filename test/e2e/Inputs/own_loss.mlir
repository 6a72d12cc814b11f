// A loss of the graph's own: the mean over rows and columns of squares, half of that and 1 more.
sinter.state @w : tensor<3xf32> {role = #sinter<role param>, trainable}
func.func @main(%x: tensor<4x3xf32> {sinter.input = "x"}, %w: tensor<3xf32> {sinter.state = @w})
    -> (tensor<f32> {sinter.output = "loss"}) {
  %s = sinter.broadcast %w dims [1] : tensor<3xf32> -> tensor<4x3xf32>
  %d = sinter.sub %x, %s : tensor<4x3xf32>
  %q = sinter.mul %d, %d : tensor<4x3xf32>
  %r = sinter.reduce sum %q dims [1] : (tensor<4x3xf32>) -> tensor<4xf32>
  %t = sinter.reduce sum %r dims [0] : (tensor<4xf32>) -> tensor<f32>
  %n = sinter.constant dense<2.4e+01> : tensor<f32>
  %m = sinter.div %t, %n : tensor<f32>
  %one = sinter.constant dense<1.0> : tensor<f32>
  %loss = sinter.add %m, %one : tensor<f32>
  return %loss : tensor<f32>
}
