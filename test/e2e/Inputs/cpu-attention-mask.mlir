module @attention_mask {
  func.func @main(%x: tensor<1x3x64x64xf32> {sinter.input = "x"}) -> (tensor<1x3x64x64xf32> {sinter.output = "y"}) {
    %y, %stats = sinter.attention %x, %x, %x, %x {scale = 0.2 : f64}
      : (tensor<1x3x64x64xf32>, tensor<1x3x64x64xf32>, tensor<1x3x64x64xf32>, tensor<1x3x64x64xf32>) -> (tensor<1x3x64x64xf32>, tensor<1x3x64xf32>)
    return %y : tensor<1x3x64x64xf32>
  }
}
