// Indices, and a wave along them, are too large to be folded.
func.func @main(%x: tensor<2048x2048xf32> {sinter.input = "x"}) -> (tensor<2048x2048xf32> {sinter.output = "y"}) {
  %0 = sinter.iota {axis = 1 : i64} : tensor<2048x2048xi64> loc("count")
  %1 = sinter.cast %0 : tensor<2048x2048xi64> -> tensor<2048x2048xf32> loc("count")
  %2 = sinter.sin %1 : tensor<2048x2048xf32> loc("count")
  %3 = sinter.dot_general %x, %x batch [] x [] contract [1] x [0]
      : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32> loc("before")
  %4 = sinter.add %3, %2 : tensor<2048x2048xf32> loc("before")
  %5 = sinter.dot_general %4, %2 batch [] x [] contract [1] x [0]
      : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32> loc("after")
  return %5 : tensor<2048x2048xf32>
}
