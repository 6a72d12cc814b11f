// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-mask-padding))' | FileCheck %s
// test/ops/MaskPaddingTest.cpp evaluates these functions before and after the pass.

// The loss of a language model and the gradient of its logits, of a vocabulary of 61 in 64 columns: nothing is cut,
// and the gradient is not padded.
// CHECK-LABEL: @cross_entropy
// CHECK: %[[Z:.*]] = sinter.dot_general {{.*}} -> tensor<32x64xf32>
// CHECK-NOT: sinter.slice
// CHECK-NOT: sinter.pad
// CHECK: %[[COLUMN:.*]] = sinter.iota {axis = 1 : i64} : tensor<32x64xi64>
// CHECK: %[[COUNT:.*]] = sinter.constant dense<61> : tensor<32x64xi64>
// CHECK: %[[COUNTS:.*]] = sinter.compare lt %[[COLUMN]], %[[COUNT]]
// CHECK: %[[OFMAX:.*]] = sinter.where %[[COUNTS]], %[[Z]], %{{.*}}
// CHECK: sinter.reduce max %[[OFMAX]] dims [1]
// CHECK: %[[SHIFTED:.*]] = sinter.sub %[[Z]], %{{.*}} : tensor<32x64xf32>
// CHECK: %[[E:.*]] = sinter.exp %[[SHIFTED]] : tensor<32x64xf32>
// CHECK: %[[OFSUM:.*]] = sinter.where %[[COUNTS]], %[[E]], %{{.*}}
// CHECK: sinter.reduce sum %[[OFSUM]] dims [1]
// CHECK: %[[NARROW:.*]] = sinter.cast %{{.*}} : tensor<32x64xf32> -> tensor<32x64xbf16>
// CHECK: %[[D:.*]] = sinter.where %[[COUNTS]], %[[NARROW]], %{{.*}}
// CHECK: %[[WIDE:.*]] = sinter.cast %[[D]]
// CHECK: sinter.dot_general %[[WIDE]],
// CHECK: sinter.dot_general %[[WIDE]],
// CHECK: return
func.func @cross_entropy(%x: tensor<32x8xbf16>, %w: tensor<64x8xbf16>, %labels: tensor<32xi64>, %v: tensor<64x8xbf16>)
    -> (tensor<32xf32>, tensor<32x8xf32>, tensor<64x8xf32>) {
  %a = sinter.cast %x : tensor<32x8xbf16> -> tensor<32x8xf32>
  %b = sinter.cast %w : tensor<64x8xbf16> -> tensor<64x8xf32>
  %p = sinter.dot_general %a, %b batch [] x [] contract [1] x [1] : (tensor<32x8xf32>, tensor<64x8xf32>) -> tensor<32x64xf32>
  %z = sinter.slice %p starts [0, 0] limits [32, 61] strides [1, 1] : (tensor<32x64xf32>) -> tensor<32x61xf32>
  %max = sinter.reduce max %z dims [1] : (tensor<32x61xf32>) -> tensor<32xf32>
  %maxes = sinter.broadcast %max dims [0] : tensor<32xf32> -> tensor<32x61xf32>
  %shifted = sinter.sub %z, %maxes : tensor<32x61xf32>
  %e = sinter.exp %shifted : tensor<32x61xf32>
  %sum = sinter.reduce sum %e dims [1] : (tensor<32x61xf32>) -> tensor<32xf32>
  %log = sinter.log %sum : tensor<32xf32>
  %i = sinter.iota {axis = 1 : i64} : tensor<32x61xi64>
  %l = sinter.broadcast %labels dims [0] : tensor<32xi64> -> tensor<32x61xi64>
  %is = sinter.compare eq %i, %l : tensor<32x61xi64>
  %zero = sinter.constant dense<0.0> : tensor<32x61xf32>
  %one = sinter.constant dense<1.0> : tensor<32x61xf32>
  %chosen = sinter.where %is, %shifted, %zero : tensor<32x61xi1>, tensor<32x61xf32>
  %at = sinter.reduce sum %chosen dims [1] : (tensor<32x61xf32>) -> tensor<32xf32>
  %losses = sinter.sub %log, %at : tensor<32xf32>
  %sums = sinter.broadcast %sum dims [0] : tensor<32xf32> -> tensor<32x61xf32>
  %soft = sinter.div %e, %sums : tensor<32x61xf32>
  %hot = sinter.where %is, %one, %zero : tensor<32x61xi1>, tensor<32x61xf32>
  %d = sinter.sub %soft, %hot : tensor<32x61xf32>
  %n = sinter.cast %d : tensor<32x61xf32> -> tensor<32x61xbf16>
  %nought = sinter.constant dense<0.0> : tensor<bf16>
  %padded = sinter.pad %n, %nought low [0, 0] high [0, 3] interior [0, 0] : (tensor<32x61xbf16>, tensor<bf16>) -> tensor<32x64xbf16>
  %dz = sinter.cast %padded : tensor<32x64xbf16> -> tensor<32x64xf32>
  %c = sinter.cast %v : tensor<64x8xbf16> -> tensor<64x8xf32>
  %dx = sinter.dot_general %dz, %c batch [] x [] contract [1] x [0] : (tensor<32x64xf32>, tensor<64x8xf32>) -> tensor<32x8xf32>
  %dw = sinter.dot_general %dz, %a batch [] x [] contract [0] x [0] : (tensor<32x64xf32>, tensor<32x8xf32>) -> tensor<64x8xf32>
  return %losses, %dx, %dw : tensor<32xf32>, tensor<32x8xf32>, tensor<64x8xf32>
}

// Columns pass through reshapes and transposes. What is small is padded or cut: a bias and its gradient.
// CHECK-LABEL: @moved
// CHECK: %[[Z:.*]] = sinter.dot_general {{.*}} -> tensor<32x64xf32>
// CHECK: sinter.reshape %[[Z]] : tensor<32x64xf32> -> tensor<4x8x64xf32>
// CHECK: %[[T:.*]] = sinter.transpose {{.*}} -> tensor<4x64x8xf32>
// CHECK: sinter.pad %arg2, %{{.*}} high [3] {{.*}} -> tensor<64xf32>
// CHECK: sinter.add %[[T]], %{{.*}} : tensor<4x64x8xf32>
// CHECK: %[[SUMS:.*]] = sinter.reduce sum %{{.*}} dims [0, 2] : (tensor<4x64x8xf32>) -> tensor<64xf32>
// CHECK: sinter.slice %[[SUMS]] starts [0] limits [61]
// CHECK: sinter.where %{{.*}} : tensor<4x64x8xi1>, tensor<4x64x8xf32>
// CHECK: sinter.reduce min %{{.*}} dims [1] : (tensor<4x64x8xf32>) -> tensor<4x8xf32>
// CHECK: sinter.arg_reduce min %{{.*}} : (tensor<4x64x8xf32>) -> tensor<4x8xi64>
// CHECK: sinter.where %{{.*}} : tensor<4x64x8xi1>, tensor<4x64x8xf32>
// CHECK: return
func.func @moved(%x: tensor<32x8xf16>, %w: tensor<64x8xf16>, %bias: tensor<61xf32>, %other: tensor<f32>)
    -> (tensor<61xf32>, tensor<4x8xf32>, tensor<4x8xi64>, tensor<4x64x8xf32>) {
  %a = sinter.cast %x : tensor<32x8xf16> -> tensor<32x8xf32>
  %b = sinter.cast %w : tensor<64x8xf16> -> tensor<64x8xf32>
  %p = sinter.dot_general %a, %b batch [] x [] contract [1] x [1] : (tensor<32x8xf32>, tensor<64x8xf32>) -> tensor<32x64xf32>
  %c = sinter.slice %p starts [0, 0] limits [32, 61] strides [1, 1] : (tensor<32x64xf32>) -> tensor<32x61xf32>
  %r = sinter.reshape %c : tensor<32x61xf32> -> tensor<4x8x61xf32>
  %t = sinter.transpose %r perm [0, 2, 1] : (tensor<4x8x61xf32>) -> tensor<4x61x8xf32>
  %bb = sinter.broadcast %bias dims [1] : tensor<61xf32> -> tensor<4x61x8xf32>
  %z = sinter.add %t, %bb : tensor<4x61x8xf32>
  %sums = sinter.reduce sum %z dims [0, 2] : (tensor<4x61x8xf32>) -> tensor<61xf32>
  %least = sinter.reduce min %z dims [1] : (tensor<4x61x8xf32>) -> tensor<4x8xf32>
  %where = sinter.arg_reduce min %z {axis = 1 : i64} : (tensor<4x61x8xf32>) -> tensor<4x8xi64>
  %y = sinter.pad %z, %other low [0, 0, 0] high [0, 3, 0] interior [0, 0, 0] : (tensor<4x61x8xf32>, tensor<f32>) -> tensor<4x64x8xf32>
  return %sums, %least, %where, %y : tensor<61xf32>, tensor<4x8xf32>, tensor<4x8xi64>, tensor<4x64x8xf32>
}

// A product that was not padded reads the masked gradient, too, and its result is cut.
// CHECK-LABEL: @one_padded_product
// CHECK: sinter.dot_general {{.*}} -> tensor<32x64xf32>
// CHECK: %[[E:.*]] = sinter.exp %{{.*}} : tensor<32x64xf32>
// CHECK: %[[D:.*]] = sinter.where %{{.*}}, %[[E]], %{{.*}}
// CHECK: %[[W:.*]] = sinter.dot_general %[[D]], %{{.*}} -> tensor<64x8xf32>
// CHECK: sinter.slice %[[W]] starts [0, 0] limits [61, 8]
// CHECK: sinter.dot_general %[[D]], %{{.*}} -> tensor<32x8xf32>
// CHECK: return
func.func @one_padded_product(%x: tensor<32x8xbf16>, %w: tensor<64x8xbf16>, %v: tensor<64x8xf32>) -> (tensor<61x8xf32>, tensor<32x8xf32>) {
  %a = sinter.cast %x : tensor<32x8xbf16> -> tensor<32x8xf32>
  %b = sinter.cast %w : tensor<64x8xbf16> -> tensor<64x8xf32>
  %p = sinter.dot_general %a, %b batch [] x [] contract [1] x [1] : (tensor<32x8xf32>, tensor<64x8xf32>) -> tensor<32x64xf32>
  %z = sinter.slice %p starts [0, 0] limits [32, 61] strides [1, 1] : (tensor<32x64xf32>) -> tensor<32x61xf32>
  %e = sinter.exp %z : tensor<32x61xf32>
  %dw = sinter.dot_general %e, %a batch [] x [] contract [0] x [0] : (tensor<32x61xf32>, tensor<32x8xf32>) -> tensor<61x8xf32>
  %zero = sinter.constant dense<0.0> : tensor<f32>
  %d = sinter.pad %e, %zero low [0, 0] high [0, 3] interior [0, 0] : (tensor<32x61xf32>, tensor<f32>) -> tensor<32x64xf32>
  %dx = sinter.dot_general %d, %v batch [] x [] contract [1] x [0] : (tensor<32x64xf32>, tensor<64x8xf32>) -> tensor<32x8xf32>
  return %dw, %dx : tensor<61x8xf32>, tensor<32x8xf32>
}

// The logits are a result, too: they alone are cut.
// CHECK-LABEL: @logits_too
// CHECK: %[[Z:.*]] = sinter.dot_general {{.*}} -> tensor<32x64xf32>
// CHECK: %[[CUT:.*]] = sinter.slice %[[Z]]
// CHECK: sinter.where %{{.*}}, %[[Z]], %{{.*}}
// CHECK: %[[K:.*]] = sinter.arg_reduce max %{{.*}} : (tensor<32x64xf32>) -> tensor<32xi64>
// CHECK: return %[[CUT]], %[[K]]
func.func @logits_too(%x: tensor<32x8xbf16>, %w: tensor<64x8xbf16>) -> (tensor<32x61xf32>, tensor<32xi64>) {
  %a = sinter.cast %x : tensor<32x8xbf16> -> tensor<32x8xf32>
  %b = sinter.cast %w : tensor<64x8xbf16> -> tensor<64x8xf32>
  %p = sinter.dot_general %a, %b batch [] x [] contract [1] x [1] : (tensor<32x8xf32>, tensor<64x8xf32>) -> tensor<32x64xf32>
  %z = sinter.slice %p starts [0, 0] limits [32, 61] strides [1, 1] : (tensor<32x64xf32>) -> tensor<32x61xf32>
  %k = sinter.arg_reduce max %z {axis = 1 : i64} : (tensor<32x61xf32>) -> tensor<32xi64>
  return %z, %k : tensor<32x61xf32>, tensor<32xi64>
}

// Must not fire: what would be padded is a large result, too.
// CHECK-LABEL: @large_result
// CHECK: sinter.slice
// CHECK: sinter.pad
// CHECK: return
func.func @large_result(%x: tensor<32x8xbf16>, %w: tensor<64x8xbf16>) -> (tensor<32x61xf32>, tensor<32x64xf32>) {
  %a = sinter.cast %x : tensor<32x8xbf16> -> tensor<32x8xf32>
  %b = sinter.cast %w : tensor<64x8xbf16> -> tensor<64x8xf32>
  %p = sinter.dot_general %a, %b batch [] x [] contract [1] x [1] : (tensor<32x8xf32>, tensor<64x8xf32>) -> tensor<32x64xf32>
  %z = sinter.slice %p starts [0, 0] limits [32, 61] strides [1, 1] : (tensor<32x64xf32>) -> tensor<32x61xf32>
  %e = sinter.exp %z : tensor<32x61xf32>
  %zero = sinter.constant dense<0.0> : tensor<f32>
  %d = sinter.pad %e, %zero low [0, 0] high [0, 3] interior [0, 0] : (tensor<32x61xf32>, tensor<f32>) -> tensor<32x64xf32>
  return %e, %d : tensor<32x61xf32>, tensor<32x64xf32>
}

// Must not fire: the probabilities are a large result; a large operand would be padded; the last of equal elements
// could be one that does not count; nothing is reduced; rows that are cut are aligned; more is cut than padding adds.
// CHECK-LABEL: @left_alone
// CHECK-NOT: sinter.where
// CHECK: return
func.func @left_alone(%x: tensor<32x8xbf16>, %w: tensor<64x8xbf16>, %other: tensor<32x61xf32>)
    -> (tensor<32x61xf32>, tensor<32xf32>, tensor<32xi64>, tensor<32x61xf32>, tensor<64xf32>, tensor<32xf32>) {
  %a = sinter.cast %x : tensor<32x8xbf16> -> tensor<32x8xf32>
  %b = sinter.cast %w : tensor<64x8xbf16> -> tensor<64x8xf32>
  %0 = sinter.dot_general %a, %b batch [] x [] contract [1] x [1] : (tensor<32x8xf32>, tensor<64x8xf32>) -> tensor<32x64xf32>
  %1 = sinter.slice %0 starts [0, 0] limits [32, 61] strides [1, 1] : (tensor<32x64xf32>) -> tensor<32x61xf32>
  %e = sinter.exp %1 : tensor<32x61xf32>
  %s = sinter.reduce sum %e dims [1] : (tensor<32x61xf32>) -> tensor<32xf32>
  %ss = sinter.broadcast %s dims [0] : tensor<32xf32> -> tensor<32x61xf32>
  %soft = sinter.div %e, %ss : tensor<32x61xf32>
  %2 = sinter.slice %0 starts [0, 0] limits [32, 61] strides [1, 1] : (tensor<32x64xf32>) -> tensor<32x61xf32>
  %m = sinter.mul %2, %other : tensor<32x61xf32>
  %ms = sinter.reduce sum %m dims [1] : (tensor<32x61xf32>) -> tensor<32xf32>
  %3 = sinter.slice %0 starts [0, 0] limits [32, 61] strides [1, 1] : (tensor<32x64xf32>) -> tensor<32x61xf32>
  %k = sinter.arg_reduce max %3 {axis = 1 : i64, select_last} : (tensor<32x61xf32>) -> tensor<32xi64>
  %4 = sinter.slice %0 starts [0, 0] limits [32, 61] strides [1, 1] : (tensor<32x64xf32>) -> tensor<32x61xf32>
  %n = sinter.neg %4 : tensor<32x61xf32>
  %5 = sinter.slice %0 starts [0, 0] limits [29, 64] strides [1, 1] : (tensor<32x64xf32>) -> tensor<29x64xf32>
  %c = sinter.reduce sum %5 dims [0] : (tensor<29x64xf32>) -> tensor<64xf32>
  %6 = sinter.slice %0 starts [0, 0] limits [32, 31] strides [1, 1] : (tensor<32x64xf32>) -> tensor<32x31xf32>
  %h = sinter.reduce sum %6 dims [1] : (tensor<32x31xf32>) -> tensor<32xf32>
  return %soft, %ms, %k, %n, %c, %h : tensor<32x61xf32>, tensor<32xf32>, tensor<32xi64>, tensor<32x61xf32>, tensor<64xf32>, tensor<32xf32>
}
