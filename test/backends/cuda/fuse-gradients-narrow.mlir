// RUN: sinter-opt %s --phase-options="--target=cuda" --pass-pipeline='builtin.module(func.func(sinter-fuse-epilogues))' | FileCheck %s
// RUN: sinter-opt %s --phase-options="--target=cuda" --pass-pipeline='builtin.module(func.func(sinter-fuse-epilogues,sinter-fuse-loops),sinter-plan-memory)' | FileCheck %s --check-prefix=PLAN

// A result that is rounded when stored, and the mask of the relu before that.
// The call with its gradient rounds, too; the sum over the rounded rows is no
// part of it.
// CHECK-LABEL: @relu
// CHECK: %[[Y:.*]]:2 = sinter.library_call matmul(%arg0, %arg1, %arg2)
// CHECK: %[[RELU:.*]] = sinter.relu
// CHECK: %[[MASK:.*]] = sinter.compare gt %[[RELU]]
// CHECK: %[[R:.*]] = sinter.cast %[[RELU]] : tensor<4x16xf32> -> tensor<4x16xbf16>
// CHECK: sinter.yield %[[R]], %[[MASK]]
// CHECK: %[[D:.*]] = sinter.library_call matmul(%arg3, %arg4, %[[Y]]#1)
// CHECK: %[[DX:.*]] = sinter.where
// CHECK: %[[D16:.*]] = sinter.cast %[[DX]]
// CHECK: sinter.yield %[[D16]] : tensor<4x16xbf16>
// CHECK-NOT: sinter.compare
// CHECK: %[[W:.*]] = sinter.cast %[[D]]
// CHECK: sinter.reduce sum %[[W]] dims [0]
// PLAN-LABEL: exec.program @relu
// PLAN: %[[BITS:.*]] = exec.buffer arena[0] 0 + 64 : tensor<4x16xui8>
// PLAN: exec.matmul({{.*}}) -> %{{.*}} keeps(%[[BITS]]) m 4 n 16 k 8
// PLAN-SAME: post [#exec.post_op<bias read 2>, #exec.post_op<relu_bits write 1>]
// PLAN: exec.matmul(%{{.*}}, %{{.*}}, %[[BITS]]) -> %{{.*}} m 4 n 16 k 2
// PLAN-SAME: post [#exec.post_op<relu_grad read 2>]
func.func @relu(%x: tensor<4x8xbf16> {sinter.input = "x"}, %w: tensor<8x16xbf16> {sinter.input = "w"}, %b: tensor<16xbf16> {sinter.input = "b"}, %g: tensor<4x2xbf16> {sinter.input = "g"}, %v: tensor<2x16xbf16> {sinter.input = "v"})
    -> (tensor<4x16xbf16> {sinter.output = "y"}, tensor<4x16xbf16> {sinter.output = "dx"}, tensor<16xf32> {sinter.output = "db"}) {
  %zero = sinter.constant dense<0.0> : tensor<4x16xf32>
  %xw = sinter.cast %x : tensor<4x8xbf16> -> tensor<4x8xf32>
  %ww = sinter.cast %w : tensor<8x16xbf16> -> tensor<8x16xf32>
  %0 = sinter.dot_general %xw, %ww batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = sinter.broadcast %b dims [1] : tensor<16xbf16> -> tensor<4x16xbf16>
  %bw = sinter.cast %1 : tensor<4x16xbf16> -> tensor<4x16xf32>
  %2 = sinter.add %0, %bw : tensor<4x16xf32>
  %3 = sinter.relu %2 : tensor<4x16xf32>
  %y = sinter.cast %3 : tensor<4x16xf32> -> tensor<4x16xbf16>
  %yw = sinter.cast %y : tensor<4x16xbf16> -> tensor<4x16xf32>
  %gw = sinter.cast %g : tensor<4x2xbf16> -> tensor<4x2xf32>
  %vw = sinter.cast %v : tensor<2x16xbf16> -> tensor<2x16xf32>
  %4 = sinter.dot_general %gw, %vw batch [] x [] contract [1] x [0] : (tensor<4x2xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
  %5 = sinter.compare gt %yw, %zero : tensor<4x16xf32>
  %6 = sinter.where %5, %4, %zero : tensor<4x16xi1>, tensor<4x16xf32>
  %7 = sinter.cast %6 : tensor<4x16xf32> -> tensor<4x16xbf16>
  %8 = sinter.cast %7 : tensor<4x16xbf16> -> tensor<4x16xf32>
  %9 = sinter.reduce sum %8 dims [0] : (tensor<4x16xf32>) -> tensor<16xf32>
  return %y, %7, %9 : tensor<4x16xbf16>, tensor<4x16xbf16>, tensor<16xf32>
}

// Must not fire: beside a rounded result, an operand would have to be rounded.
// The gradient of the relu reads a mask of its own, no bits.
// CHECK-LABEL: @relu_beside_float32
// CHECK: sinter.library_call matmul
// CHECK: sinter.relu
// CHECK: sinter.yield %{{.*}} : tensor<4x16xbf16>
// CHECK: sinter.library_call matmul
// CHECK: sinter.dot_general
// CHECK-NEXT: sinter.yield %{{.*}} : tensor<4x16xf32>
// CHECK: sinter.add
// CHECK: sinter.compare
// CHECK: sinter.where
func.func @relu_beside_float32(%x: tensor<4x8xbf16> {sinter.input = "x"}, %w: tensor<8x16xbf16> {sinter.input = "w"}, %g: tensor<4x2xbf16> {sinter.input = "g"}, %v: tensor<2x16xbf16> {sinter.input = "v"}, %a: tensor<4x16xf32> {sinter.input = "a"}, %b: tensor<4x16xbf16> {sinter.input = "b"})
    -> (tensor<4x16xbf16> {sinter.output = "y"}, tensor<4x16xbf16> {sinter.output = "dx"}) {
  %zero = sinter.constant dense<0.0> : tensor<4x16xf32>
  %xw = sinter.cast %x : tensor<4x8xbf16> -> tensor<4x8xf32>
  %ww = sinter.cast %w : tensor<8x16xbf16> -> tensor<8x16xf32>
  %0 = sinter.dot_general %xw, %ww batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = sinter.relu %0 : tensor<4x16xf32>
  %y = sinter.cast %1 : tensor<4x16xf32> -> tensor<4x16xbf16>
  %yw = sinter.cast %y : tensor<4x16xbf16> -> tensor<4x16xf32>
  %gw = sinter.cast %g : tensor<4x2xbf16> -> tensor<4x2xf32>
  %vw = sinter.cast %v : tensor<2x16xbf16> -> tensor<2x16xf32>
  %2 = sinter.dot_general %gw, %vw batch [] x [] contract [1] x [0] : (tensor<4x2xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
  %bw = sinter.cast %b : tensor<4x16xbf16> -> tensor<4x16xf32>
  %3 = sinter.add %2, %bw : tensor<4x16xf32>
  %4 = sinter.compare gt %yw, %zero : tensor<4x16xf32>
  %5 = sinter.where %4, %3, %zero : tensor<4x16xi1>, tensor<4x16xf32>
  %6 = sinter.add %5, %a : tensor<4x16xf32>
  %7 = sinter.cast %6 : tensor<4x16xf32> -> tensor<4x16xbf16>
  return %y, %7 : tensor<4x16xbf16>, tensor<4x16xbf16>
}

// What a GELU is applied to is kept as others read it: rounded.
// CHECK-LABEL: @gelu
// CHECK: %[[Y:.*]]:2 = sinter.library_call matmul(%arg0, %arg1)
// CHECK: %[[X:.*]] = sinter.dot_general
// CHECK-DAG: %[[X16:.*]] = sinter.cast %[[X]]
// CHECK-DAG: %[[GELU:.*]] = sinter.gelu tanh %[[X]]
// CHECK: %[[Y16:.*]] = sinter.cast %[[GELU]]
// CHECK: sinter.yield %[[Y16]], %[[X16]]
// CHECK: sinter.library_call matmul(%arg2, %arg3, %[[Y]]#1)
// CHECK: sinter.gelu_grad tanh
// CHECK: sinter.yield %{{.*}} : tensor<4x16xf16>
// PLAN-LABEL: exec.program @gelu(
// PLAN: exec.matmul({{.*}} post [#exec.post_op<store write 1>, #exec.post_op<gelu_tanh>]
// PLAN: exec.matmul({{.*}} post [#exec.post_op<gelu_tanh_grad read 2>]
// PLAN-NOT: exec.launch
func.func @gelu(%x: tensor<4x8xf16> {sinter.input = "x"}, %w: tensor<8x16xf16> {sinter.input = "w"}, %g: tensor<4x2xf16> {sinter.input = "g"}, %v: tensor<2x16xf16> {sinter.input = "v"})
    -> (tensor<4x16xf16> {sinter.output = "y"}, tensor<4x16xf16> {sinter.output = "dx"}) {
  %xw = sinter.cast %x : tensor<4x8xf16> -> tensor<4x8xf32>
  %ww = sinter.cast %w : tensor<8x16xf16> -> tensor<8x16xf32>
  %0 = sinter.dot_general %xw, %ww batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %z = sinter.cast %0 : tensor<4x16xf32> -> tensor<4x16xf16>
  %zw = sinter.cast %z : tensor<4x16xf16> -> tensor<4x16xf32>
  %1 = sinter.gelu tanh %0 : tensor<4x16xf32>
  %y = sinter.cast %1 : tensor<4x16xf32> -> tensor<4x16xf16>
  %gw = sinter.cast %g : tensor<4x2xf16> -> tensor<4x2xf32>
  %vw = sinter.cast %v : tensor<2x16xf16> -> tensor<2x16xf32>
  %2 = sinter.dot_general %gw, %vw batch [] x [] contract [1] x [0] : (tensor<4x2xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
  %3 = sinter.gelu_grad tanh %2, %zw : tensor<4x16xf32>
  %4 = sinter.cast %3 : tensor<4x16xf32> -> tensor<4x16xf16>
  return %y, %4 : tensor<4x16xf16>, tensor<4x16xf16>
}

// What is kept has the type of the result: where it must not be rounded, a
// kernel of its own rounds the result.
// CHECK-LABEL: @gelu_of_float32
// CHECK: %[[Y:.*]]:2 = sinter.library_call matmul(%arg0, %arg1)
// CHECK: %[[X:.*]] = sinter.dot_general
// CHECK-NEXT: %[[GELU:.*]] = sinter.gelu tanh %[[X]]
// CHECK-NEXT: sinter.yield %[[GELU]], %[[X]] : tensor<4x16xf32>, tensor<4x16xf32>
// CHECK: sinter.cast %[[Y]]#0
// PLAN-LABEL: exec.program @gelu_of_float32(
// PLAN: exec.matmul({{.*}} post [#exec.post_op<store write 1>, #exec.post_op<gelu_tanh>]
// PLAN: exec.launch
func.func @gelu_of_float32(%x: tensor<4x8xbf16> {sinter.input = "x"}, %w: tensor<8x16xbf16> {sinter.input = "w"})
    -> (tensor<4x16xbf16> {sinter.output = "y"}, tensor<4x16xf32> {sinter.output = "z"}) {
  %xw = sinter.cast %x : tensor<4x8xbf16> -> tensor<4x8xf32>
  %ww = sinter.cast %w : tensor<8x16xbf16> -> tensor<8x16xf32>
  %0 = sinter.dot_general %xw, %ww batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = sinter.gelu tanh %0 : tensor<4x16xf32>
  %y = sinter.cast %1 : tensor<4x16xf32> -> tensor<4x16xbf16>
  return %y, %0 : tensor<4x16xbf16>, tensor<4x16xf32>
}

// The sum of a rounded gradient comes with the float32 gradient of the weights,
// though it is widened a second time.
// CHECK-LABEL: @weights_and_bias
// CHECK: %[[G:.*]]:2 = sinter.library_call matmul(%arg0, %arg1)
// CHECK: return %[[G]]#0, %[[G]]#1
// PLAN-LABEL: exec.program @weights_and_bias
// PLAN: exec.matmul(%{{.*}}) -> %{{.*}} keeps(%{{.*}}) m 16 n 8 k 12 {{.*}} post [#exec.post_op<a_sum write 1>]
func.func @weights_and_bias(%g: tensor<12x16xbf16> {sinter.input = "g"}, %x: tensor<12x8xbf16> {sinter.input = "x"})
    -> (tensor<16x8xf32> {sinter.output = "dw"}, tensor<16xf32> {sinter.output = "db"}) {
  %gw = sinter.cast %g : tensor<12x16xbf16> -> tensor<12x16xf32>
  %again = sinter.cast %g : tensor<12x16xbf16> -> tensor<12x16xf32>
  %xw = sinter.cast %x : tensor<12x8xbf16> -> tensor<12x8xf32>
  %0 = sinter.reduce sum %again dims [0] : (tensor<12x16xf32>) -> tensor<16xf32>
  %1 = sinter.dot_general %gw, %xw batch [] x [] contract [0] x [0] : (tensor<12x16xf32>, tensor<12x8xf32>) -> tensor<16x8xf32>
  return %1, %0 : tensor<16x8xf32>, tensor<16xf32>
}

// Must not fire: the gradient of the weights is rounded, the sum is not.
// CHECK-LABEL: @rounded_weights_and_bias
// CHECK: sinter.reduce
// CHECK: sinter.library_call matmul(%arg0, %arg1)
// CHECK: sinter.yield %{{.*}} : tensor<16x8xbf16>
func.func @rounded_weights_and_bias(%g: tensor<12x16xbf16> {sinter.input = "g"}, %x: tensor<12x8xbf16> {sinter.input = "x"})
    -> (tensor<16x8xbf16> {sinter.output = "dw"}, tensor<16xf32> {sinter.output = "db"}) {
  %gw = sinter.cast %g : tensor<12x16xbf16> -> tensor<12x16xf32>
  %xw = sinter.cast %x : tensor<12x8xbf16> -> tensor<12x8xf32>
  %0 = sinter.reduce sum %gw dims [0] : (tensor<12x16xf32>) -> tensor<16xf32>
  %1 = sinter.dot_general %gw, %xw batch [] x [] contract [0] x [0] : (tensor<12x16xf32>, tensor<12x8xf32>) -> tensor<16x8xf32>
  %2 = sinter.cast %1 : tensor<16x8xf32> -> tensor<16x8xbf16>
  return %2, %0 : tensor<16x8xbf16>, tensor<16xf32>
}
