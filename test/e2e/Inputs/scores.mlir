// Five scores for each of four rows, from zeros.
sinter.state @w : tensor<5x3xf32> {role = #sinter<role param>, trainable}
func.func @main(%x: tensor<4x3xf32> {sinter.input = "x"}, %w: tensor<5x3xf32> {sinter.state = @w})
    -> (tensor<4x5xf32> {sinter.output = "y"}) {
  %y = sinter.dot_general %x, %w batch [] x [] contract [1] x [1] : (tensor<4x3xf32>, tensor<5x3xf32>) -> tensor<4x5xf32>
  return %y : tensor<4x5xf32>
}
