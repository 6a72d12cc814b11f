// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-place-casts))' | FileCheck %s

// CHECK-LABEL: @widened_after_views
// CHECK: %[[T:.*]] = sinter.transpose %{{.*}} : {{.*}}bf16
// CHECK: %[[R:.*]] = sinter.reshape %[[T]] : tensor<8x4xbf16> -> tensor<32xbf16>
// CHECK: sinter.cast %[[R]] : tensor<32xbf16> -> tensor<32xf32>
func.func @widened_after_views(%x: tensor<4x8xbf16>) -> tensor<32xf32> {
  %0 = sinter.cast %x : tensor<4x8xbf16> -> tensor<4x8xf32>
  %1 = sinter.transpose %0 perm [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %2 = sinter.reshape %1 : tensor<8x4xf32> -> tensor<32xf32>
  return %2 : tensor<32xf32>
}

// CHECK-LABEL: @narrowed_before_views
// CHECK: %[[N:.*]] = sinter.cast %{{.*}} : tensor<4x8xf32> -> tensor<4x8xf16>
// CHECK: sinter.transpose %[[N]]
func.func @narrowed_before_views(%x: tensor<4x8xf32>) -> tensor<8x4xf16> {
  %0 = sinter.neg %x : tensor<4x8xf32>
  %1 = sinter.transpose %0 perm [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %2 = sinter.cast %1 : tensor<8x4xf32> -> tensor<8x4xf16>
  return %2 : tensor<8x4xf16>
}

// CHECK-LABEL: @not_when_the_view_is_used_too
// CHECK: %[[V:.*]] = sinter.transpose
// CHECK: sinter.cast %[[V]]
func.func @not_when_the_view_is_used_too(%x: tensor<4x8xf32>) -> (tensor<8x4xf16>, tensor<8x4xf32>) {
  %1 = sinter.transpose %x perm [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %2 = sinter.cast %1 : tensor<8x4xf32> -> tensor<8x4xf16>
  return %2, %1 : tensor<8x4xf16>, tensor<8x4xf32>
}

// A view of a whole operand of a scan is computed once, in front of it.
// CHECK-LABEL: @view_in_a_scan
// CHECK-NEXT: %[[T:.*]] = sinter.transpose %arg1 perm [1, 0] : (tensor<8x4xbf16>) -> tensor<4x8xbf16>
// CHECK-NEXT: sinter.scan trips 3 stacks() initial(%arg0) whole(%[[T]])
// CHECK-NOT: sinter.transpose
// CHECK: return
func.func @view_in_a_scan(%h: tensor<4x8xf32>, %w: tensor<8x4xbf16>) -> tensor<4x8xf32> {
  %last = sinter.scan trips 3 stacks() initial(%h) whole(%w) : (tensor<4x8xf32>, tensor<8x4xbf16>) -> tensor<4x8xf32> {
  ^bb0(%before: tensor<4x8xf32>, %narrow: tensor<8x4xbf16>):
    %wide = sinter.cast %narrow : tensor<8x4xbf16> -> tensor<8x4xf32>
    %moved = sinter.transpose %wide perm [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
    %after = sinter.add %before, %moved : tensor<4x8xf32>
    sinter.yield %after : tensor<4x8xf32>
  }
  return %last : tensor<4x8xf32>
}

// A product of integers reads 8 bits behind a view.
// CHECK-LABEL: @bytes
func.func @bytes(%x: tensor<6xui8>, %y: tensor<2x3xi32>) -> tensor<3x3xi32> {
  // CHECK: %[[V:.*]] = sinter.reshape %arg0 : tensor<6xui8> -> tensor<3x2xui8>
  // CHECK: %[[C:.*]] = sinter.cast %[[V]] : tensor<3x2xui8> -> tensor<3x2xi32>
  // CHECK: sinter.dot_general %[[C]]
  %c = sinter.cast %x : tensor<6xui8> -> tensor<6xi32>
  %v = sinter.reshape %c : tensor<6xi32> -> tensor<3x2xi32>
  %z = sinter.dot_general %v, %y batch [] x [] contract [1] x [0]
     : (tensor<3x2xi32>, tensor<2x3xi32>) -> tensor<3x3xi32>
  return %z : tensor<3x3xi32>
}
