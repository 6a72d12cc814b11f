// A product with few results and long sums.
module {
  func.func @main(%a: tensor<4096x8xf32> {sinter.input = "a"}, %b: tensor<4096x8xf32> {sinter.input = "b"}) -> (tensor<8x8xf32> {sinter.output = "y"}) {
    %exp = sinter.exp %a : tensor<4096x8xf32> loc("exp")
    %product = sinter.dot_general %exp, %b batch [] x [] contract [0] x [0] : (tensor<4096x8xf32>, tensor<4096x8xf32>) -> tensor<8x8xf32> loc("product")
    return %product : tensor<8x8xf32>
  }
}
