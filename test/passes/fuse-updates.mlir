// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-fuse-updates))' | FileCheck %s

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
