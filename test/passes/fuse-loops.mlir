// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-fuse-loops))' | FileCheck %s

// A softmax is one kernel: two reductions over the loops of the result.
// CHECK-LABEL: @softmax
// CHECK: sinter.fusion "reduce"(%arg0) {domain = array<i64: 4, 10>, reduced = array<i64: 1>, views = [array<i64: 0, 1>]}
// CHECK-NOT: sinter.fusion
func.func @softmax(%x: tensor<4x10xf32>) -> tensor<4x10xf32> {
  %0 = sinter.reduce max %x dims [1] : (tensor<4x10xf32>) -> tensor<4xf32>
  %1 = sinter.broadcast %0 dims [0] : tensor<4xf32> -> tensor<4x10xf32>
  %2 = sinter.sub %x, %1 : tensor<4x10xf32>
  %3 = sinter.exp %2 : tensor<4x10xf32>
  %4 = sinter.reduce sum %3 dims [1] : (tensor<4x10xf32>) -> tensor<4xf32>
  %5 = sinter.broadcast %4 dims [0] : tensor<4xf32> -> tensor<4x10xf32>
  %6 = sinter.div %3, %5 : tensor<4x10xf32>
  return %6 : tensor<4x10xf32>
}

// A value with another user is a further result of the kernel.
// CHECK-LABEL: @second_result
// CHECK: %[[F:.*]]:2 = sinter.fusion "loop"(%arg0)
// CHECK: return %[[F]]#0, %[[F]]#1
func.func @second_result(%x: tensor<4x10xf32>) -> (tensor<4x10xf32>, tensor<4x10xf32>) {
  %0 = sinter.exp %x : tensor<4x10xf32>
  %1 = sinter.neg %0 : tensor<4x10xf32>
  return %1, %0 : tensor<4x10xf32>, tensor<4x10xf32>
}

// Must not fire: a slice is not the whole of what it reads, so that is no result beside it.
// CHECK-LABEL: @slice_beside_whole
// CHECK-COUNT-2: sinter.fusion "loop"
func.func @slice_beside_whole(%x: tensor<3x8xf32>) -> (tensor<1x8xf32>, tensor<3x8xf32>) {
  %0 = sinter.exp %x : tensor<3x8xf32>
  %1 = sinter.slice %0 starts [0, 0] limits [1, 8] strides [1, 1] : (tensor<3x8xf32>) -> tensor<1x8xf32>
  return %1, %0 : tensor<1x8xf32>, tensor<3x8xf32>
}

// Must not fire: between the two uses of %0 lies a library call that needs the first.
// CHECK-LABEL: @no_cycle
// CHECK: sinter.fusion
// CHECK: sinter.dot_general
// CHECK: sinter.fusion
func.func @no_cycle(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = sinter.exp %x : tensor<4x4xf32>
  %1 = sinter.dot_general %0, %w batch [] x [] contract [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = sinter.mul %0, %1 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
