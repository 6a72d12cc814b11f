// A product that is scaled twice: no call of oneDNN can do both.
func.func @main(%x: tensor<16x16xf32> {sinter.input = "x"}, %w: tensor<16x16xf32> {sinter.input = "w"})
    -> (tensor<16x16xf32> {sinter.output = "y"}) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
     : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc("product")
  %c = sinter.constant dense<3.3e-6> : tensor<16x16xf32> loc("small")
  %1 = sinter.mul %0, %c : tensor<16x16xf32> loc("small")
  %d = sinter.constant dense<1.0e7> : tensor<16x16xf32> loc("large")
  %2 = sinter.mul %1, %d : tensor<16x16xf32> loc("large")
  return %2 : tensor<16x16xf32>
}
