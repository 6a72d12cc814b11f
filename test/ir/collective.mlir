// RUN: sinter-opt %s | sinter-opt | FileCheck %s
// RUN: sinter-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD
// RUN: sinter-opt %s --sinter-fold-constants | FileCheck %s --check-prefix=EVAL

// CHECK-LABEL: @all_reduce
func.func @all_reduce(%x : tensor<4x8xf32>, %n : tensor<3xi64>) -> (tensor<4x8xf32>, tensor<3xi64>) {
  // CHECK: sinter.all_reduce %arg0, %arg1 {replicas = 2 : i64} : tensor<4x8xf32>, tensor<3xi64>
  // FOLD: sinter.all_reduce
  %y:2 = sinter.all_reduce %x, %n {replicas = 2 : i64} : tensor<4x8xf32>, tensor<3xi64>
  return %y#0, %y#1 : tensor<4x8xf32>, tensor<3xi64>
}

// With one replica there is nothing to sum.
// FOLD-LABEL: @one
func.func @one(%x : tensor<4x8xf32>) -> tensor<4x8xf32> {
  // FOLD-NEXT: return %arg0
  %y = sinter.all_reduce %x {replicas = 1 : i64} : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// All replicas hold the same constants.
// EVAL-LABEL: @constant
func.func @constant() -> tensor<2xf32> {
  // EVAL-NEXT: sinter.constant dense<[3.000000e+00, 6.000000e+00]> : tensor<2xf32>
  // EVAL-NEXT: return
  %x = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = sinter.all_reduce %x {replicas = 3 : i64} : tensor<2xf32>
  return %y : tensor<2xf32>
}
