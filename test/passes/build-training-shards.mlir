// RUN: sinter-opt %s --sinter-build-training="optimizer=adam replicas=3 shard=optimizer clip-norm=1.0 loss=mse" | FileCheck %s
// RUN: sinter-opt %s --sinter-build-training="optimizer=adam replicas=3 shard=optimizer loss=mse loss-scale=dynamic" \
// RUN:   | FileCheck %s --check-prefix=SCALE
// RUN: sinter-opt %s --sinter-build-training="optimizer=sgd replicas=3 shard=optimizer loss=mse accumulate=2" \
// RUN:   | FileCheck %s --check-prefix=STATES
// RUN: sinter-opt %s --sinter-build-training="optimizer=sgd replicas=3 shard=gradients loss=mse accumulate=2" \
// RUN:   | FileCheck %s --check-prefix=SUMS

// The slots of the weight are parts of 134 of 400 elements, and two zeros at the end; a small weight stays whole.
// CHECK: sinter.state @"m/w" : tensor<134xf32> {of = @w, part_of = tensor<16x25xf32>, role = #sinter<role slot>, slot = "m"}
// CHECK: sinter.state @"v/w" : tensor<134xf32> {of = @w, part_of = tensor<16x25xf32>
// CHECK: sinter.state @"m/b" : tensor<25xf32> {of = @b, role
// CHECK: func.func @step(
// CHECK-SAME: tensor<i64> {sinter.control = "replica"}
// CHECK: sinter.reduce_scatter %{{.*}} over data of 3 : tensor<402xf32>
// CHECK: sinter.all_reduce %{{.*}} : tensor<25xf32>
// The norm: of the whole gradient, and of the parts, summed over replicas.
// CHECK: sinter.all_reduce %{{.*}} : tensor<f32>
// CHECK: sinter.gather %{{.*}} axis 0 : (tensor<3x134xf32>, tensor<i64>) -> tensor<134xf32>
// CHECK: sinter.adam_update {{.*}}tensor<134xf32>
// CHECK: sinter.adam_update {{.*}}tensor<25xf32>
// CHECK: sinter.all_gather %{{.*}} over data of 3 : tensor<134xf32>
// CHECK: sinter.slice %{{.*}} starts [0] limits [400] strides [1] : (tensor<402xf32>) -> tensor<400xf32>
// CHECK: func.func @eval(
// CHECK-NOT: sinter.all_gather

// A step is skipped on all replicas if a part of a gradient is not finite on one.
// SCALE: sinter.reduce_scatter
// SCALE: %[[FAULTS:[0-9]+]] = sinter.all_reduce %{{.*}} : tensor<f32>
// SCALE: sinter.compare eq %[[FAULTS]], 
// SCALE: sinter.where {{.*}}tensor<134xf32>
// SCALE: sinter.all_gather

// Sums over micro-batches are whole, or parts like the states.
// STATES: sinter.state @"grad/w" : tensor<16x25xf32>
// STATES: func.func @grad(
// STATES-NOT: reduce_scatter
// STATES: func.func @apply(
// STATES: sinter.reduce_scatter
// SUMS: sinter.state @"grad/w" : tensor<134xf32> {of = @w, role = #sinter<role accum>
// SUMS: func.func @grad(
// SUMS: sinter.reduce_scatter
// SUMS: func.func @apply(
// SUMS-NOT: reduce_scatter
module @m attributes {sinter.model = "m"} {
  sinter.state @w : tensor<16x25xf32> {role = #sinter<role param>}
  sinter.state @b : tensor<25xf32> {role = #sinter<role param>}
  func.func @main(%x: tensor<4x16xf32> {sinter.input = "x"}, %w: tensor<16x25xf32> {sinter.state = @w},
                  %b: tensor<25xf32> {sinter.state = @b}) -> (tensor<4x25xf32> {sinter.output = "y"}) {
    %d = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
      : (tensor<4x16xf32>, tensor<16x25xf32>) -> tensor<4x25xf32>
    %bb = sinter.broadcast %b dims [1] : tensor<25xf32> -> tensor<4x25xf32>
    %y = sinter.add %d, %bb : tensor<4x25xf32>
    return %y : tensor<4x25xf32>
  }
}
