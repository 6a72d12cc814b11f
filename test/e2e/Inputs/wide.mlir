// A weight of 2.3 MiB, trained on the data of wide.py.
sinter.state @w : tensor<4x150001xf32> {role = #sinter<role param>, trainable, init = dense<1.0> : tensor<4x150001xf32>}
func.func @main(%x: tensor<1x4xf32> {sinter.input = "x"}, %w: tensor<4x150001xf32> {sinter.state = @w})
    -> (tensor<f32> {sinter.output = "loss"}) {
  %y = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
     : (tensor<1x4xf32>, tensor<4x150001xf32>) -> tensor<1x150001xf32>
  %loss = sinter.reduce sum %y dims [0, 1] : (tensor<1x150001xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
