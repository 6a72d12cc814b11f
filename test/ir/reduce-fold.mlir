// RUN: sinter-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @reduce_nothing
func.func @reduce_nothing(%x : tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: return %arg0
  %0 = sinter.reduce sum %x dims [] : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
