// The head of a language model whose vocabulary is no multiple of 8, on multiples of 2^-7, so that sums are exact.
func.func @main(%x: tensor<768x2048xbf16> {sinter.input = "x"}, %w: tensor<1001x2048xbf16> {sinter.input = "w"})
    -> (tensor<768x1001xf32> {sinter.output = "y"}) {
  %a = sinter.cast %x : tensor<768x2048xbf16> -> tensor<768x2048xf32> loc("hidden")
  %b = sinter.cast %w : tensor<1001x2048xbf16> -> tensor<1001x2048xf32> loc("table")
  %c = sinter.dot_general %a, %b batch [] x [] contract [1] x [1]
     : (tensor<768x2048xf32>, tensor<1001x2048xf32>) -> tensor<768x1001xf32> loc("head")
  %m = sinter.reduce max %c dims [1] : (tensor<768x1001xf32>) -> tensor<768xf32> loc("largest")
  %n = sinter.broadcast %m dims [0] : tensor<768xf32> -> tensor<768x1001xf32> loc("largest")
  %y = sinter.sub %c, %n : tensor<768x1001xf32> loc("shifted")
  return %y : tensor<768x1001xf32>
}
