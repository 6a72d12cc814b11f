// RUN: sinter-opt %s --phase-options="--target=cuda --libraries=none" --pass-pipeline='builtin.module(func.func(sinter-split-contractions))' | FileCheck %s
// RUN: sinter-opt %s --phase-options="--target=cuda" --pass-pipeline='builtin.module(func.func(sinter-split-contractions))' | FileCheck %s --check-prefix=LIBRARY
// LIBRARY-NOT: sinter.reduce

// One tile of results: as many stretches as have 512 steps.
// CHECK-LABEL: @weight_gradient
// CHECK-DAG: %[[X:.*]] = sinter.reshape %arg0 : tensor<4096x16xf32> -> tensor<8x512x16xf32>
// CHECK-DAG: %[[W:.*]] = sinter.reshape %arg1 : tensor<4096x16xf32> -> tensor<8x512x16xf32>
// CHECK: %[[P:.*]] = sinter.dot_general %[[X]], %[[W]] batch [0] x [0] contract [1] x [1]
// CHECK-SAME: -> tensor<8x16x16xf32>
// CHECK: sinter.reduce sum %[[P]] dims [0] : (tensor<8x16x16xf32>) -> tensor<16x16xf32>
func.func @weight_gradient(%x: tensor<4096x16xf32>, %w: tensor<4096x16xf32>) -> tensor<16x16xf32> {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [0] x [0] : (tensor<4096x16xf32>, tensor<4096x16xf32>) -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// Batches stay, before the rows; 32 tiles need four stretches. What the op says of its
// precision is said of the parts, and a cast comes after the cut.
// CHECK-LABEL: @batched
// CHECK-NEXT: %[[R:.*]] = sinter.reshape %arg0 : tensor<32x10x4096xbf16> -> tensor<32x10x4x1024xbf16>
// CHECK: %[[A:.*]] = sinter.cast %[[R]]
// CHECK: %[[B:.*]] = sinter.reshape %arg1 : tensor<32x20x4096xf32> -> tensor<32x20x4x1024xf32>
// CHECK: sinter.dot_general %[[A]], %[[B]] batch [2, 0] x [2, 0] contract [3] x [3] {tf32}
// CHECK-SAME: -> tensor<4x32x10x20xf32>
func.func @batched(%x: tensor<32x10x4096xbf16>, %w: tensor<32x20x4096xf32>) -> tensor<32x10x20xf32> {
  %a = sinter.cast %x : tensor<32x10x4096xbf16> -> tensor<32x10x4096xf32>
  %0 = sinter.dot_general %a, %w batch [0] x [0] contract [2] x [2] {tf32} : (tensor<32x10x4096xf32>, tensor<32x20x4096xf32>) -> tensor<32x10x20xf32>
  return %0 : tensor<32x10x20xf32>
}

// Must not fire: a short sum, many results, steps that make no equal stretches, results
// that would be rounded part by part.
// CHECK-LABEL: @left_alone
// CHECK-NOT: sinter.reduce
func.func @left_alone(%a: tensor<1000x16xf32>, %b: tensor<1024x2048xf32>, %c: tensor<4100x16xf32>, %d: tensor<4096x16xbf16>)
    -> (tensor<16x16xf32>, tensor<2048x2048xf32>, tensor<16x16xf32>, tensor<16x16xbf16>) {
  %0 = sinter.dot_general %a, %a batch [] x [] contract [0] x [0] : (tensor<1000x16xf32>, tensor<1000x16xf32>) -> tensor<16x16xf32>
  %1 = sinter.dot_general %b, %b batch [] x [] contract [0] x [0] : (tensor<1024x2048xf32>, tensor<1024x2048xf32>) -> tensor<2048x2048xf32>
  %2 = sinter.dot_general %c, %c batch [] x [] contract [0] x [0] : (tensor<4100x16xf32>, tensor<4100x16xf32>) -> tensor<16x16xf32>
  %3 = sinter.dot_general %d, %d batch [] x [] contract [0] x [0] : (tensor<4096x16xbf16>, tensor<4096x16xbf16>) -> tensor<16x16xbf16>
  return %0, %1, %2, %3 : tensor<16x16xf32>, tensor<2048x2048xf32>, tensor<16x16xf32>, tensor<16x16xbf16>
}
