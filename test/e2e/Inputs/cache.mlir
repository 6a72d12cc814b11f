module @cache {
  func.func @main(%x: tensor<1x64xf32> {sinter.input = "x"}, %keys: tensor<50x64xf32> {sinter.input = "keys"}, %values: tensor<50x64xf32> {sinter.input = "values"},
                  %rows: tensor<1x3x64xf32> {sinter.input = "rows"})
      -> (tensor<1x64xf32> {sinter.output = "y"}, tensor<3x50xf32> {sinter.output = "more"}) {
    %w = sinter.constant dense<0.125> : tensor<64x64xf32>
    %q = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32> loc("q")
    %scores = sinter.dot_general %q, %keys batch [] x [] contract [1] x [1] : (tensor<1x64xf32>, tensor<50x64xf32>) -> tensor<1x50xf32> loc("scores")
    %sum = sinter.dot_general %scores, %values batch [] x [] contract [1] x [0] : (tensor<1x50xf32>, tensor<50x64xf32>) -> tensor<1x64xf32> loc("sum")
    %y = sinter.dot_general %sum, %w batch [] x [] contract [1] x [0] : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32> loc("y")
    %r = sinter.reshape %rows : tensor<1x3x64xf32> -> tensor<3x64xf32>
    %more = sinter.dot_general %r, %keys batch [] x [] contract [1] x [1] : (tensor<3x64xf32>, tensor<50x64xf32>) -> tensor<3x50xf32> loc("more")
    return %y, %more : tensor<1x64xf32>, tensor<3x50xf32>
  }
}
