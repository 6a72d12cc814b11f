// A product whose sizes are all equal, of a transposed operand.
module {
  func.func @main(%x: tensor<16x16xf32> {sinter.input = "x"}, %w: tensor<16x16xf32> {sinter.input = "w"}) -> (tensor<16x16xf32> {sinter.output = "y"}) {
    %turned = sinter.transpose %w perm [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32> loc("turned")
    %product = sinter.dot_general %x, %turned batch [] x [] contract [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc("product")
    %half = sinter.constant dense<0.3> : tensor<16x16xf32> loc("half")
    %scaled = sinter.mul %product, %half : tensor<16x16xf32> loc("scaled")
    return %scaled : tensor<16x16xf32>
  }
}
