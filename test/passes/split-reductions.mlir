// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-split-reductions))' | FileCheck %s

// The statistics of a channel: per image first.
// CHECK-LABEL: @statistics
// CHECK: %[[P:.*]] = sinter.reduce sum %arg0 dims [1, 2] : (tensor<32x28x28x16xf32>) -> tensor<32x16xf32>
// CHECK: %[[S:.*]] = sinter.reduce sum %[[P]] dims [0] : (tensor<32x16xf32>) -> tensor<16xf32>
// CHECK: return %[[S]]
func.func @statistics(%x: tensor<32x28x28x16xf32>) -> tensor<16xf32> {
  %s = sinter.reduce sum %x dims [0, 1, 2] : (tensor<32x28x28x16xf32>) -> tensor<16xf32>
  return %s : tensor<16xf32>
}

// Few images: rows are parts as well. Kept dimensions may lie between.
// CHECK-LABEL: @few_images
// CHECK: %[[P:.*]] = sinter.reduce max %arg0 dims [3] : (tensor<2x8x56x64xf32>) -> tensor<2x8x56xf32>
// CHECK: sinter.reduce max %[[P]] dims [0, 2] : (tensor<2x8x56xf32>) -> tensor<8xf32>
func.func @few_images(%x: tensor<2x8x56x64xf32>) -> tensor<8xf32> {
  %s = sinter.reduce max %x dims [0, 2, 3] : (tensor<2x8x56x64xf32>) -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// Must not fire: little work, many results, or one dimension only.
// CHECK-LABEL: @left_alone
// CHECK-COUNT-3: sinter.reduce
// CHECK-NOT: sinter.reduce
func.func @left_alone(%a: tensor<8x8x8xf32>, %b: tensor<4096x8x8xf32>, %c: tensor<40000x2xf32>)
    -> (tensor<8xf32>, tensor<4096xf32>, tensor<2xf32>) {
  %x = sinter.reduce sum %a dims [0, 1] : (tensor<8x8x8xf32>) -> tensor<8xf32>
  %y = sinter.reduce sum %b dims [1, 2] : (tensor<4096x8x8xf32>) -> tensor<4096xf32>
  %z = sinter.reduce sum %c dims [0] : (tensor<40000x2xf32>) -> tensor<2xf32>
  return %x, %y, %z : tensor<8xf32>, tensor<4096xf32>, tensor<2xf32>
}

// The squares of a variance: those of an image about its own mean, in the loops of its sum.
// CHECK-LABEL: @variance
// CHECK: %[[P:.*]] = sinter.reduce sum %arg0 dims [1, 2] : (tensor<32x28x28x16xf32>) -> tensor<32x16xf32>
// CHECK: %[[S:.*]] = sinter.reduce sum %[[P]] dims [0]
// CHECK: %[[M:.*]] = sinter.div %[[S]], %
// CHECK: %[[N:.*]] = sinter.constant dense<7.840000e+02> : tensor<32x16xf32>
// CHECK: %[[PM:.*]] = sinter.div %[[P]], %[[N]]
// CHECK: %[[PB:.*]] = sinter.broadcast %[[PM]] dims [0, 3] : tensor<32x16xf32> -> tensor<32x28x28x16xf32>
// CHECK: %[[D:.*]] = sinter.sub %arg0, %[[PB]]
// CHECK: %[[DD:.*]] = sinter.mul %[[D]], %[[D]]
// CHECK: %[[Q:.*]] = sinter.reduce sum %[[DD]] dims [1, 2] : (tensor<32x28x28x16xf32>) -> tensor<32x16xf32>
// CHECK: %[[MB:.*]] = sinter.broadcast %[[M]] dims [1] : tensor<16xf32> -> tensor<32x16xf32>
// CHECK: %[[E:.*]] = sinter.sub %[[PM]], %[[MB]]
// CHECK: %[[EE:.*]] = sinter.mul %[[E]], %[[E]]
// CHECK: %[[NE:.*]] = sinter.mul %[[EE]], %[[N]]
// CHECK: %[[ALL:.*]] = sinter.add %[[Q]], %[[NE]]
// CHECK: %[[V:.*]] = sinter.reduce sum %[[ALL]] dims [0] : (tensor<32x16xf32>) -> tensor<16xf32>
// CHECK: return %[[V]]
func.func @variance(%x: tensor<32x28x28x16xf32>) -> tensor<16xf32> {
  %s = sinter.reduce sum %x dims [0, 1, 2] : (tensor<32x28x28x16xf32>) -> tensor<16xf32>
  %n = sinter.constant dense<25088.0> : tensor<16xf32>
  %m = sinter.div %s, %n : tensor<16xf32>
  %b = sinter.broadcast %m dims [3] : tensor<16xf32> -> tensor<32x28x28x16xf32>
  %d = sinter.sub %x, %b : tensor<32x28x28x16xf32>
  %q = sinter.mul %d, %d : tensor<32x28x28x16xf32>
  %v = sinter.reduce sum %q dims [0, 1, 2] : (tensor<32x28x28x16xf32>) -> tensor<16xf32>
  return %v : tensor<16xf32>
}

// The squares of something else than what was summed wait for it.
// CHECK-LABEL: @about_another_mean
// CHECK: sinter.sub %arg1, %
// CHECK-NOT: sinter.sub
func.func @about_another_mean(%x: tensor<32x28x28x16xf32>, %y: tensor<32x28x28x16xf32>) -> tensor<16xf32> {
  %s = sinter.reduce sum %x dims [0, 1, 2] : (tensor<32x28x28x16xf32>) -> tensor<16xf32>
  %n = sinter.constant dense<25088.0> : tensor<16xf32>
  %m = sinter.div %s, %n : tensor<16xf32>
  %b = sinter.broadcast %m dims [3] : tensor<16xf32> -> tensor<32x28x28x16xf32>
  %d = sinter.sub %y, %b : tensor<32x28x28x16xf32>
  %q = sinter.mul %d, %d : tensor<32x28x28x16xf32>
  %v = sinter.reduce sum %q dims [0, 1, 2] : (tensor<32x28x28x16xf32>) -> tensor<16xf32>
  return %v : tensor<16xf32>
}
