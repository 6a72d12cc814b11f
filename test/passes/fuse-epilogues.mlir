// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-fuse-epilogues))' | FileCheck %s
// RUN: sinter-opt %s --mlir-print-debuginfo --pass-pipeline='builtin.module(func.func(sinter-fuse-epilogues))' | FileCheck %s --check-prefix=LOCATIONS

// CHECK-LABEL: @bias_relu
// CHECK: sinter.library_call matmul(%arg0, %arg1, %arg2)
// CHECK: sinter.dot_general
// CHECK: sinter.broadcast
// CHECK: sinter.add
// CHECK: %[[Y:.*]] = sinter.relu
// CHECK: sinter.yield %[[Y]]
func.func @bias_relu(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>, %b: tensor<3xf32>) -> tensor<4x3xf32> {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = sinter.broadcast %b dims [1] : tensor<3xf32> -> tensor<4x3xf32>
  %2 = sinter.add %0, %1 : tensor<4x3xf32>
  %3 = sinter.relu %2 : tensor<4x3xf32>
  return %3 : tensor<4x3xf32>
}

// CHECK-LABEL: @residual
// CHECK: sinter.library_call conv(%arg0, %arg1, %arg2)
// CHECK: sinter.conv
// CHECK: %[[Y:.*]] = sinter.add
// CHECK: sinter.yield %[[Y]]
func.func @residual(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>, %r: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %0 = sinter.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>}
     : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = sinter.add %0, %r : tensor<1x2x4x4xf32>
  return %1 : tensor<1x2x4x4xf32>
}

// Must not fire: the result of the contraction has another user.
// CHECK-LABEL: @two_users
// CHECK: %[[D:.*]] = sinter.library_call matmul
// CHECK: sinter.yield
// CHECK: sinter.relu %[[D]]
// CHECK: return %[[D]]
func.func @two_users(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = sinter.relu %0 : tensor<4x3xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<4x3xf32>
}

// Must not fire: a bias along the rows is none for the library.
// CHECK-LABEL: @bias_along_rows
// CHECK: sinter.library_call matmul(%arg0, %arg1) :
func.func @bias_along_rows(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>, %b: tensor<4xf32>) -> tensor<4x3xf32> {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = sinter.broadcast %b dims [0] : tensor<4xf32> -> tensor<4x3xf32>
  %2 = sinter.add %0, %1 : tensor<4x3xf32>
  return %2 : tensor<4x3xf32>
}

// Queries and keys of attention are read where a joint projection left them;
// the result is stored in the order of its only user.
// CHECK-LABEL: @views
// CHECK: %[[Y:.*]] = sinter.library_call matmul(%arg0) : (tensor<5x2x3x8xf32>) -> tensor<5x3x5xf32>
// CHECK: sinter.slice
// CHECK: sinter.slice
// CHECK: sinter.dot_general
// CHECK: %[[T:.*]] = sinter.transpose
// CHECK: sinter.yield %[[T]]
// CHECK-NOT: sinter.slice
// CHECK: return %[[Y]]
func.func @views(%qk: tensor<5x2x3x8xf32>) -> tensor<5x3x5xf32> {
  %0 = sinter.transpose %qk perm [1, 2, 0, 3] : (tensor<5x2x3x8xf32>) -> tensor<2x3x5x8xf32>
  %1 = sinter.slice %0 starts [0, 0, 0, 0] limits [1, 3, 5, 8] strides [1, 1, 1, 1] : (tensor<2x3x5x8xf32>) -> tensor<1x3x5x8xf32>
  %2 = sinter.slice %0 starts [1, 0, 0, 0] limits [2, 3, 5, 8] strides [1, 1, 1, 1] : (tensor<2x3x5x8xf32>) -> tensor<1x3x5x8xf32>
  %q = sinter.reshape %1 : tensor<1x3x5x8xf32> -> tensor<3x5x8xf32>
  %k = sinter.reshape %2 : tensor<1x3x5x8xf32> -> tensor<3x5x8xf32>
  %3 = sinter.dot_general %q, %k batch [0] x [0] contract [2] x [2] : (tensor<3x5x8xf32>, tensor<3x5x8xf32>) -> tensor<3x5x5xf32>
  %4 = sinter.transpose %3 perm [1, 0, 2] : (tensor<3x5x5xf32>) -> tensor<5x3x5xf32>
  return %4 : tensor<5x3x5xf32>
}

// Must not fire: no library has fast code for every second column.
// CHECK-LABEL: @strided_columns
// CHECK: sinter.slice
// CHECK: sinter.library_call matmul(%0, %arg1)
func.func @strided_columns(%x: tensor<4x16xf32>, %w: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %0 = sinter.slice %x starts [0, 0] limits [4, 16] strides [1, 2] : (tensor<4x16xf32>) -> tensor<4x8xf32>
  %1 = sinter.dot_general %0, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// Must not fire: an added tensor would have to lie like the result.
// CHECK-LABEL: @added_then_transposed
// CHECK: sinter.library_call matmul(%arg0, %arg1, %arg2)
// CHECK: sinter.yield
// CHECK: sinter.transpose
func.func @added_then_transposed(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>, %r: tensor<4x3xf32>) -> tensor<3x4xf32> {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = sinter.add %0, %r : tensor<4x3xf32>
  %2 = sinter.transpose %1 perm [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return %2 : tensor<3x4xf32>
}

// The heads of two examples are one batch dimension that is two loops.
// CHECK-LABEL: @loops_in_one_dimension
// CHECK: sinter.library_call matmul(%arg0, %arg1) : (tensor<2x5x3x8xf32>, tensor<6x8x4xf32>) -> tensor<6x5x4xf32>
func.func @loops_in_one_dimension(%x: tensor<2x5x3x8xf32>, %w: tensor<6x8x4xf32>) -> tensor<6x5x4xf32> {
  %0 = sinter.transpose %x perm [0, 2, 1, 3] : (tensor<2x5x3x8xf32>) -> tensor<2x3x5x8xf32>
  %1 = sinter.reshape %0 : tensor<2x3x5x8xf32> -> tensor<6x5x8xf32>
  %2 = sinter.dot_general %1, %w batch [0] x [0] contract [2] x [1] : (tensor<6x5x8xf32>, tensor<6x8x4xf32>) -> tensor<6x5x4xf32>
  return %2 : tensor<6x5x4xf32>
}

// At batch 1 nothing broadcasts a bias: it is a stored tensor that is added.
// CHECK-LABEL: @stored_bias
// CHECK: sinter.library_call matmul(%arg0, %arg1, %{{.*}})
// CHECK: sinter.add
// CHECK: sinter.yield
func.func @stored_bias(%x: tensor<1x8xf32>, %w: tensor<8x3xf32>) -> tensor<1x3xf32> {
  %b = sinter.constant dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<1x8xf32>, tensor<8x3xf32>) -> tensor<1x3xf32>
  %1 = sinter.add %0, %b : tensor<1x3xf32>
  return %1 : tensor<1x3xf32>
}

// A bias of equal numbers, of which folding made a splat, is a bias again.
// CHECK-LABEL: @equal_bias
// CHECK: %[[B:.*]] = sinter.constant dense<5.000000e-01> : tensor<3xf32>
// CHECK: sinter.library_call matmul(%arg0, %arg1, %[[B]])
// CHECK: sinter.broadcast %{{.*}} dims [1] : tensor<3xf32> -> tensor<4x3xf32>
// CHECK-NOT: sinter.library_call
func.func @equal_bias(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %c = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
     : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %h = sinter.constant dense<0.5> : tensor<4x3xf32>
  %y = sinter.add %c, %h : tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// A constant lies in memory already, like any residual.
// CHECK-LABEL: @constant_residual
// CHECK: %[[C:.*]] = sinter.constant dense<{{\[\[}}1.0
// CHECK: sinter.library_call matmul(%arg0, %arg1, %[[C]])
// CHECK-NOT: sinter.library_call
func.func @constant_residual(%x: tensor<1x8xf32>, %w: tensor<8x2xf32>) -> tensor<1x2xf32> {
  %c = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
     : (tensor<1x8xf32>, tensor<8x2xf32>) -> tensor<1x2xf32>
  %r = sinter.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %y = sinter.add %c, %r : tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// x * sigmoid(x) and x * min(max(x / 6 + 0.5, 0), 1) are one post-op each, though they
// use x twice.
// CHECK-LABEL: @gates
// CHECK: sinter.library_call matmul
// CHECK: sinter.sigmoid
// CHECK: sinter.mul
// CHECK: sinter.yield
// CHECK: sinter.library_call matmul
// CHECK: sinter.min
// CHECK-NEXT: sinter.mul
// CHECK-NEXT: sinter.yield
// CHECK-NOT: sinter.library_call
// CHECK: return
func.func @gates(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %c = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
     : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %s = sinter.sigmoid %c : tensor<4x8xf32>
  %y = sinter.mul %c, %s : tensor<4x8xf32>
  %d = sinter.dot_general %y, %w batch [] x [] contract [1] x [0]
     : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %sixth = sinter.constant dense<0.166666672> : tensor<4x8xf32>
  %half = sinter.constant dense<5.000000e-01> : tensor<4x8xf32>
  %one = sinter.constant dense<1.000000e+00> : tensor<4x8xf32>
  %a = sinter.mul %d, %sixth : tensor<4x8xf32>
  %b = sinter.add %a, %half : tensor<4x8xf32>
  %r = sinter.relu %b : tensor<4x8xf32>
  %m = sinter.min %r, %one : tensor<4x8xf32>
  %z = sinter.mul %d, %m : tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

// Must not fire: the value has a third user.
// CHECK-LABEL: @gate_used_elsewhere
// CHECK: sinter.library_call matmul
// CHECK-NOT: sinter.sigmoid
// CHECK: sinter.yield
// CHECK: sinter.sigmoid
func.func @gate_used_elsewhere(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %c = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
     : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %s = sinter.sigmoid %c : tensor<4x8xf32>
  %y = sinter.mul %c, %s : tensor<4x8xf32>
  return %y, %c : tensor<4x8xf32>, tensor<4x8xf32>
}

// A bias that the product also multiplies is read from outside, and once more as a bias.
// CHECK-LABEL: @bias_is_multiplied
// CHECK-SAME: (%[[B:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<8x8xf32>)
// CHECK: %[[X:.*]] = sinter.broadcast %[[B]] dims [1]
// CHECK-NEXT: sinter.library_call{{ +}}matmul(%[[X]], %[[W]], %[[B]])
// CHECK: sinter.dot_general %{{.*}}, %{{.*}}
// CHECK-NEXT: sinter.broadcast
// CHECK-NEXT: sinter.add
// CHECK-NEXT: sinter.yield
func.func @bias_is_multiplied(%b: tensor<8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %x = sinter.broadcast %b dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  %c = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
     : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y = sinter.add %c, %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// A call bears the nodes that it computes. What widens a rounded value of another node only reads it; a cast that is a node of the model is computed.
// LOCATIONS-LABEL: @nodes_of_casts
// LOCATIONS: sinter.library_call matmul
// LOCATIONS: } loc(#[[CALL:.*]])
// LOCATIONS: #[[CAST:.*]] = loc("/Cast")
// LOCATIONS: #[[PRODUCT:.*]] = loc("/MatMul")
// LOCATIONS: #[[CALL]] = loc(fused[#[[CAST]], #[[PRODUCT]]])
func.func @nodes_of_casts(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %0 = sinter.relu %x : tensor<4x8xf32> loc("/Relu")
  %1 = sinter.cast %0 : tensor<4x8xf32> -> tensor<4x8xbf16> loc("/Relu")
  %2 = sinter.cast %1 : tensor<4x8xbf16> -> tensor<4x8xf32> loc("/Relu")
  %3 = sinter.cast %w : tensor<8x3xf32> -> tensor<8x3xbf16> loc("/Weights")
  %4 = sinter.cast %3 : tensor<8x3xbf16> -> tensor<8x3xf32> loc("/Cast")
  %5 = sinter.dot_general %2, %4 batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32> loc("/MatMul")
  return %5 : tensor<4x3xf32>
}
