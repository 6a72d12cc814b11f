// A sine of large numbers.
module {
  func.func @main(%x: tensor<4x6xf32> {sinter.input = "x"}) -> (tensor<4x6xf32> {sinter.output = "y"}) {
    %k = sinter.constant dense<1000.0> : tensor<4x6xf32> loc("k")
    %large = sinter.mul %x, %k : tensor<4x6xf32> loc("large")
    %wave = sinter.sin %large : tensor<4x6xf32> loc("wave")
    return %wave : tensor<4x6xf32>
  }
}
