// RUN: sinter-opt %s --phase-options="--target=cuda" --pass-pipeline='builtin.module(func.func(sinter-split-attention))' | FileCheck %s
// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-split-attention))' | FileCheck %s --check-prefix=CPU

// CPU-NOT: x4x

// Four stretches of 64 keys, each with its greatest score, its sum and its part of the output. Exponentials are rounded
// as the probabilities were.
// CHECK-LABEL: @softmax
// CHECK: %[[X:.*]] = sinter.reshape %{{.*}} : tensor<2x1x256xf32> -> tensor<2x4x64xf32>
// CHECK: %[[M:.*]] = sinter.reduce max %[[X]] dims [2] : (tensor<2x4x64xf32>) -> tensor<2x4xf32>
// CHECK: sinter.where
// CHECK: %[[E:.*]] = sinter.exp
// CHECK: %[[L:.*]] = sinter.reduce sum %[[E]] dims [2]
// CHECK: %[[G:.*]] = sinter.reduce max %[[M]] dims [1] : (tensor<2x4xf32>) -> tensor<2xf32>
// CHECK: %[[W:.*]] = sinter.exp
// CHECK: sinter.mul %[[W]], %[[L]]
// CHECK: %[[R:.*]] = sinter.reshape %[[E]] : tensor<2x4x64xf32> -> tensor<2x4x1x64xf32>
// CHECK: sinter.cast %[[R]] : tensor<2x4x1x64xf32> -> tensor<2x4x1x64xbf16>
// CHECK: sinter.reshape %arg2 : tensor<2x256x8xbf16> -> tensor<2x4x64x8xbf16>
// CHECK: %[[O:.*]] = sinter.dot_general %{{.*}}, %{{.*}} batch [0, 1] x [0, 1] contract [3] x [2]
// CHECK-SAME: -> tensor<2x4x1x8xf32>
// CHECK: sinter.reduce sum %{{.*}} dims [1] : (tensor<2x4x8xf32>) -> tensor<2x8xf32>
// CHECK: sinter.div
// CHECK-NOT: tensor<2x1x256xbf16>
func.func @softmax(%q: tensor<2x1x8xf32>, %k: tensor<2x256x8xf32>, %v: tensor<2x256x8xbf16>) -> tensor<2x1x8xf32> {
  %0 = sinter.dot_general %q, %k batch [0] x [0] contract [2] x [2] : (tensor<2x1x8xf32>, tensor<2x256x8xf32>) -> tensor<2x1x256xf32>
  %1 = sinter.reduce max %0 dims [2] : (tensor<2x1x256xf32>) -> tensor<2x1xf32>
  %2 = sinter.broadcast %1 dims [0, 1] : tensor<2x1xf32> -> tensor<2x1x256xf32>
  %3 = sinter.sub %0, %2 : tensor<2x1x256xf32>
  %4 = sinter.exp %3 : tensor<2x1x256xf32>
  %5 = sinter.reduce sum %4 dims [2] : (tensor<2x1x256xf32>) -> tensor<2x1xf32>
  %6 = sinter.broadcast %5 dims [0, 1] : tensor<2x1xf32> -> tensor<2x1x256xf32>
  %7 = sinter.div %4, %6 : tensor<2x1x256xf32>
  %8 = sinter.cast %7 : tensor<2x1x256xf32> -> tensor<2x1x256xbf16>
  %9 = sinter.cast %8 : tensor<2x1x256xbf16> -> tensor<2x1x256xf32>
  %10 = sinter.cast %v : tensor<2x256x8xbf16> -> tensor<2x256x8xf32>
  %11 = sinter.dot_general %9, %10 batch [0] x [0] contract [2] x [1] : (tensor<2x1x256xf32>, tensor<2x256x8xf32>) -> tensor<2x1x8xf32>
  return %11 : tensor<2x1x8xf32>
}

// Must not fire: too few keys; two queries; the probabilities have another user.
// CHECK-LABEL: @left_alone
// CHECK-NOT: tensor<2x2x64
// CHECK-NOT: tensor<2x4x64
func.func @left_alone(%s: tensor<2x1x64xf32>, %t: tensor<2x2x256xf32>, %u: tensor<2x64x8xf32>, %v: tensor<2x256x8xf32>, %k: tensor<2x256x8xf32>, %q: tensor<2x1x8xf32>)
    -> (tensor<2x1x8xf32>, tensor<2x2x8xf32>, tensor<2x1x8xf32>, tensor<2x1x256xf32>) {
  %0 = sinter.reduce max %s dims [2] : (tensor<2x1x64xf32>) -> tensor<2x1xf32>
  %1 = sinter.broadcast %0 dims [0, 1] : tensor<2x1xf32> -> tensor<2x1x64xf32>
  %2 = sinter.sub %s, %1 : tensor<2x1x64xf32>
  %3 = sinter.exp %2 : tensor<2x1x64xf32>
  %4 = sinter.reduce sum %3 dims [2] : (tensor<2x1x64xf32>) -> tensor<2x1xf32>
  %5 = sinter.broadcast %4 dims [0, 1] : tensor<2x1xf32> -> tensor<2x1x64xf32>
  %6 = sinter.div %3, %5 : tensor<2x1x64xf32>
  %7 = sinter.dot_general %6, %u batch [0] x [0] contract [2] x [1] : (tensor<2x1x64xf32>, tensor<2x64x8xf32>) -> tensor<2x1x8xf32>

  %10 = sinter.reduce max %t dims [2] : (tensor<2x2x256xf32>) -> tensor<2x2xf32>
  %11 = sinter.broadcast %10 dims [0, 1] : tensor<2x2xf32> -> tensor<2x2x256xf32>
  %12 = sinter.sub %t, %11 : tensor<2x2x256xf32>
  %13 = sinter.exp %12 : tensor<2x2x256xf32>
  %14 = sinter.reduce sum %13 dims [2] : (tensor<2x2x256xf32>) -> tensor<2x2xf32>
  %15 = sinter.broadcast %14 dims [0, 1] : tensor<2x2xf32> -> tensor<2x2x256xf32>
  %16 = sinter.div %13, %15 : tensor<2x2x256xf32>
  %17 = sinter.dot_general %16, %v batch [0] x [0] contract [2] x [1] : (tensor<2x2x256xf32>, tensor<2x256x8xf32>) -> tensor<2x2x8xf32>

  %20 = sinter.dot_general %q, %k batch [0] x [0] contract [2] x [2] : (tensor<2x1x8xf32>, tensor<2x256x8xf32>) -> tensor<2x1x256xf32>
  %21 = sinter.reduce max %20 dims [2] : (tensor<2x1x256xf32>) -> tensor<2x1xf32>
  %22 = sinter.broadcast %21 dims [0, 1] : tensor<2x1xf32> -> tensor<2x1x256xf32>
  %23 = sinter.sub %20, %22 : tensor<2x1x256xf32>
  %24 = sinter.exp %23 : tensor<2x1x256xf32>
  %25 = sinter.reduce sum %24 dims [2] : (tensor<2x1x256xf32>) -> tensor<2x1xf32>
  %26 = sinter.broadcast %25 dims [0, 1] : tensor<2x1xf32> -> tensor<2x1x256xf32>
  %27 = sinter.div %24, %26 : tensor<2x1x256xf32>
  %28 = sinter.dot_general %27, %v batch [0] x [0] contract [2] x [1] : (tensor<2x1x256xf32>, tensor<2x256x8xf32>) -> tensor<2x1x8xf32>
  return %7, %17, %28, %27 : tensor<2x1x8xf32>, tensor<2x2x8xf32>, tensor<2x1x8xf32>, tensor<2x1x256xf32>
}
