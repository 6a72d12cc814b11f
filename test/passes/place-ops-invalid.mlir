// RUN: not sinter-opt %s --sinter-place-ops --mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s

// All that is missing is one error: each op with its nodes, once per reason.
// CHECK: error: target cpu does not support sinter.exp (not yet available in float64 on the CPU) of node Exp_1, Exp_2;
// CHECK-SAME: sinter.tanh (not yet available in float64 on the CPU) of node a, b, c, d and 1 more
// CHECK-NOT: error
func.func @main(%x: tensor<4xf64>, %y: tensor<4xf32>) -> (tensor<4xf64>, tensor<4xf32>) {
  %0 = sinter.exp %x : tensor<4xf64> loc("Exp_1")
  %1 = sinter.exp %0 : tensor<4xf64> loc("Exp_2")
  %2 = sinter.tanh %1 : tensor<4xf64> loc("a")
  %3 = sinter.tanh %2 : tensor<4xf64> loc("b")
  %4 = sinter.tanh %3 : tensor<4xf64> loc("c")
  %5 = sinter.tanh %4 : tensor<4xf64> loc("d")
  %6 = sinter.tanh %5 : tensor<4xf64> loc("e")
  %7 = sinter.exp %y : tensor<4xf32> loc("supported")
  return %6, %7 : tensor<4xf64>, tensor<4xf32>
}
