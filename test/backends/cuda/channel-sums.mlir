// RUN: sinter-opt %s --phase-options="--target=cuda --libraries=cublaslt,cudnn-sums" --pass-pipeline='builtin.module(func.func(sinter-fuse-epilogues))' | FileCheck %s
// RUN: sinter-opt %s --phase-options="--target=cuda --libraries=cublaslt" --pass-pipeline='builtin.module(func.func(sinter-fuse-epilogues))' | FileCheck %s --check-prefix=OWN

// The statistics of a batch normalisation come with the convolution, if that is asked for: its sums
// and those of its squares, of which the squares of the mean are taken.
// CHECK-LABEL: @statistics
// CHECK: %[[CONV:.*]]:3 = sinter.library_call conv
// CHECK-SAME: -> (tensor<2x16x16x8xbf16>, tensor<8xf32>, tensor<8xf32>)
// CHECK: %[[Y:.*]] = sinter.cast %{{.*}} : tensor<2x16x16x8xf32> -> tensor<2x16x16x8xbf16>
// CHECK: %[[WIDE:.*]] = sinter.cast %[[Y]]
// CHECK: %[[SUM:.*]] = sinter.reduce sum %[[WIDE]] dims [0, 1, 2]
// CHECK: %[[SQUARE:.*]] = sinter.mul %[[WIDE]], %[[WIDE]]
// CHECK: %[[SQUARES:.*]] = sinter.reduce sum %[[SQUARE]] dims [0, 1, 2]
// CHECK: sinter.yield %[[Y]], %[[SUM]], %[[SQUARES]]
// CHECK: %[[MEAN:.*]] = sinter.div %[[CONV]]#1, %{{.*}} : tensor<8xf32>
// CHECK: %[[OFMEAN:.*]] = sinter.mul %[[CONV]]#1, %[[MEAN]]
// CHECK: %[[LEFT:.*]] = sinter.sub %[[CONV]]#2, %[[OFMEAN]]
// CHECK: %[[ZERO:.*]] = sinter.constant dense<0.000000e+00>
// CHECK: %[[DEVIATIONS:.*]] = sinter.max %[[LEFT]], %[[ZERO]]
// CHECK-NOT: sinter.reduce
// CHECK: return %{{.*}}, %[[DEVIATIONS]]
// A kernel of ours reads the result twice, and loses nothing.
// OWN-LABEL: @statistics
// OWN: sinter.kernel conv
// OWN-SAME: over <
// OWN: sinter.reduce sum
// OWN: sinter.sub
// OWN: sinter.reduce sum
func.func @statistics(%x: tensor<2x16x16x4xbf16>, %w: tensor<8x4x1x1xbf16>) -> (tensor<2x16x16x8xf32>, tensor<8xf32>) {
  %0 = sinter.cast %x : tensor<2x16x16x4xbf16> -> tensor<2x16x16x4xf32>
  %1 = sinter.cast %w : tensor<8x4x1x1xbf16> -> tensor<8x4x1x1xf32>
  %2 = sinter.conv %0, %1 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>}
     : (tensor<2x16x16x4xf32>, tensor<8x4x1x1xf32>) -> tensor<2x16x16x8xf32>
  %3 = sinter.cast %2 : tensor<2x16x16x8xf32> -> tensor<2x16x16x8xbf16>
  %4 = sinter.cast %3 : tensor<2x16x16x8xbf16> -> tensor<2x16x16x8xf32>
  %count = sinter.constant dense<5.120000e+02> : tensor<8xf32>
  %5 = sinter.reduce sum %4 dims [0, 1, 2] : (tensor<2x16x16x8xf32>) -> tensor<8xf32>
  %6 = sinter.div %5, %count : tensor<8xf32>
  %7 = sinter.broadcast %6 dims [3] : tensor<8xf32> -> tensor<2x16x16x8xf32>
  %8 = sinter.sub %4, %7 : tensor<2x16x16x8xf32>
  %9 = sinter.mul %8, %8 : tensor<2x16x16x8xf32>
  %10 = sinter.reduce sum %9 dims [0, 1, 2] : (tensor<2x16x16x8xf32>) -> tensor<8xf32>
  return %8, %10 : tensor<2x16x16x8xf32>, tensor<8xf32>
}

// Must not fire: in float32 the squares of a mean take the digits away.
// CHECK-LABEL: @float32
// CHECK: sinter.library_call conv
// CHECK: sinter.yield %{{[a-z0-9]+}} : tensor<2x16x16x8xf32>
// CHECK: sinter.reduce
func.func @float32(%x: tensor<2x16x16x4xf32>, %w: tensor<8x4x1x1xf32>) -> (tensor<2x16x16x8xf32>, tensor<8xf32>) {
  %2 = sinter.conv %x, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>}
     : (tensor<2x16x16x4xf32>, tensor<8x4x1x1xf32>) -> tensor<2x16x16x8xf32>
  %count = sinter.constant dense<5.120000e+02> : tensor<8xf32>
  %5 = sinter.reduce sum %2 dims [0, 1, 2] : (tensor<2x16x16x8xf32>) -> tensor<8xf32>
  %6 = sinter.div %5, %count : tensor<8xf32>
  %7 = sinter.broadcast %6 dims [3] : tensor<8xf32> -> tensor<2x16x16x8xf32>
  %8 = sinter.sub %2, %7 : tensor<2x16x16x8xf32>
  %9 = sinter.mul %8, %8 : tensor<2x16x16x8xf32>
  %10 = sinter.reduce sum %9 dims [0, 1, 2] : (tensor<2x16x16x8xf32>) -> tensor<8xf32>
  return %8, %10 : tensor<2x16x16x8xf32>, tensor<8xf32>
}

// Must not fire: so many products want the fastest engine, which adds up no
// channels.
// CHECK-LABEL: @many_products
// CHECK: sinter.library_call conv
// CHECK: sinter.yield %{{[a-z0-9]+}} : tensor<2x16x16x512xbf16>
// CHECK: sinter.reduce
func.func @many_products(%x: tensor<2x16x16x512xbf16>, %w: tensor<512x512x3x3xbf16>) -> (tensor<2x16x16x512xf32>, tensor<512xf32>) {
  %0 = sinter.cast %x : tensor<2x16x16x512xbf16> -> tensor<2x16x16x512xf32>
  %1 = sinter.cast %w : tensor<512x512x3x3xbf16> -> tensor<512x512x3x3xf32>
  %2 = sinter.conv %0, %1 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>}
     : (tensor<2x16x16x512xf32>, tensor<512x512x3x3xf32>) -> tensor<2x16x16x512xf32>
  %3 = sinter.cast %2 : tensor<2x16x16x512xf32> -> tensor<2x16x16x512xbf16>
  %4 = sinter.cast %3 : tensor<2x16x16x512xbf16> -> tensor<2x16x16x512xf32>
  %count = sinter.constant dense<5.120000e+02> : tensor<512xf32>
  %5 = sinter.reduce sum %4 dims [0, 1, 2] : (tensor<2x16x16x512xf32>) -> tensor<512xf32>
  %6 = sinter.div %5, %count : tensor<512xf32>
  %7 = sinter.broadcast %6 dims [3] : tensor<512xf32> -> tensor<2x16x16x512xf32>
  %8 = sinter.sub %4, %7 : tensor<2x16x16x512xf32>
  %9 = sinter.mul %8, %8 : tensor<2x16x16x512xf32>
  %10 = sinter.reduce sum %9 dims [0, 1, 2] : (tensor<2x16x16x512xf32>) -> tensor<512xf32>
  return %8, %10 : tensor<2x16x16x512xf32>, tensor<512xf32>
}
