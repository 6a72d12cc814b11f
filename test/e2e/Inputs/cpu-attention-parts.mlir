module @attention_parts {
  func.func @main(%q: tensor<1x3x4x32xf32> {sinter.input = "q"}, %k: tensor<1x3x50x32xf32> {sinter.input = "k"}, %v: tensor<1x3x50x32xf32> {sinter.input = "v"}, %g: tensor<1x3x50x32xf32> {sinter.input = "g"})
      -> (tensor<1x3x4x32xf32> {sinter.output = "few"}, tensor<1x3x50x32xf32> {sinter.output = "dq"}) {
    %few, %s0 = sinter.attention %q, %k, %v {scale = 0.2 : f64}
      : (tensor<1x3x4x32xf32>, tensor<1x3x50x32xf32>, tensor<1x3x50x32xf32>) -> (tensor<1x3x4x32xf32>, tensor<1x3x4xf32>)
    %o, %s = sinter.attention %k, %k, %v {scale = 0.2 : f64}
      : (tensor<1x3x50x32xf32>, tensor<1x3x50x32xf32>, tensor<1x3x50x32xf32>) -> (tensor<1x3x50x32xf32>, tensor<1x3x50xf32>)
    %dq, %dk, %dv = sinter.attention_grad %k, %k, %v, %o, %s, %g {scale = 0.2 : f64}
      : (tensor<1x3x50x32xf32>, tensor<1x3x50x32xf32>, tensor<1x3x50x32xf32>, tensor<1x3x50x32xf32>, tensor<1x3x50xf32>, tensor<1x3x50x32xf32>) -> (tensor<1x3x50x32xf32>, tensor<1x3x50x32xf32>, tensor<1x3x50x32xf32>)
    return %few, %dq : tensor<1x3x4x32xf32>, tensor<1x3x50x32xf32>
  }
}
