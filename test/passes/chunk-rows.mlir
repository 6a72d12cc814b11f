// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-chunk-rows{least-bytes=16384 most-chunks=4}))' | FileCheck %s
// RUN: sinter-opt %s --mlir-print-debuginfo --mlir-print-local-scope --pass-pipeline='builtin.module(func.func(sinter-chunk-rows{least-bytes=16384 most-chunks=4}))' | FileCheck %s --check-prefix=NAMES
// test/ops/ChunkRowsTest.cpp evaluates these functions before and after the pass.

// The logits of a batch and their gradient: a chunk for each row of the batch. A chunk begins when the one before
// has ended. Losses are joined, and the gradients of weight and bias are added up.
// CHECK-LABEL: @cross_entropy
// CHECK: %[[X0:.*]] = sinter.slice %arg0 starts [0, 0, 0] limits [1, 1024, 4]
// CHECK: sinter.gather %{{.*}}, %{{.*}} axis 0 : (tensor<4x1x1024xi64>, tensor<i64>) -> tensor<1x1024xi64>
// CHECK: sinter.dot_general %[[X0]], %arg1 {{.*}} -> tensor<1x1024x64xf32>
// CHECK: sinter.iota {axis = 2 : i64} : tensor<1x1024x64xi64>
// CHECK: %[[D0:.*]] = sinter.mul %{{.*}} : tensor<1x1024x64xf32>
// CHECK: %[[H0:.*]] = sinter.dot_general %[[D0]], %arg1
// CHECK: %[[W0:.*]] = sinter.dot_general %[[D0]], %[[X0]]
// CHECK: %[[B0:.*]] = sinter.reduce sum %[[D0]] dims [0, 1]
// CHECK: %[[NEXT:.*]] = sinter.after %arg0, %{{.*}}, %[[H0]], %[[W0]], %[[B0]]
// CHECK: %[[X1:.*]] = sinter.slice %[[NEXT]] starts [1, 0, 0] limits [2, 1024, 4]
// CHECK: sinter.dot_general %[[X1]], %arg1
// CHECK: %[[W1:.*]] = sinter.dot_general %{{.*}}, %[[X1]]
// CHECK: sinter.add %[[W0]], %[[W1]] : tensor<64x4xf32>
// CHECK: sinter.add %[[B0]], %{{.*}} : tensor<64xf32>
// CHECK: %[[W:.*]] = sinter.add %{{.*}} : tensor<64x4xf32>
// CHECK: %[[B:.*]] = sinter.add %{{.*}} : tensor<64xf32>
// CHECK: %[[H:.*]] = sinter.concat %[[H0]], {{.*}} axis 0
// CHECK-NOT: 4x1024x64
// CHECK: return %{{.*}}, %[[H]], %{{.*}}, %{{.*}} :
func.func @cross_entropy(%x: tensor<4x1024x4xf32>, %w: tensor<64x4xf32>, %labels: tensor<4x1024xi64>,
                         %bias: tensor<64xf32>)
    -> (tensor<f32>, tensor<4x1024x4xf32>, tensor<64x4xf32>, tensor<64xf32>) {
  %p = sinter.dot_general %x, %w batch [] x [] contract [2] x [1] : (tensor<4x1024x4xf32>, tensor<64x4xf32>) -> tensor<4x1024x64xf32>
  %bb = sinter.broadcast %bias dims [2] : tensor<64xf32> -> tensor<4x1024x64xf32>
  %z = sinter.add %p, %bb : tensor<4x1024x64xf32>
  %max = sinter.reduce max %z dims [2] : (tensor<4x1024x64xf32>) -> tensor<4x1024xf32>
  %maxes = sinter.broadcast %max dims [0, 1] : tensor<4x1024xf32> -> tensor<4x1024x64xf32>
  %shifted = sinter.sub %z, %maxes : tensor<4x1024x64xf32>
  %e = sinter.exp %shifted : tensor<4x1024x64xf32>
  %sum = sinter.reduce sum %e dims [2] : (tensor<4x1024x64xf32>) -> tensor<4x1024xf32>
  %log = sinter.log %sum : tensor<4x1024xf32>
  %i = sinter.iota {axis = 2 : i64} : tensor<4x1024x64xi64>
  %l = sinter.broadcast %labels dims [0, 1] : tensor<4x1024xi64> -> tensor<4x1024x64xi64>
  %is = sinter.compare eq %i, %l : tensor<4x1024x64xi64>
  %zero = sinter.constant dense<0.0> : tensor<4x1024x64xf32>
  %one = sinter.constant dense<1.0> : tensor<4x1024x64xf32>
  %chosen = sinter.where %is, %shifted, %zero : tensor<4x1024x64xi1>, tensor<4x1024x64xf32>
  %at = sinter.reduce sum %chosen dims [2] : (tensor<4x1024x64xf32>) -> tensor<4x1024xf32>
  %losses = sinter.sub %log, %at : tensor<4x1024xf32>
  %loss = sinter.reduce sum %losses dims [0, 1] : (tensor<4x1024xf32>) -> tensor<f32>
  %sums = sinter.broadcast %sum dims [0, 1] : tensor<4x1024xf32> -> tensor<4x1024x64xf32>
  %soft = sinter.div %e, %sums : tensor<4x1024x64xf32>
  %hot = sinter.where %is, %one, %zero : tensor<4x1024x64xi1>, tensor<4x1024x64xf32>
  %d = sinter.sub %soft, %hot : tensor<4x1024x64xf32>
  %scale = sinter.constant dense<0.25> : tensor<4x1024x64xf32>
  %dz = sinter.mul %d, %scale : tensor<4x1024x64xf32>
  %dx = sinter.dot_general %dz, %w batch [] x [] contract [2] x [0] : (tensor<4x1024x64xf32>, tensor<64x4xf32>) -> tensor<4x1024x4xf32>
  %dw = sinter.dot_general %dz, %x batch [] x [] contract [0, 1] x [0, 1] : (tensor<4x1024x64xf32>, tensor<4x1024x4xf32>) -> tensor<64x4xf32>
  %db = sinter.reduce sum %dz dims [0, 1] : (tensor<4x1024x64xf32>) -> tensor<64xf32>
  return %loss, %dx, %dw, %db : tensor<f32>, tensor<4x1024x4xf32>, tensor<64x4xf32>, tensor<64xf32>
}

// The number of rows has no good divisor: the last chunk is smaller. What is only read is cut, too; the rows of a
// 16-bit operand stay in 16 bits.
// CHECK-LABEL: @uneven
// CHECK: %[[X:.*]] = sinter.slice %arg0 starts [0, 0] limits [1033, 4] strides [1, 1] : (tensor<4129x4xbf16>)
// CHECK: %[[WIDE:.*]] = sinter.cast %[[X]] : tensor<1033x4xbf16> -> tensor<1033x4xf32>
// CHECK: sinter.dot_general %[[WIDE]],
// CHECK: sinter.slice %{{.*}} starts [3099, 0] limits [4129, 4]
// CHECK: sinter.arg_reduce max %{{.*}} : (tensor<1030x64xf32>) -> tensor<1030xi64>
// CHECK: sinter.concat %{{.*}} axis 0 : (tensor<1033xi64>, tensor<1033xi64>, tensor<1033xi64>, tensor<1030xi64>) -> tensor<4129xi64>
func.func @uneven(%x: tensor<4129x4xbf16>, %w: tensor<4x64xbf16>) -> tensor<4129xi64> {
  %a = sinter.cast %x : tensor<4129x4xbf16> -> tensor<4129x4xf32>
  %b = sinter.cast %w : tensor<4x64xbf16> -> tensor<4x64xf32>
  %z = sinter.dot_general %a, %b batch [] x [] contract [1] x [0] : (tensor<4129x4xf32>, tensor<4x64xf32>) -> tensor<4129x64xf32>
  %k = sinter.arg_reduce max %z {axis = 1 : i64} : (tensor<4129x64xf32>) -> tensor<4129xi64>
  return %k : tensor<4129xi64>
}

// Padding and the cut of the result belong to columns.
// CHECK-LABEL: @padded
// CHECK: sinter.slice %{{.*}} starts [0, 0] limits [1024, 61] strides [1, 1] : (tensor<1024x64xf32>) -> tensor<1024x61xf32>
// CHECK: sinter.pad %{{.*}} high [0, 3] {{.*}} -> tensor<1024x64xf32>
func.func @padded(%x: tensor<4096x4xf32>, %w: tensor<64x4xf32>) -> tensor<4096x4xf32> {
  %zero = sinter.constant dense<0.0> : tensor<f32>
  %z = sinter.dot_general %x, %w batch [] x [] contract [1] x [1] : (tensor<4096x4xf32>, tensor<64x4xf32>) -> tensor<4096x64xf32>
  %c = sinter.slice %z starts [0, 0] limits [4096, 61] strides [1, 1] : (tensor<4096x64xf32>) -> tensor<4096x61xf32>
  %t = sinter.tanh %c : tensor<4096x61xf32>
  %p = sinter.pad %t, %zero low [0, 0] high [0, 3] interior [0, 0] : (tensor<4096x61xf32>, tensor<f32>) -> tensor<4096x64xf32>
  %y = sinter.dot_general %p, %w batch [] x [] contract [1] x [0] : (tensor<4096x64xf32>, tensor<64x4xf32>) -> tensor<4096x4xf32>
  return %y : tensor<4096x4xf32>
}

// An op on the way from one member to another belongs to the region. A reader of a result that stands before the
// last member is moved.
// CHECK-LABEL: @between
// CHECK-COUNT-4: sinter.dot_general {{.*}} -> tensor<1024x64xf32>
// CHECK: %[[S:.*]] = sinter.concat
// CHECK: sinter.exp %{{.*}} : tensor<4096xf32>
func.func @between(%x: tensor<4096x4xf32>, %w: tensor<64x4xf32>) -> (tensor<4096xf32>, tensor<4096xf32>) {
  %z = sinter.dot_general %x, %w batch [] x [] contract [1] x [1] : (tensor<4096x4xf32>, tensor<64x4xf32>) -> tensor<4096x64xf32>
  %s = sinter.reduce sum %z dims [1] : (tensor<4096x64xf32>) -> tensor<4096xf32>
  %e = sinter.exp %s : tensor<4096xf32>
  %n = sinter.neg %s : tensor<4096xf32>
  %b = sinter.broadcast %n dims [0] : tensor<4096xf32> -> tensor<4096x64xf32>
  %d = sinter.sub %z, %b : tensor<4096x64xf32>
  %m = sinter.reduce max %d dims [1] : (tensor<4096x64xf32>) -> tensor<4096xf32>
  return %e, %m : tensor<4096xf32>, tensor<4096xf32>
}

// A large value that is made again for each chunk may have other readers, of which a member needs the result.
// CHECK-LABEL: @maker_with_readers
// CHECK: %[[WHOLE:.*]] = sinter.broadcast %arg2 dims [0] : tensor<4096xf32> -> tensor<4096x64xf32>
// CHECK: %[[FIRST:.*]] = sinter.reduce max %[[WHOLE]] dims [1]
// CHECK: sinter.broadcast %arg3 dims [0, 1] : tensor<1x64xf32> -> tensor<1024x64xf32>
// CHECK: sinter.broadcast %{{.*}} dims [0] : tensor<1024xf32> -> tensor<1024x64xf32>
// CHECK: return
func.func @maker_with_readers(%x: tensor<4096x4xf32>, %w: tensor<64x4xf32>, %r: tensor<4096xf32>, %one: tensor<1x64xf32>)
    -> tensor<4096xf32> {
  %p = sinter.dot_general %x, %w batch [] x [] contract [1] x [1] : (tensor<4096x4xf32>, tensor<64x4xf32>) -> tensor<4096x64xf32>
  %ones = sinter.broadcast %one dims [0, 1] : tensor<1x64xf32> -> tensor<4096x64xf32>
  %z = sinter.add %p, %ones : tensor<4096x64xf32>
  %b = sinter.broadcast %r dims [0] : tensor<4096xf32> -> tensor<4096x64xf32>
  %d = sinter.sub %z, %b : tensor<4096x64xf32>
  %m = sinter.reduce max %d dims [1] : (tensor<4096x64xf32>) -> tensor<4096xf32>
  %f = sinter.reduce max %b dims [1] : (tensor<4096x64xf32>) -> tensor<4096xf32>
  %g = sinter.add %m, %f : tensor<4096xf32>
  %gs = sinter.broadcast %g dims [0] : tensor<4096xf32> -> tensor<4096x64xf32>
  %e = sinter.add %z, %gs : tensor<4096x64xf32>
  %y = sinter.reduce sum %e dims [1] : (tensor<4096x64xf32>) -> tensor<4096xf32>
  return %y : tensor<4096xf32>
}

// Must not fire: the large value is a result; a member needs a sum over all rows; rows are ordered by another row;
// the hidden layer is not much larger than what is around it; a small value.
// CHECK-LABEL: @left_alone
// CHECK-NOT: sinter.concat
// CHECK-NOT: sinter.after
// CHECK: return
func.func @left_alone(%x: tensor<4096x4xf32>, %w: tensor<64x4xf32>, %a: tensor<4096x64xf32>, %v: tensor<128x64xf32>,
                      %u: tensor<128x64xf32>)
    -> (tensor<4096x64xf32>, tensor<4096xf32>, tensor<4096x64xf32>, tensor<4096xf32>, tensor<128xf32>) {
  %z = sinter.dot_general %x, %w batch [] x [] contract [1] x [1] : (tensor<4096x4xf32>, tensor<64x4xf32>) -> tensor<4096x64xf32>
  %y = sinter.dot_general %a, %w batch [] x [] contract [1] x [0] : (tensor<4096x64xf32>, tensor<64x4xf32>) -> tensor<4096x4xf32>
  %z2 = sinter.dot_general %y, %w batch [] x [] contract [1] x [1] : (tensor<4096x4xf32>, tensor<64x4xf32>) -> tensor<4096x64xf32>
  %column = sinter.reduce sum %z2 dims [0] : (tensor<4096x64xf32>) -> tensor<64xf32>
  %columns = sinter.broadcast %column dims [1] : tensor<64xf32> -> tensor<4096x64xf32>
  %centred = sinter.sub %z2, %columns : tensor<4096x64xf32>
  %m = sinter.reduce max %centred dims [1] : (tensor<4096x64xf32>) -> tensor<4096xf32>
  %h = sinter.dot_general %a, %v batch [] x [] contract [1] x [1] : (tensor<4096x64xf32>, tensor<128x64xf32>) -> tensor<4096x128xf32>
  %r = sinter.relu %h : tensor<4096x128xf32>
  %o = sinter.dot_general %r, %v batch [] x [] contract [1] x [0] : (tensor<4096x128xf32>, tensor<128x64xf32>) -> tensor<4096x64xf32>
  %z3 = sinter.dot_general %x, %w batch [] x [] contract [1] x [1] : (tensor<4096x4xf32>, tensor<64x4xf32>) -> tensor<4096x64xf32>
  %run = sinter.cumulative sum %z3 {axis = 0 : i64} : tensor<4096x64xf32>
  %last = sinter.reduce max %run dims [1] : (tensor<4096x64xf32>) -> tensor<4096xf32>
  %g = sinter.dot_general %u, %v batch [] x [] contract [1] x [1] : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x128xf32>
  %k = sinter.reduce max %g dims [1] : (tensor<128x128xf32>) -> tensor<128xf32>
  return %z, %m, %o, %last, %k : tensor<4096x64xf32>, tensor<4096xf32>, tensor<4096x64xf32>, tensor<4096xf32>, tensor<128xf32>
}

// A constant without a node's name is cut under the name of the product.
// NAMES-LABEL: @constant
// NAMES: sinter.slice {{.*}} limits [1024, 4] {{.*}} loc("head")
func.func @constant(%w: tensor<64x4xf32>) -> tensor<4096xf32> {
  %x = sinter.constant dense<0.5> : tensor<4096x4xf32> loc(unknown)
  %p = sinter.dot_general %x, %w batch [] x [] contract [1] x [1] : (tensor<4096x4xf32>, tensor<64x4xf32>) -> tensor<4096x64xf32> loc("head")
  %e = sinter.exp %p : tensor<4096x64xf32>
  %s = sinter.reduce sum %e dims [1] : (tensor<4096x64xf32>) -> tensor<4096xf32>
  return %s : tensor<4096xf32>
}
