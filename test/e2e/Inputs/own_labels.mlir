// Two inputs, one of which is called as labels usually are; the second output is a loss of its own.
sinter.state @w : tensor<5x3xf32> {role = #sinter<role param>, trainable}
func.func @main(%x: tensor<4x3xf32> {sinter.input = "x"}, %l: tensor<4x3xf32> {sinter.input = "labels"},
                %w: tensor<5x3xf32> {sinter.state = @w})
    -> (tensor<4x5xf32> {sinter.output = "y"}, tensor<f32> {sinter.output = "loss"}) {
  %s = sinter.add %x, %l : tensor<4x3xf32>
  %y = sinter.dot_general %s, %w batch [] x [] contract [1] x [1] : (tensor<4x3xf32>, tensor<5x3xf32>) -> tensor<4x5xf32>
  %q = sinter.mul %s, %s : tensor<4x3xf32>
  %p = sinter.slice %w starts [0, 0] limits [4, 3] strides [1, 1] : (tensor<5x3xf32>) -> tensor<4x3xf32>
  %d = sinter.add %p, %q : tensor<4x3xf32>
  %sum = sinter.reduce sum %d dims [0, 1] : (tensor<4x3xf32>) -> tensor<f32>
  return %y, %sum : tensor<4x5xf32>, tensor<f32>
}
