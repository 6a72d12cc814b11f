// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK: module @net attributes {sinter.model = "net"}
module @net attributes {sinter.model = "net"} {
  // CHECK: sinter.state @w : tensor<4x8xf32> {onnx = "fc.weight", role = #sinter<role param>, trainable}
  sinter.state @w : tensor<4x8xf32> {role = #sinter<role param>, trainable, onnx = "fc.weight"}
  // CHECK: sinter.state @mean : tensor<2xf32> {init = dense<0.000000e+00> : tensor<2xf32>, role = #sinter<role buffer>}
  sinter.state @mean : tensor<2xf32> {role = #sinter<role buffer>, init = dense<0.0> : tensor<2xf32>}
  // CHECK: sinter.state @w.m : tensor<4x8xf32> {of = @w, role = #sinter<role slot>, slot = "m"}
  sinter.state @"w.m" : tensor<4x8xf32> {role = #sinter<role slot>, slot = "m", of = @w}
  sinter.state @t : tensor<f32> {role = #sinter<role accum>}

  // CHECK: func.func @step(%arg0: tensor<2x4xf32> {sinter.input = "x"}, %arg1: tensor<4x8xf32> {sinter.state = @w}, %arg2: tensor<f32> {sinter.control = "lr"})
  // CHECK-SAME: -> (tensor<2x8xf32> {sinter.output = "y"}, tensor<4x8xf32> {sinter.state = @w})
  func.func @step(%x : tensor<2x4xf32> {sinter.input = "x"}, %w : tensor<4x8xf32> {sinter.state = @w},
                  %lr : tensor<f32> {sinter.control = "lr"})
      -> (tensor<2x8xf32> {sinter.output = "y"}, tensor<4x8xf32> {sinter.state = @w}) {
    %y = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
       : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
    // CHECK: sinter.kernel loop(%{{.*}}) over <[2, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<2x8xf32>) -> tensor<2x8xf32> {
    // CHECK: ^bb0(%{{.*}}: tensor<2x8xf32>):
    // CHECK: sinter.yield %{{.*}} : tensor<2x8xf32>
    %z = sinter.kernel loop(%y) over <[2, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<2x8xf32>) -> tensor<2x8xf32> {
    ^bb0(%a : tensor<2x8xf32>):
      %b = sinter.exp %a : tensor<2x8xf32>
      sinter.yield %b : tensor<2x8xf32>
    }
    return %z, %w : tensor<2x8xf32>, tensor<4x8xf32>
  }
}

// A program on two devices.
// CHECK: module @placed attributes {sinter.devices = ["cpu", "sim:0"]}
module @placed attributes {sinter.devices = ["cpu", "sim:0"]} {
  // CHECK: sinter.copy %{{.*}} to 1 : tensor<4xf32>
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %y = sinter.copy %x to 1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}

// CHECK-LABEL: @after
// CHECK: sinter.after %arg0, %arg1 : tensor<4xf32>, tensor<2xi64>
func.func @after(%x: tensor<4xf32>, %a: tensor<2xi64>) -> tensor<4xf32> {
  %y = sinter.after %x, %a : tensor<4xf32>, tensor<2xi64>
  return %y : tensor<4xf32>
}
