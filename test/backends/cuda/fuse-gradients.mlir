// RUN: sinter-opt %s --phase-options="--target=cuda" --pass-pipeline='builtin.module(func.func(sinter-fuse-epilogues))' | FileCheck %s
// RUN: sinter-opt %s --phase-options="--target=cuda" --pass-pipeline='builtin.module(func.func(sinter-fuse-epilogues,sinter-fuse-loops),sinter-plan-memory)' | FileCheck %s --check-prefix=PLAN
// RUN: sinter-opt %s --phase-options="--target=cuda --libraries=none" --pass-pipeline='builtin.module(func.func(sinter-fuse-epilogues))' | FileCheck %s --check-prefix=NONE
// RUN: sinter-opt %s --phase-options="--target=cpu" --pass-pipeline='builtin.module(func.func(sinter-fuse-epilogues))' | FileCheck %s --check-prefix=CPU

// The call of a relu keeps its mask; the call before its gradient applies it,
// and has the gradient of the bias.
// CHECK-LABEL: @relu
// CHECK: %[[Y:.*]]:2 = sinter.library_call matmul(%arg0, %arg1, %arg2)
// CHECK: %[[RELU:.*]] = sinter.relu
// CHECK: %[[MASK:.*]] = sinter.compare gt %[[RELU]]
// CHECK: sinter.yield %[[RELU]], %[[MASK]]
// CHECK: %[[D:.*]]:2 = sinter.library_call matmul(%arg3, %arg4, %[[Y]]#1)
// CHECK: %[[DX:.*]] = sinter.where
// CHECK: %[[DB:.*]] = sinter.reduce sum %[[DX]] dims [0]
// CHECK: sinter.yield %[[DX]], %[[DB]]
// CHECK-NOT: sinter.compare
// CHECK: return %[[Y]]#0, %[[D]]#0, %[[D]]#1
// PLAN-LABEL: exec.program @relu
// PLAN: %[[BITS:.*]] = exec.buffer arena[0] 0 + 64 : tensor<4x16xui8>
// PLAN: exec.matmul({{.*}}) -> %{{.*}} keeps(%[[BITS]]) m 4 n 16 k 8
// PLAN-SAME: post [#exec.post_op<bias read 2>, #exec.post_op<relu_bits write 1>]
// PLAN: exec.matmul(%{{.*}}, %{{.*}}, %[[BITS]]) -> %{{.*}} keeps(%{{.*}}) m 4 n 16 k 2
// PLAN-SAME: post [#exec.post_op<relu_grad read 2>, #exec.post_op<bias_grad write 1>]
// NONE-LABEL: @relu
// NONE: sinter.yield %{{.*}} : tensor<4x16xf32>
// NONE: sinter.yield %{{.*}} : tensor<4x16xf32>
// NONE: sinter.reduce
// CPU-LABEL: @relu
// CPU: sinter.yield %{{.*}} : tensor<4x16xf32>
// CPU: sinter.yield %{{.*}} : tensor<4x16xf32>
// CPU: sinter.compare
// CPU: sinter.where
func.func @relu(%x: tensor<4x8xf32> {sinter.input = "x"}, %w: tensor<8x16xf32> {sinter.input = "w"}, %b: tensor<16xf32> {sinter.input = "b"}, %g: tensor<4x2xf32> {sinter.input = "g"}, %v: tensor<2x16xf32> {sinter.input = "v"})
    -> (tensor<4x16xf32> {sinter.output = "y"}, tensor<4x16xf32> {sinter.output = "dx"}, tensor<16xf32> {sinter.output = "db"}) {
  %zero = sinter.constant dense<0.0> : tensor<4x16xf32>
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = sinter.broadcast %b dims [1] : tensor<16xf32> -> tensor<4x16xf32>
  %2 = sinter.add %0, %1 : tensor<4x16xf32>
  %3 = sinter.relu %2 : tensor<4x16xf32>
  %4 = sinter.dot_general %g, %v batch [] x [] contract [1] x [0] : (tensor<4x2xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
  %5 = sinter.compare gt %3, %zero : tensor<4x16xf32>
  %6 = sinter.where %5, %4, %zero : tensor<4x16xi1>, tensor<4x16xf32>
  %7 = sinter.reduce sum %6 dims [0] : (tensor<4x16xf32>) -> tensor<16xf32>
  return %3, %6, %7 : tensor<4x16xf32>, tensor<4x16xf32>, tensor<16xf32>
}

// Must not fire: a kernel of ours computes the relu, so nobody keeps bits.
// CHECK-LABEL: @relu_of_a_sum
// CHECK: sinter.relu
// CHECK: sinter.library_call matmul
// CHECK: sinter.yield %{{.*}} : tensor<4x16xf32>
// CHECK: sinter.compare
// CHECK: sinter.where
func.func @relu_of_a_sum(%x: tensor<4x16xf32> {sinter.input = "x"}, %g: tensor<4x2xf32> {sinter.input = "g"}, %v: tensor<2x16xf32> {sinter.input = "v"})
    -> (tensor<4x16xf32> {sinter.output = "y"}, tensor<4x16xf32> {sinter.output = "dx"}) {
  %zero = sinter.constant dense<0.0> : tensor<4x16xf32>
  %0 = sinter.add %x, %x : tensor<4x16xf32>
  %1 = sinter.relu %0 : tensor<4x16xf32>
  %2 = sinter.dot_general %g, %v batch [] x [] contract [1] x [0] : (tensor<4x2xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
  %3 = sinter.compare gt %1, %zero : tensor<4x16xf32>
  %4 = sinter.where %3, %2, %zero : tensor<4x16xi1>, tensor<4x16xf32>
  return %1, %4 : tensor<4x16xf32>, tensor<4x16xf32>
}

// What a GELU is applied to is kept for its gradient.
// CHECK-LABEL: @gelu
// CHECK: %[[Y:.*]]:2 = sinter.library_call matmul(%arg0, %arg1)
// CHECK: %[[X:.*]] = sinter.dot_general
// CHECK: %[[GELU:.*]] = sinter.gelu tanh %[[X]]
// CHECK: sinter.yield %[[GELU]], %[[X]]
// CHECK: sinter.library_call matmul(%arg2, %arg3, %[[Y]]#1)
// CHECK: sinter.gelu_grad tanh
// PLAN-LABEL: exec.program @gelu(
// PLAN: post [#exec.post_op<store write 1>, #exec.post_op<gelu_tanh>]
// PLAN: post [#exec.post_op<gelu_tanh_grad read 2>]
// NONE-LABEL: @gelu
// NONE-NOT: gelu_grad
// CPU-LABEL: @gelu
// CPU-NOT: gelu_grad
func.func @gelu(%x: tensor<4x8xf32> {sinter.input = "x"}, %w: tensor<8x16xf32> {sinter.input = "w"}, %g: tensor<4x2xf32> {sinter.input = "g"}, %v: tensor<2x16xf32> {sinter.input = "v"})
    -> (tensor<4x16xf32> {sinter.output = "y"}, tensor<4x16xf32> {sinter.output = "dx"}) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] {tf32} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = sinter.gelu tanh %0 : tensor<4x16xf32>
  %2 = sinter.dot_general %g, %v batch [] x [] contract [1] x [0] {tf32} : (tensor<4x2xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
  %3 = sinter.gelu_grad tanh %2, %0 : tensor<4x16xf32>
  return %1, %3 : tensor<4x16xf32>, tensor<4x16xf32>
}

// Must not fire: rows of 12 elements are no whole vectors; the gradient becomes
// small ops.
// CHECK-LABEL: @gelu_of_odd_rows
// CHECK: sinter.yield %{{.*}} : tensor<4x12xf32>
// CHECK: sinter.yield %{{.*}} : tensor<4x12xf32>
// CHECK: sinter.tanh
// CHECK-NOT: gelu_grad
func.func @gelu_of_odd_rows(%x: tensor<4x8xf32> {sinter.input = "x"}, %w: tensor<8x12xf32> {sinter.input = "w"}, %g: tensor<4x2xf32> {sinter.input = "g"}, %v: tensor<2x12xf32> {sinter.input = "v"})
    -> (tensor<4x12xf32> {sinter.output = "y"}, tensor<4x12xf32> {sinter.output = "dx"}) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] {tf32} : (tensor<4x8xf32>, tensor<8x12xf32>) -> tensor<4x12xf32>
  %1 = sinter.gelu tanh %0 : tensor<4x12xf32>
  %2 = sinter.dot_general %g, %v batch [] x [] contract [1] x [0] {tf32} : (tensor<4x2xf32>, tensor<2x12xf32>) -> tensor<4x12xf32>
  %3 = sinter.gelu_grad tanh %2, %0 : tensor<4x12xf32>
  return %1, %3 : tensor<4x12xf32>, tensor<4x12xf32>
}

// The gradients of weights and bias come from one call.
// CHECK-LABEL: @weights_and_bias
// CHECK: %[[G:.*]]:2 = sinter.library_call matmul(%arg0, %arg1)
// CHECK: sinter.dot_general
// CHECK: sinter.yield
// CHECK: return %[[G]]#0, %[[G]]#1
// PLAN-LABEL: exec.program @weights_and_bias
// PLAN: exec.matmul(%{{.*}}) -> %{{.*}} keeps(%{{.*}}) m 16 n 8 k 12 {{.*}} post [#exec.post_op<a_sum write 1>]
// CPU-LABEL: @weights_and_bias
// CPU: sinter.yield %{{.*}} : tensor<16x8xf32>
func.func @weights_and_bias(%g: tensor<3x4x16xf32> {sinter.input = "g"}, %x: tensor<3x4x8xf32> {sinter.input = "x"})
    -> (tensor<16x8xf32> {sinter.output = "dw"}, tensor<16xf32> {sinter.output = "db"}) {
  %0 = sinter.reduce sum %g dims [0, 1] : (tensor<3x4x16xf32>) -> tensor<16xf32>
  %1 = sinter.dot_general %g, %x batch [] x [] contract [0, 1] x [0, 1] : (tensor<3x4x16xf32>, tensor<3x4x8xf32>) -> tensor<16x8xf32>
  return %1, %0 : tensor<16x8xf32>, tensor<16xf32>
}

// Must not fire: the sum is used before the product.
// CHECK-LABEL: @sum_used_before
// CHECK: sinter.reduce
// CHECK: sinter.library_call matmul
// CHECK: sinter.yield %{{.*}} : tensor<16x8xf32>
func.func @sum_used_before(%g: tensor<12x16xf32> {sinter.input = "g"}, %w: tensor<12x8xf32> {sinter.input = "w"}) -> (tensor<16x8xf32> {sinter.output = "y"}) {
  %0 = sinter.reduce sum %g dims [0] : (tensor<12x16xf32>) -> tensor<16xf32>
  %1 = sinter.slice %0 starts [0] limits [8] strides [1] : (tensor<16xf32>) -> tensor<8xf32>
  %2 = sinter.broadcast %1 dims [1] : tensor<8xf32> -> tensor<12x8xf32>
  %3 = sinter.add %w, %2 : tensor<12x8xf32>
  %4 = sinter.dot_general %g, %3 batch [] x [] contract [0] x [0] : (tensor<12x16xf32>, tensor<12x8xf32>) -> tensor<16x8xf32>
  return %4 : tensor<16x8xf32>
}

// Must not fire: the library's GELU is not exact to float32.
// CHECK-LABEL: @gelu_of_float32
// CHECK: sinter.library_call matmul(%arg0, %arg1) :
// CHECK: sinter.gelu tanh
// CHECK: sinter.tanh
// CHECK-NOT: gelu_grad
func.func @gelu_of_float32(%x: tensor<4x8xf32> {sinter.input = "x"}, %w: tensor<8x16xf32> {sinter.input = "w"}, %g: tensor<4x2xf32> {sinter.input = "g"}, %v: tensor<2x16xf32> {sinter.input = "v"})
    -> (tensor<4x16xf32> {sinter.output = "y"}, tensor<4x16xf32> {sinter.output = "dx"}) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = sinter.gelu tanh %0 : tensor<4x16xf32>
  %2 = sinter.dot_general %g, %v batch [] x [] contract [1] x [0] : (tensor<4x2xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
  %3 = sinter.gelu_grad tanh %2, %0 : tensor<4x16xf32>
  return %1, %3 : tensor<4x16xf32>, tensor<4x16xf32>
}
