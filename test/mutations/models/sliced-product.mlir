// A product that reads a part of a tensor.
module {
  func.func @main(%a: tensor<16x24xf32> {sinter.input = "a"}, %b: tensor<8x16xf32> {sinter.input = "b"}) -> (tensor<16x16xf32> {sinter.output = "y"}) {
    %part = sinter.slice %a starts [0, 8] limits [16, 16] strides [1, 1] : (tensor<16x24xf32>) -> tensor<16x8xf32> loc("part")
    %product = sinter.dot_general %part, %b batch [] x [] contract [1] x [0] : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32> loc("product")
    return %product : tensor<16x16xf32>
  }
}
