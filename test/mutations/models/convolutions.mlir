// Two convolutions with a pad of unequal sides between them.
module {
  func.func @main(%x: tensor<2x8x9x9xf32> {sinter.input = "x"}, %f: tensor<16x8x3x3xf32> {sinter.input = "f"}, %g: tensor<8x16x3x3xf32> {sinter.input = "g"}) -> (tensor<2x8x8x8xf32> {sinter.output = "y"}) {
    %first = sinter.conv %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x8x9x9xf32>, tensor<16x8x3x3xf32>) -> tensor<2x16x7x7xf32> loc("first")
    %zero = sinter.constant dense<0.0> : tensor<f32> loc("zero")
    %bordered = sinter.pad %first, %zero low [0, 0, 2, 1] high [0, 0, 1, 2] interior [0, 0, 0, 0] : (tensor<2x16x7x7xf32>, tensor<f32>) -> tensor<2x16x10x10xf32> loc("bordered")
    %second = sinter.conv %bordered, %g {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x16x10x10xf32>, tensor<8x16x3x3xf32>) -> tensor<2x8x8x8xf32> loc("second")
    return %second : tensor<2x8x8x8xf32>
  }
}
