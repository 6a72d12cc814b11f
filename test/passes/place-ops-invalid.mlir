// RUN: not sinter-opt %s --sinter-place-ops --mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s

// All that is missing is one error: each op with its nodes, once per reason.
// CHECK: error: target cpu does not support sinter.dot_general (not yet available in 16-bit floats on the CPU) of node MatMul_1, MatMul_2;
// CHECK-SAME: sinter.conv (not yet available in 16-bit floats on the CPU) of node a, b, c, d and 1 more
// CHECK-NOT: error
func.func @main(%x: tensor<4x4xf16>, %y: tensor<1x1x4xbf16>, %w: tensor<1x1x1xbf16>, %z: tensor<4x4xf32>) -> (tensor<4x4xf16>, tensor<1x1x4xbf16>, tensor<4x4xf32>) {
  %0 = sinter.dot_general %x, %x batch [] x [] contract [1] x [0] : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16> loc("MatMul_1")
  %1 = sinter.dot_general %0, %x batch [] x [] contract [1] x [0] : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16> loc("MatMul_2")
  %2 = sinter.conv %y, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : (tensor<1x1x4xbf16>, tensor<1x1x1xbf16>) -> tensor<1x1x4xbf16> loc("a")
  %3 = sinter.conv %2, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : (tensor<1x1x4xbf16>, tensor<1x1x1xbf16>) -> tensor<1x1x4xbf16> loc("b")
  %4 = sinter.conv %3, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : (tensor<1x1x4xbf16>, tensor<1x1x1xbf16>) -> tensor<1x1x4xbf16> loc("c")
  %5 = sinter.conv %4, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : (tensor<1x1x4xbf16>, tensor<1x1x1xbf16>) -> tensor<1x1x4xbf16> loc("d")
  %6 = sinter.conv %5, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : (tensor<1x1x4xbf16>, tensor<1x1x1xbf16>) -> tensor<1x1x4xbf16> loc("e")
  %7 = sinter.dot_general %z, %z batch [] x [] contract [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("supported")
  return %1, %6, %7 : tensor<4x4xf16>, tensor<1x1x4xbf16>, tensor<4x4xf32>
}
