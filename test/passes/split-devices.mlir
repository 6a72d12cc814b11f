// RUN: sinter-opt %s --sinter-split-devices --split-input-file | FileCheck %s

// Forward, loss and backward of two pieces: what waits for no copy goes with its users, and
// control fields are passed to every device.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[X:.*]]: tensor<4xf32> {{.*}}, %[[W:.*]]: tensor<4xf32> {{.*}}, %[[V:.*]]: tensor<4xf32> {{.*}}, %[[LR:.*]]: tensor<4xf32>
// CHECK: %[[A:.*]] = call @step.0(%[[X]], %[[W]])
// CHECK: %[[B:.*]] = sinter.copy %[[A]] to 1
// CHECK: %[[C:.*]]:2 = call @step.1(%[[LR]], %[[B]], %[[V]])
// CHECK: %[[D:.*]] = sinter.copy %[[C]]#{{[01]}} to 0
// CHECK: %[[E:.*]] = call @step.2(
// CHECK: return %[[E]], %[[C]]#{{[01]}}
// CHECK-LABEL: func.func private @step.0
// CHECK: sinter.mul
// CHECK-NOT: sinter.relu
// CHECK-LABEL: func.func private @step.1
// CHECK-SAME: sinter.device = 1 : i64
// CHECK-LABEL: func.func private @step.2
// CHECK: sinter.relu
module attributes {sinter.devices = ["sim:0", "sim:1"]} {
  sinter.state @w : tensor<4xf32> {role = #sinter<role param>}
  sinter.state @v : tensor<4xf32> {role = #sinter<role param>, sinter.device = 1 : i64}
  func.func @step(%x: tensor<4xf32> {sinter.input = "x"}, %w: tensor<4xf32> {sinter.state = @w},
                  %v: tensor<4xf32> {sinter.state = @v}, %lr: tensor<4xf32> {sinter.control = "lr"})
      -> (tensor<4xf32> {sinter.state = @w}, tensor<4xf32> {sinter.state = @v}) {
    %rate = sinter.neg %lr : tensor<4xf32>
    %later = sinter.relu %w : tensor<4xf32>
    %a = sinter.mul %x, %w : tensor<4xf32>
    %b = sinter.copy %a to 1 : tensor<4xf32>
    %c = sinter.add %b, %v : tensor<4xf32>
    %nv = sinter.mul %c, %rate : tensor<4xf32>
    %d = sinter.copy %c to 0 : tensor<4xf32>
    %e = sinter.mul %d, %later : tensor<4xf32>
    %nw = sinter.mul %e, %rate : tensor<4xf32>
    return %nw, %nv : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Nothing for a program on one device.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: sinter.relu
// CHECK-NEXT: return
func.func @main(%x: tensor<4xf32> {sinter.input = "x"}) -> (tensor<4xf32> {sinter.output = "y"}) {
  %y = sinter.relu %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
