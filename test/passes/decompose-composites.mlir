// RUN: sinter-opt %s --sinter-decompose-composites --split-input-file | FileCheck %s
// RUN: sinter-opt %s --sinter-decompose-composites=keep=softmax --split-input-file \
// RUN:   | FileCheck %s --check-prefix=KEEP

// CHECK-LABEL: @softmax
// CHECK-NOT: sinter.softmax
// CHECK: sinter.reduce max
// CHECK: sinter.exp
// CHECK: sinter.reduce sum
// CHECK: sinter.div
// KEEP-LABEL: @softmax
// KEEP: sinter.softmax
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = sinter.softmax %x {axis = 1 : i64} : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// The decomposition of attention may hold a softmax, which is decomposed as well.
// CHECK-LABEL: @composites_in_composites
// CHECK-NOT: sinter.attention
// CHECK-NOT: sinter.softmax
// CHECK: sinter.dot_general
// KEEP-LABEL: @composites_in_composites
// KEEP-NOT: sinter.attention
// KEEP: return
func.func @composites_in_composites(%q: tensor<2x3x4xf32>, %k: tensor<2x5x4xf32>,
                                    %v: tensor<2x5x4xf32>) -> tensor<2x3x4xf32> {
  %y:2 = sinter.attention %q, %k, %v {scale = 5.000000e-01 : f64}
    : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>)
  return %y#0 : tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: @others_stay
// CHECK-NEXT: sinter.exp
// CHECK-NEXT: return
func.func @others_stay(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = sinter.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
