// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-fuse-loops,sinter-fuse-casts))' | FileCheck %s

// Two weights of different shapes are rounded by one kernel.
// CHECK-LABEL: @two_weights
// CHECK: %[[F:.*]]:2 = sinter.kernel multi(%arg0, %arg1)
// CHECK: return %[[F]]#0, %[[F]]#1
func.func @two_weights(%a: tensor<4x8xf32>, %b: tensor<16xf32>) -> (tensor<4x8xbf16>, tensor<16xbf16>) {
  %0 = sinter.cast %a : tensor<4x8xf32> -> tensor<4x8xbf16>
  %1 = sinter.cast %b : tensor<16xf32> -> tensor<16xbf16>
  return %0, %1 : tensor<4x8xbf16>, tensor<16xbf16>
}

// One alone stays as it is, and so does what computes.
// CHECK-LABEL: @one_weight
// CHECK-COUNT-2: sinter.kernel loop
// CHECK-NOT: multi
func.func @one_weight(%a: tensor<4x8xf32>, %b: tensor<16xf32>) -> (tensor<4x8xbf16>, tensor<16xbf16>) {
  %0 = sinter.cast %a : tensor<4x8xf32> -> tensor<4x8xbf16>
  %1 = sinter.neg %b : tensor<16xf32>
  %2 = sinter.cast %1 : tensor<16xf32> -> tensor<16xbf16>
  return %0, %2 : tensor<4x8xbf16>, tensor<16xbf16>
}
