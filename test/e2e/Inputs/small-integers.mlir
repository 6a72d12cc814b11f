// Truth values and 8-bit integers become floats and are multiplied.
module @small_integers attributes {sinter.model = "small_integers"} {
  func.func @main(%b: tensor<4x8xi1> {sinter.input = "b"}, %u: tensor<4x8xui8> {sinter.input = "u"}, %i: tensor<2x3x8x8xi8> {sinter.input = "i"},
                  %w: tensor<8x6xf32> {sinter.input = "w"}, %f: tensor<5x3x3x3xf32> {sinter.input = "f"}, %t: tensor<3x4x3x3xf32> {sinter.input = "t"})
      -> (tensor<4x6xf32> {sinter.output = "ofTruth"}, tensor<4x6xf32> {sinter.output = "ofUnsigned"},
          tensor<2x5x6x6xf32> {sinter.output = "conv"}, tensor<2x4x10x10xf32> {sinter.output = "transposed"}) {
    %0 = sinter.cast %b : tensor<4x8xi1> -> tensor<4x8xf32> loc("truth")
    %1 = sinter.dot_general %0, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32> loc("ofTruth")
    %2 = sinter.cast %u : tensor<4x8xui8> -> tensor<4x8xf32> loc("unsigned")
    %3 = sinter.dot_general %2, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32> loc("ofUnsigned")
    %4 = sinter.cast %i : tensor<2x3x8x8xi8> -> tensor<2x3x8x8xf32> loc("signed")
    %5 = sinter.conv %4, %f {dilations = array<i64: 1, 1>, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x3x8x8xf32>, tensor<5x3x3x3xf32>) -> tensor<2x5x6x6xf32> loc("conv")
    %6 = sinter.conv_input_grad %4, %t {dilations = array<i64: 1, 1>, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x3x8x8xf32>, tensor<3x4x3x3xf32>) -> tensor<2x4x10x10xf32> loc("transposed")
    return %1, %3, %5, %6 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x5x6x6xf32>, tensor<2x4x10x10xf32>
  }
}
