// RUN: not sinter-opt %s --sinter-place-ops --mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s

// All that is missing is one error: each op with its nodes, once per reason.
// CHECK: error: target cpu does not support sinter.conv (not available over more than 3 spatial dimensions) of node a, b, c, d and 1 more;
// CHECK-SAME: sinter.conv_filter_grad (not available over more than 3 spatial dimensions) of node g
// CHECK-NOT: error
!t = tensor<1x1x4x4x4x4xf32>
!w = tensor<1x1x1x1x1x1xf32>
func.func @main(%y: !t, %w: !w, %z: tensor<4x4xf32>) -> (!t, !w, tensor<4x4xf32>) {
  %0 = sinter.conv %y, %w {strides = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1, 1>, pads_low = array<i64: 0, 0, 0, 0>, pads_high = array<i64: 0, 0, 0, 0>} : (!t, !w) -> !t loc("a")
  %1 = sinter.conv %0, %w {strides = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1, 1>, pads_low = array<i64: 0, 0, 0, 0>, pads_high = array<i64: 0, 0, 0, 0>} : (!t, !w) -> !t loc("b")
  %2 = sinter.conv %1, %w {strides = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1, 1>, pads_low = array<i64: 0, 0, 0, 0>, pads_high = array<i64: 0, 0, 0, 0>} : (!t, !w) -> !t loc("c")
  %3 = sinter.conv %2, %w {strides = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1, 1>, pads_low = array<i64: 0, 0, 0, 0>, pads_high = array<i64: 0, 0, 0, 0>} : (!t, !w) -> !t loc("d")
  %4 = sinter.conv %3, %w {strides = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1, 1>, pads_low = array<i64: 0, 0, 0, 0>, pads_high = array<i64: 0, 0, 0, 0>} : (!t, !w) -> !t loc("e")
  %5 = sinter.conv_filter_grad %y, %y {strides = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1, 1>, pads_low = array<i64: 0, 0, 0, 0>, pads_high = array<i64: 0, 0, 0, 0>} : (!t, !t) -> !w loc("g")
  %6 = sinter.dot_general %z, %z batch [] x [] contract [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("supported")
  return %4, %5, %6 : !t, !w, tensor<4x4xf32>
}
