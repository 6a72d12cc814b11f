// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-fuse-outputs))' | FileCheck %s

sinter.state @a : tensor<4xf32> {role = #sinter<role param>, trainable}
sinter.state @b : tensor<6xf32> {role = #sinter<role param>, trainable}

// CHECK-LABEL: @two_updates
// CHECK: %[[M:.*]]:2 = sinter.kernel multi(%arg0, %arg1)
// CHECK: sinter.kernel loop
// CHECK: sinter.kernel loop
// CHECK: return %[[M]]#0, %[[M]]#1
func.func @two_updates(%a: tensor<4xf32> {sinter.state = @a}, %b: tensor<6xf32> {sinter.state = @b})
    -> (tensor<4xf32> {sinter.state = @a}, tensor<6xf32> {sinter.state = @b}) {
  %0 = sinter.kernel loop(%a) over <[4] views [(d0) -> (d0)]> : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    %2 = sinter.neg %x : tensor<4xf32>
    sinter.yield %2 : tensor<4xf32>
  }
  %1 = sinter.kernel loop(%b) over <[6] views [(d0) -> (d0)]> : (tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%x: tensor<6xf32>):
    %2 = sinter.neg %x : tensor<6xf32>
    sinter.yield %2 : tensor<6xf32>
  }
  return %0, %1 : tensor<4xf32>, tensor<6xf32>
}

// Must not fire: the result is also an output.
// CHECK-LABEL: @also_output
// CHECK-NOT: kernel multi
func.func @also_output(%a: tensor<4xf32> {sinter.state = @a}, %b: tensor<6xf32> {sinter.state = @b})
    -> (tensor<4xf32> {sinter.state = @a}, tensor<4xf32> {sinter.output = "y"}) {
  %0 = sinter.kernel loop(%a) over <[4] views [(d0) -> (d0)]> : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    %2 = sinter.neg %x : tensor<4xf32>
    sinter.yield %2 : tensor<4xf32>
  }
  return %0, %0 : tensor<4xf32>, tensor<4xf32>
}

// A small result that only leaves the function, a loss, ends with the update.
// CHECK-LABEL: @loss_and_update
// CHECK: sinter.kernel multi
func.func @loss_and_update(%a: tensor<4xf32> {sinter.state = @a}, %x: tensor<8xf32>)
    -> (tensor<4xf32> {sinter.state = @a}, tensor<f32> {sinter.output = "loss"}) {
  %0 = sinter.kernel loop(%a) over <[4] views [(d0) -> (d0)]> : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%b: tensor<4xf32>):
    %2 = sinter.neg %b : tensor<4xf32>
    sinter.yield %2 : tensor<4xf32>
  }
  %1 = sinter.kernel reduce(%x) over <[8] reduced [0] views [(d0) -> ()]> : (tensor<8xf32>) -> tensor<f32> {
  ^bb0(%b: tensor<8xf32>):
    %2 = sinter.reduce sum %b dims [0] : (tensor<8xf32>) -> tensor<f32>
    sinter.yield %2 : tensor<f32>
  }
  return %0, %1 : tensor<4xf32>, tensor<f32>
}

// Must not fire: a large output would keep what it reads until the end.
// CHECK-LABEL: @large_output
// CHECK-NOT: kernel multi
func.func @large_output(%a: tensor<4xf32> {sinter.state = @a}, %x: tensor<32768xf32>)
    -> (tensor<4xf32> {sinter.state = @a}, tensor<32768xf32> {sinter.output = "y"}) {
  %0 = sinter.kernel loop(%a) over <[4] views [(d0) -> (d0)]> : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%b: tensor<4xf32>):
    %2 = sinter.neg %b : tensor<4xf32>
    sinter.yield %2 : tensor<4xf32>
  }
  %1 = sinter.kernel loop(%x) over <[32768] views [(d0) -> (d0)]> : (tensor<32768xf32>) -> tensor<32768xf32> {
  ^bb0(%b: tensor<32768xf32>):
    %2 = sinter.neg %b : tensor<32768xf32>
    sinter.yield %2 : tensor<32768xf32>
  }
  return %0, %1 : tensor<4xf32>, tensor<32768xf32>
}
