// Products of values that are known to lie in [0, 1000000] and in [0, 1000].
func.func @main(%x: tensor<8x16xf32> {sinter.input = "x"}, %w: tensor<16x16xf32> {sinter.input = "w"})
    -> (tensor<8x16xf32> {sinter.output = "y"}, tensor<8x16xf32> {sinter.output = "z"}) {
  %million = sinter.constant dense<1.0e6> : tensor<8x16xf32>
  %thousand = sinter.constant dense<1.0e3> : tensor<8x16xf32>
  %s = sinter.sigmoid %x : tensor<8x16xf32> loc("squashed")
  %0 = sinter.mul %s, %million : tensor<8x16xf32> loc("large")
  %1 = sinter.dot_general %0, %w batch [] x [] contract [1] x [0]
     : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32> loc("product.of.large")
  %2 = sinter.mul %s, %thousand : tensor<8x16xf32> loc("small")
  %3 = sinter.dot_general %2, %w batch [] x [] contract [1] x [0]
     : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32> loc("product.of.small")
  return %1, %3 : tensor<8x16xf32>, tensor<8x16xf32>
}
