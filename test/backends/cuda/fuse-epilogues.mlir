// RUN: sinter-opt %s --phase-options="--target=cuda --libraries=none" --pass-pipeline='builtin.module(func.func(sinter-fuse-epilogues))' | FileCheck %s
// RUN: sinter-opt %s --phase-options="--target=cuda --libraries=cublaslt" --pass-pipeline='builtin.module(func.func(sinter-fuse-epilogues))' | FileCheck %s --check-prefix=LT
// RUN: sinter-opt %s --phase-options="--target=cuda --libraries=cudnn" --pass-pipeline='builtin.module(func.func(sinter-fuse-epilogues))' | FileCheck %s --check-prefix=CONV

// Anything elementwise joins a contraction that the target generates.
// CHECK-LABEL: @any_elementwise
// CHECK: sinter.kernel matmul(%arg0, %arg1, %arg2, %arg3)
// CHECK-SAME: over <[4, 3] views [(d0, d1) -> (d0, d1)]>
// CHECK: sinter.dot_general
// CHECK: sinter.broadcast
// CHECK: sinter.div
// CHECK: sinter.exp
// CHECK: %[[Y:.*]] = sinter.sub
// CHECK: sinter.yield %[[Y]]
// A library divides by nothing.
// LT-LABEL: @any_elementwise
// LT: sinter.library_call matmul(%arg0, %arg1)
// LT-NOT: over <
// LT: sinter.yield
// LT: sinter.div
func.func @any_elementwise(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>, %b: tensor<3xf32>, %r: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = sinter.broadcast %b dims [1] : tensor<3xf32> -> tensor<4x3xf32>
  %2 = sinter.div %0, %1 : tensor<4x3xf32>
  %3 = sinter.exp %2 : tensor<4x3xf32>
  %4 = sinter.sub %3, %r : tensor<4x3xf32>
  return %4 : tensor<4x3xf32>
}

// What is used several times inside is no obstacle, and the gradient's mask is
// computed where it is used.
// CHECK-LABEL: @several_uses_inside
// CHECK: sinter.kernel matmul(%arg0, %arg1, %arg2)
// CHECK: sinter.compare
// CHECK: sinter.where
// CHECK: sinter.mul
// CHECK: %[[Y:.*]] = sinter.add
// CHECK: sinter.yield %[[Y]]
func.func @several_uses_inside(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>, %h: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %zero = sinter.constant dense<0.0> : tensor<4x3xf32>
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = sinter.compare gt %h, %zero : tensor<4x3xf32>
  %2 = sinter.where %1, %0, %zero : tensor<4x3xi1>, tensor<4x3xf32>
  %3 = sinter.mul %2, %2 : tensor<4x3xf32>
  %4 = sinter.add %3, %2 : tensor<4x3xf32>
  return %4 : tensor<4x3xf32>
}

// Two results that both leave the function: the second does not read the first from memory.
// CHECK-LABEL: @two_users
// CHECK: %[[K:.*]]:2 = sinter.kernel matmul
// CHECK-SAME: over <[4, 3] views [(d0, d1) -> (d0, d1), (d0, d1) -> (d0, d1)]>
// CHECK: %[[D:.*]] = sinter.dot_general
// CHECK: %[[R:.*]] = sinter.relu %[[D]]
// CHECK: sinter.yield %[[D]], %[[R]]
// CHECK: return %[[K]]#0, %[[K]]#1
// A library call has one.
// LT-LABEL: @two_users
// LT: %[[D:.*]] = sinter.library_call matmul
// LT: sinter.yield
// LT: sinter.relu %[[D]]
func.func @two_users(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = sinter.relu %0 : tensor<4x3xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<4x3xf32>
}

// The update of a weight joins the product that computes its gradient, which is not stored.
// CHECK-LABEL: @update
// CHECK: %[[K:.*]]:2 = sinter.kernel matmul(%arg0, %arg1, %arg2, %arg3, %arg4)
// CHECK: %[[G:.*]] = sinter.dot_general
// CHECK: %[[M:.*]] = sinter.add
// CHECK: %[[P:.*]] = sinter.where
// CHECK: sinter.yield %[[M]], %[[P]]
// CHECK: return %[[K]]#1, %[[K]]#0
func.func @update(%x: tensor<8x4xf32>, %dy: tensor<8x3xf32>, %m: tensor<4x3xf32>, %p: tensor<4x3xf32>, %ok: tensor<i1>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %beta = sinter.constant dense<0.9> : tensor<4x3xf32>
  %0 = sinter.dot_general %x, %dy batch [] x [] contract [0] x [0] : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = sinter.mul %m, %beta : tensor<4x3xf32>
  %2 = sinter.add %1, %0 : tensor<4x3xf32>
  %3 = sinter.sub %p, %2 : tensor<4x3xf32>
  %4 = sinter.broadcast %ok dims [] : tensor<i1> -> tensor<4x3xi1>
  %5 = sinter.where %4, %3, %p : tensor<4x3xi1>, tensor<4x3xf32>
  return %5, %2 : tensor<4x3xf32>, tensor<4x3xf32>
}

// Must not fire: outside of a persistent kernel, an update may run at the end of the program. What
// the product reads, more than the gradient, would live until then.
sinter.state @m : tensor<4x3xf32> {role = #sinter<role param>}
sinter.state @p : tensor<4x3xf32> {role = #sinter<role param>}
// CHECK-LABEL: @long_lived
// CHECK: %[[G:.*]] = sinter.kernel matmul
// CHECK: sinter.yield
// CHECK: sinter.sub %arg2, %[[G]]
func.func @long_lived(%x: tensor<8x4xf32>, %m: tensor<4x3xf32> {sinter.state = @m}, %p: tensor<4x3xf32> {sinter.state = @p}) -> (tensor<4x3xf32> {sinter.state = @p}, tensor<4x3xf32> {sinter.state = @m}) {
  %y = sinter.exp %x : tensor<8x4xf32>
  %dy = sinter.slice %y starts [0, 0] limits [8, 3] strides [1, 1] : (tensor<8x4xf32>) -> tensor<8x3xf32>
  %0 = sinter.dot_general %y, %dy batch [] x [] contract [0] x [0] : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = sinter.add %m, %0 : tensor<4x3xf32>
  %2 = sinter.sub %p, %1 : tensor<4x3xf32>
  return %2, %1 : tensor<4x3xf32>, tensor<4x3xf32>
}

// The operand of an activation is kept for the gradient, beside the next product's operand.
// CHECK-LABEL: @kept_operand
// CHECK: %[[K:.*]]:2 = sinter.kernel matmul
// CHECK: %[[D:.*]] = sinter.dot_general
// CHECK: %[[T:.*]] = sinter.tanh %[[D]]
// CHECK: sinter.yield %[[D]], %[[T]]
// CHECK: sinter.kernel matmul(%[[K]]#1
// CHECK: sinter.exp %[[K]]#0
func.func @kept_operand(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = sinter.tanh %0 : tensor<4x8xf32>
  %2 = sinter.dot_general %1, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %3 = sinter.exp %0 : tensor<4x8xf32>
  %4 = sinter.reduce sum %3 dims [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  return %2, %4 : tensor<4x8xf32>, tensor<4xf32>
}

// Must not fire: the kernel that sums the logarithms computes them, from the result that is
// stored for the other user.
// CHECK-LABEL: @computed_by_user
// CHECK: %[[D:.*]] = sinter.kernel matmul
// CHECK: sinter.yield
// CHECK: sinter.log %[[D]]
func.func @computed_by_user(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) -> (tensor<4x3xf32>, tensor<4xf32>) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = sinter.log %0 : tensor<4x3xf32>
  %2 = sinter.reduce sum %1 dims [1] : (tensor<4x3xf32>) -> tensor<4xf32>
  return %0, %2 : tensor<4x3xf32>, tensor<4xf32>
}

// Must not fire: the update waits for the norm of the gradient, which therefore is stored.
// CHECK-LABEL: @clipped
// CHECK: %[[G:.*]] = sinter.kernel matmul
// CHECK: sinter.yield
// CHECK: sinter.mul %[[G]], %[[G]]
func.func @clipped(%x: tensor<8x4xf32>, %dy: tensor<8x3xf32>, %p: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = sinter.dot_general %x, %dy batch [] x [] contract [0] x [0] : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = sinter.mul %0, %0 : tensor<4x3xf32>
  %2 = sinter.reduce sum %1 dims [0, 1] : (tensor<4x3xf32>) -> tensor<f32>
  %3 = sinter.broadcast %2 dims [] : tensor<f32> -> tensor<4x3xf32>
  %4 = sinter.div %0, %3 : tensor<4x3xf32>
  %5 = sinter.sub %p, %4 : tensor<4x3xf32>
  return %5 : tensor<4x3xf32>
}

// Must not fire: a reduction of the result is a kernel of its own, and so is
// what uses that and the result.
// CHECK-LABEL: @reduced_after
// CHECK: sinter.kernel matmul
// CHECK: %[[E:.*]] = sinter.exp
// CHECK: sinter.yield %[[E]]
// CHECK: sinter.reduce
// CHECK: sinter.div
func.func @reduced_after(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = sinter.exp %0 : tensor<4x3xf32>
  %2 = sinter.reduce sum %1 dims [1] : (tensor<4x3xf32>) -> tensor<4xf32>
  %3 = sinter.broadcast %2 dims [0] : tensor<4xf32> -> tensor<4x3xf32>
  %4 = sinter.div %1, %3 : tensor<4x3xf32>
  return %4 : tensor<4x3xf32>
}

// The kernel stores its result transposed.
// CHECK-LABEL: @stored_transposed
// CHECK: sinter.kernel matmul
// CHECK-SAME: over <[3, 4]
// CHECK: sinter.relu
// CHECK: %[[T:.*]] = sinter.transpose
// CHECK: sinter.yield %[[T]]
func.func @stored_transposed(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) -> tensor<3x4xf32> {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = sinter.relu %0 : tensor<4x3xf32>
  %2 = sinter.transpose %1 perm [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return %2 : tensor<3x4xf32>
}

// Integers have no library.
// LT-LABEL: @integers
// LT: sinter.kernel matmul
// LT-SAME: over <
func.func @integers(%x: tensor<4x8xi32>, %w: tensor<8x3xi32>) -> tensor<4x3xi32> {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xi32>, tensor<8x3xi32>) -> tensor<4x3xi32>
  return %0 : tensor<4x3xi32>
}

// Each library by itself: with cuDNN alone convolutions are calls.
// CHECK-LABEL: @residual
// CHECK: sinter.kernel conv
// CHECK-SAME: over <
// LT-LABEL: @residual
// LT: sinter.kernel conv
// LT-SAME: over <
// CONV-LABEL: @residual
// CONV: sinter.library_call conv
// CONV-NOT: over <
// CONV: sinter.yield
func.func @residual(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>, %r: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %0 = sinter.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>}
     : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = sinter.add %0, %r : tensor<1x2x4x4xf32>
  return %1 : tensor<1x2x4x4xf32>
}
