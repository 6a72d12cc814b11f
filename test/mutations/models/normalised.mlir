// A convolution and a normalisation whose variances are small.
module {
  func.func @main(%x: tensor<2x3x6x6xf32> {sinter.input = "x"}) -> (tensor<2x4x4x4xf32> {sinter.output = "y"}) {
    %f = sinter.constant dense<0.125> : tensor<4x3x3x3xf32> loc("f")
    %first = sinter.conv %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x3x6x6xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x4x4xf32> loc("first")
    %scale = sinter.constant dense<[1.0, 0.5, 2.0, -1.0]> : tensor<4xf32> loc("scale")
    %bias = sinter.constant dense<[0.5, -0.5, 0.25, 0.0]> : tensor<4xf32> loc("bias")
    %mean = sinter.constant dense<[0.1, 0.2, -0.1, 0.3]> : tensor<4xf32> loc("mean")
    %variance = sinter.constant dense<[0.01, 0.02, 0.05, 0.01]> : tensor<4xf32> loc("variance")
    %y = sinter.batch_norm %first, %scale, %bias, %mean, %variance {epsilon = 1.0e-5 : f64} : (tensor<2x4x4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x4x4xf32> loc("normalised")
    return %y : tensor<2x4x4x4xf32>
  }
}
