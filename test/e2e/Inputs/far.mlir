// A convolution whose taps are 2^30 elements apart: further than kernels for GPUs count, while
// the CPU's library does it. With padding of as much only the middle tap meets the input.
func.func @main(%x: tensor<2x2x7xf32> {sinter.input = "x"}) -> (tensor<2x3x7xf32> {sinter.output = "y"}) {
  %w = sinter.constant dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
                              [[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]],
                              [[1.0, -2.0, 3.0], [4.0, -5.0, 6.0]]]> : tensor<3x2x3xf32>
  %0 = sinter.tanh %x : tensor<2x2x7xf32> loc("before")
  %1 = sinter.conv %0, %w {strides = array<i64: 1>, dilations = array<i64: 1073741824>,
      pads_low = array<i64: 1073741824>, pads_high = array<i64: 1073741824>}
      : (tensor<2x2x7xf32>, tensor<3x2x3xf32>) -> tensor<2x3x7xf32> loc("far")
  %2 = sinter.relu %1 : tensor<2x3x7xf32> loc("after")
  return %2 : tensor<2x3x7xf32>
}
