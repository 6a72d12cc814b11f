// Every second of five rows, times a matrix: the rows of one batch reach into the next.
module @strided_rows attributes {sinter.model = "strided_rows"} {
  func.func @main(%x: tensor<4x5x8xf32> {sinter.input = "x"}, %w: tensor<8x3xf32> {sinter.input = "w"})
      -> (tensor<4x3x3xf32> {sinter.output = "y"}, tensor<4x8x6xf32> {sinter.output = "z"}) {
    %rows = sinter.slice %x starts [0, 0, 0] limits [4, 5, 8] strides [1, 2, 1] : (tensor<4x5x8xf32>) -> tensor<4x3x8xf32> loc("rows")
    %y = sinter.dot_general %rows, %w batch [] x [] contract [2] x [0] : (tensor<4x3x8xf32>, tensor<8x3xf32>) -> tensor<4x3x3xf32> loc("product")
    %q = sinter.concat %y, %y axis 2 : (tensor<4x3x3xf32>, tensor<4x3x3xf32>) -> tensor<4x3x6xf32> loc("both")
    %z = sinter.dot_general %rows, %q batch [0] x [0] contract [1] x [1] : (tensor<4x3x8xf32>, tensor<4x3x6xf32>) -> tensor<4x8x6xf32> loc("transposed")
    return %y, %z : tensor<4x3x3xf32>, tensor<4x8x6xf32>
  }
}
