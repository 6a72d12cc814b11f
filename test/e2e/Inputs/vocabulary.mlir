// The logits of a large vocabulary: more than 32 MiB for four rows.
sinter.state @w : tensor<4608x8xf32> {role = #sinter<role param>, init = dense<0.0> : tensor<4608x8xf32>, trainable}
func.func @main(%x: tensor<4x512x8xf32> {sinter.input = "x"}, %w: tensor<4608x8xf32> {sinter.state = @w})
    -> (tensor<4x512x4608xf32> {sinter.output = "y"}) {
  %t = sinter.tanh %x : tensor<4x512x8xf32>
  %y = sinter.dot_general %t, %w batch [] x [] contract [2] x [1] : (tensor<4x512x8xf32>, tensor<4608x8xf32>) -> tensor<4x512x4608xf32>
  return %y : tensor<4x512x4608xf32>
}
