// The gradient of %w multiplies fp16: %c times the loss scale overflows now and then.
sinter.state @w : tensor<4x1xf32> {role = #sinter<role param>, trainable, init = dense<1.0> : tensor<4x1xf32>}
func.func @main(%x: tensor<8x4xf32> {sinter.input = "x"}, %c: tensor<8x1xf32> {sinter.input = "c"},
                %w: tensor<4x1xf32> {sinter.state = @w})
    -> (tensor<f32> {sinter.output = "loss"}) {
  %y = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
     : (tensor<8x4xf32>, tensor<4x1xf32>) -> tensor<8x1xf32>
  %l = sinter.mul %y, %c : tensor<8x1xf32>
  %loss = sinter.reduce sum %l dims [0, 1] : (tensor<8x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
