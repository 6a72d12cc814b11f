module @attention_few {
  func.func @main(%q: tensor<1x3x4x32xf32> {sinter.input = "q"}, %k: tensor<1x3x50x32xf32> {sinter.input = "k"}, %v: tensor<1x3x50x32xf32> {sinter.input = "v"})
      -> (tensor<1x3x4x32xf32> {sinter.output = "few"}) {
    %few, %s = sinter.attention %q, %k, %v {scale = 0.2 : f64}
      : (tensor<1x3x4x32xf32>, tensor<1x3x50x32xf32>, tensor<1x3x50x32xf32>) -> (tensor<1x3x4x32xf32>, tensor<1x3x4xf32>)
    return %few : tensor<1x3x4x32xf32>
  }
}
