// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: @matmul
func.func @matmul(%a : tensor<4x8xf32>, %b : tensor<8x3xf32>) -> tensor<4x3xf32> {
  // CHECK: sinter.dot_general %arg0, %arg1 batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %c = sinter.dot_general %a, %b batch [] x [] contract [1] x [0]
     : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %c : tensor<4x3xf32>
}

// Batch dimensions come first, in the order given; then the free ones.
// CHECK-LABEL: @batched
func.func @batched(%a : tensor<5x2x4x8xi32>, %b : tensor<8x2x0x5xi32>) -> tensor<2x5x4x0xi32> {
  // CHECK: sinter.dot_general %arg0, %arg1 batch [1, 0] x [1, 3] contract [3] x [0]
  %c = sinter.dot_general %a, %b batch [1, 0] x [1, 3] contract [3] x [0]
     : (tensor<5x2x4x8xi32>, tensor<8x2x0x5xi32>) -> tensor<2x5x4x0xi32>
  return %c : tensor<2x5x4x0xi32>
}

// CHECK-LABEL: @outer
func.func @outer(%a : tensor<4xf32>, %b : tensor<3xf32>) -> tensor<4x3xf32> {
  // CHECK: sinter.dot_general
  %c = sinter.dot_general %a, %b batch [] x [] contract [] x []
     : (tensor<4xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return %c : tensor<4x3xf32>
}
