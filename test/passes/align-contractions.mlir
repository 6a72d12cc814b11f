// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-align-contractions))' | FileCheck %s

// The contracted dimensions of lhs lie apart: no single stride for k.
// CHECK-LABEL: @contracted_dims_apart
// CHECK: %[[T:.*]] = sinter.transpose %arg0 perm [1, 0, 2]
// CHECK: sinter.dot_general %[[T]], %arg1 batch [] x [] contract [1, 2] x [0, 1]
func.func @contracted_dims_apart(%a: tensor<4x8x5xf32>, %b: tensor<4x5x3xf32>) -> tensor<8x3xf32> {
  %c = sinter.dot_general %a, %b batch [] x [] contract [0, 2] x [0, 1]
     : (tensor<4x8x5xf32>, tensor<4x5x3xf32>) -> tensor<8x3xf32>
  return %c : tensor<8x3xf32>
}

// Must not fire: a transposed operand is a stride.
// CHECK-LABEL: @transposed_operand
// CHECK-NOT: sinter.transpose
func.func @transposed_operand(%a: tensor<4x8xf32>, %b: tensor<3x8xf32>) -> tensor<4x3xf32> {
  %c = sinter.dot_general %a, %b batch [] x [] contract [1] x [1]
     : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x3xf32>
  return %c : tensor<4x3xf32>
}
