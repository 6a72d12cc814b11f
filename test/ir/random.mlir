// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: @dropout
func.func @dropout(%x : tensor<4x8xf32>, %seed : tensor<i64>, %step : tensor<i64>) -> tensor<4x8xf32> {
  // CHECK: sinter.dropout %arg0, %arg1, %arg2 {op_id = 3 : i64, ratio = 5.000000e-01 : f64}
  %y = sinter.dropout %x, %seed, %step {ratio = 0.5 : f64, op_id = 3 : i64}
     : (tensor<4x8xf32>, tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
