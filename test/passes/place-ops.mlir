// RUN: sinter-opt %s --sinter-place-ops --split-input-file | FileCheck %s

// The target has no better whole for softmax, so that it is decomposed; it keeps gelu.
// CHECK-LABEL: @composites
// CHECK-NOT: sinter.softmax
// CHECK: sinter.div
// CHECK: sinter.gelu
func.func @composites(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = sinter.softmax %x {axis = 1 : i64} : tensor<4x8xf32>
  %z = sinter.gelu erf %y : tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

// -----

// What is supported stays as it is.
// CHECK-LABEL: @others
// CHECK-NEXT: sinter.dot_general
// CHECK-NEXT: sinter.reshape
// CHECK-NEXT: sinter.exp
// CHECK-NEXT: return
func.func @others(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) -> tensor<12xf32> {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = sinter.reshape %0 : tensor<4x3xf32> -> tensor<12xf32>
  %2 = sinter.exp %1 : tensor<12xf32>
  return %2 : tensor<12xf32>
}
