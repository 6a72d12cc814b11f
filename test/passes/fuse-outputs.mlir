// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-fuse-outputs))' | FileCheck %s

sinter.state @a : tensor<4xf32> {role = #sinter<role param>, trainable}
sinter.state @b : tensor<6xf32> {role = #sinter<role param>, trainable}

// CHECK-LABEL: @two_updates
// CHECK: %[[M:.*]]:2 = sinter.fusion "multi"(%arg0, %arg1)
// CHECK: sinter.fusion "loop"
// CHECK: sinter.fusion "loop"
// CHECK: return %[[M]]#0, %[[M]]#1
func.func @two_updates(%a: tensor<4xf32> {sinter.state = @a}, %b: tensor<6xf32> {sinter.state = @b})
    -> (tensor<4xf32> {sinter.state = @a}, tensor<6xf32> {sinter.state = @b}) {
  %0 = sinter.fusion "loop"(%a) {domain = array<i64: 4>, views = [array<i64: 0>]} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    %2 = sinter.neg %x : tensor<4xf32>
    sinter.yield %2 : tensor<4xf32>
  }
  %1 = sinter.fusion "loop"(%b) {domain = array<i64: 6>, views = [array<i64: 0>]} : (tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%x: tensor<6xf32>):
    %2 = sinter.neg %x : tensor<6xf32>
    sinter.yield %2 : tensor<6xf32>
  }
  return %0, %1 : tensor<4xf32>, tensor<6xf32>
}

// Must not fire: the result is also an output.
// CHECK-LABEL: @also_output
// CHECK-NOT: "multi"
func.func @also_output(%a: tensor<4xf32> {sinter.state = @a}, %b: tensor<6xf32> {sinter.state = @b})
    -> (tensor<4xf32> {sinter.state = @a}, tensor<4xf32> {sinter.output = "y"}) {
  %0 = sinter.fusion "loop"(%a) {domain = array<i64: 4>, views = [array<i64: 0>]} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    %2 = sinter.neg %x : tensor<4xf32>
    sinter.yield %2 : tensor<4xf32>
  }
  return %0, %0 : tensor<4xf32>, tensor<4xf32>
}

// A small result that only leaves the function, a loss, ends with the update.
// CHECK-LABEL: @loss_and_update
// CHECK: sinter.fusion "multi"
func.func @loss_and_update(%a: tensor<4xf32> {sinter.state = @a}, %x: tensor<8xf32>)
    -> (tensor<4xf32> {sinter.state = @a}, tensor<f32> {sinter.output = "loss"}) {
  %0 = sinter.fusion "loop"(%a) {domain = array<i64: 4>, views = [array<i64: 0>]} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%b: tensor<4xf32>):
    %2 = sinter.neg %b : tensor<4xf32>
    sinter.yield %2 : tensor<4xf32>
  }
  %1 = sinter.fusion "reduce"(%x) {domain = array<i64: 8>, reduced = array<i64: 0>, views = [array<i64>]} : (tensor<8xf32>) -> tensor<f32> {
  ^bb0(%b: tensor<8xf32>):
    %2 = sinter.reduce sum %b dims [0] : (tensor<8xf32>) -> tensor<f32>
    sinter.yield %2 : tensor<f32>
  }
  return %0, %1 : tensor<4xf32>, tensor<f32>
}

// Must not fire: a large output would keep what it reads until the end.
// CHECK-LABEL: @large_output
// CHECK-NOT: "multi"
func.func @large_output(%a: tensor<4xf32> {sinter.state = @a}, %x: tensor<32768xf32>)
    -> (tensor<4xf32> {sinter.state = @a}, tensor<32768xf32> {sinter.output = "y"}) {
  %0 = sinter.fusion "loop"(%a) {domain = array<i64: 4>, views = [array<i64: 0>]} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%b: tensor<4xf32>):
    %2 = sinter.neg %b : tensor<4xf32>
    sinter.yield %2 : tensor<4xf32>
  }
  %1 = sinter.fusion "loop"(%x) {domain = array<i64: 32768>, views = [array<i64: 0>]} : (tensor<32768xf32>) -> tensor<32768xf32> {
  ^bb0(%b: tensor<32768xf32>):
    %2 = sinter.neg %b : tensor<32768xf32>
    sinter.yield %2 : tensor<32768xf32>
  }
  return %0, %1 : tensor<4xf32>, tensor<32768xf32>
}
