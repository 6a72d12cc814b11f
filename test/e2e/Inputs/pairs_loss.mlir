// A loss over all pairs of rows.
sinter.state @w : tensor<3x3xf32> {role = #sinter<role param>, trainable}
func.func @main(%x: tensor<4x3xf32> {sinter.input = "x"}, %w: tensor<3x3xf32> {sinter.state = @w})
    -> (tensor<f32> {sinter.output = "loss"}) {
  %e = sinter.dot_general %x, %w batch [] x [] contract [1] x [1] : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32> loc("embed")
  %p = sinter.dot_general %e, %x batch [] x [] contract [1] x [1] : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x4xf32> loc("pairs")
  %l = sinter.reduce sum %p dims [0, 1] : (tensor<4x4xf32>) -> tensor<f32> loc("all")
  return %l : tensor<f32>
}
