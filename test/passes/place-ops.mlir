// RUN: sinter-opt %s --sinter-place-ops --split-input-file | FileCheck %s
// RUN: sinter-opt %s --phase-options="--target=sim:0,sim:1" "--sinter-place-ops=rule=second|other|clip|optimizer=sim:1" --split-input-file | FileCheck %s --check-prefix=PLACED

// The target has no better whole for softmax, so that it is decomposed; it keeps gelu.
// CHECK-LABEL: @composites
// CHECK-NOT: sinter.softmax
// CHECK: sinter.div
// CHECK: sinter.gelu
func.func @composites(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = sinter.softmax %x {axis = 1 : i64} : tensor<4x8xf32>
  %z = sinter.gelu erf %y : tensor<4x8xf32> loc("other")
  return %z : tensor<4x8xf32>
}

// -----

// What is supported stays as it is.
// CHECK-LABEL: @others
// CHECK-NEXT: sinter.dot_general
// CHECK-NEXT: sinter.reshape
// CHECK-NEXT: sinter.exp
// CHECK-NEXT: return
func.func @others(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) -> tensor<12xf32> {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = sinter.reshape %0 : tensor<4x3xf32> -> tensor<12xf32>
  %2 = sinter.exp %1 : tensor<12xf32> loc("other")
  return %2 : tensor<12xf32>
}

// -----

// Pinned nodes are on their device with their parameter and its slot; what is spread there is
// not copied, and an op that computes little stays with its neighbours.
// CHECK-NOT: sinter.copy
// PLACED-LABEL: func.func @others
// PLACED: module attributes {sinter.devices = ["sim:0", "sim:1"], sinter.placement =
// PLACED-SAME: {device = "sim:0", nodes = ["first"], reason = "default", weight_bytes = 64 : i64, why = "the default device"}
// PLACED-SAME: {device = "sim:1", nodes = ["second"], reason = "pinned", weight_bytes = 128 : i64, why = "pinned by --place=second|other|clip|optimizer=sim:1"}
// PLACED: sinter.state @w
// PLACED-NOT: sinter.device
// PLACED: sinter.state @v {{.*}}sinter.device = 1 : i64
// PLACED: sinter.state @"m/v" {{.*}}sinter.device = 1 : i64
// PLACED-LABEL: func.func @step
// PLACED: %[[A:.*]] = sinter.dot_general
// PLACED: %[[B:.*]] = sinter.copy %[[A]] to 1
// PLACED: %[[C:.*]] = sinter.dot_general %[[B]]
// PLACED-NOT: sinter.copy
// PLACED: sinter.relu
// PLACED-NOT: sinter.copy
// PLACED: return
module {
  sinter.state @w : tensor<4x4xf32> {role = #sinter<role param>, trainable}
  sinter.state @v : tensor<4x4xf32> {role = #sinter<role param>, trainable}
  sinter.state @"m/v" : tensor<4x4xf32> {role = #sinter<role slot>, slot = "m", of = @v}
  func.func @step(%x: tensor<4x4xf32> {sinter.input = "x"}, %w: tensor<4x4xf32> {sinter.state = @w},
                  %v: tensor<4x4xf32> {sinter.state = @v}, %m: tensor<4x4xf32> {sinter.state = @"m/v"})
      -> (tensor<4x4xf32> {sinter.output = "y"}, tensor<4x4xf32> {sinter.state = @"m/v"}) {
    %a = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("first")
    %b = sinter.dot_general %a, %v batch [] x [] contract [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("second")
    %c = sinter.relu %b : tensor<4x4xf32> loc("third")
    %d = sinter.add %c, %b : tensor<4x4xf32> loc("third")
    return %c, %d : tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// A node of the model may be called as a part of the training step is: the node is pinned, the
// part is not.
// PLACED: module attributes
// PLACED-SAME: nodes = ["first"], reason = "default"
// PLACED-SAME: nodes = ["clip", "optimizer"], reason = "pinned"
// PLACED-LABEL: func.func @parts
// PLACED: %[[A:.*]] = sinter.dot_general
// PLACED: %[[B:.*]] = sinter.copy %[[A]] to 1
// PLACED: %[[C:.*]] = sinter.dot_general %[[B]]
// PLACED: %[[D:.*]] = sinter.dot_general %[[C]]
// PLACED: sinter.exp %[[A]]
module {
  func.func @parts(%x: tensor<4x4xf32> {sinter.input = "x"}) -> (tensor<4x4xf32> {sinter.output = "y"}, tensor<4x4xf32> {sinter.output = "z"}) {
    %a = sinter.dot_general %x, %x batch [] x [] contract [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("first")
    %b = sinter.dot_general %a, %a batch [] x [] contract [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("clip")
    %c = sinter.dot_general %b, %b batch [] x [] contract [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("optimizer")
    %d = sinter.exp %a : tensor<4x4xf32> loc(fused<"step">["clip"])
    return %c, %d : tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// Composites in the body of a scan are decomposed as those outside are.
// CHECK-LABEL: @scan
// CHECK: sinter.scan trips 9
// CHECK-NOT: sinter.softmax
// CHECK: sinter.div
// CHECK: sinter.gelu
// CHECK: sinter.yield
func.func @scan(%h: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %last = sinter.scan trips 9 stacks() initial(%h) whole() : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%before: tensor<4x8xf32>):
    %y = sinter.softmax %before {axis = 1 : i64} : tensor<4x8xf32>
    %z = sinter.gelu erf %y : tensor<4x8xf32> loc("other")
    sinter.yield %z : tensor<4x8xf32> loc("other")
  } loc("other")
  return %last : tensor<4x8xf32>
}
