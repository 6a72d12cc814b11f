// RUN: sinter-opt %s --sinter-rematerialize=memory-limit=1 --split-input-file | FileCheck %s
// RUN: sinter-opt %s --sinter-rematerialize=memory-limit=1000000 --split-input-file | FileCheck %s --check-prefix=ROOM
// RUN: sinter-opt %s --sinter-rematerialize=spare-time=0.2 --split-input-file | FileCheck %s --check-prefix=SPARE
// RUN: sinter-opt %s --sinter-rematerialize=spare-time=0.1 --split-input-file | FileCheck %s --check-prefix=SHORT
// RUN: sinter-opt %s --sinter-rematerialize="spare-time=0.2 memory-limit=1000000" --split-input-file | FileCheck %s --check-prefix=SPARE

// The value that waits over the widest command runs once more after it.
module @waits {
  // CHECK-LABEL: func.func @main
  // CHECK: %[[A:.*]]:2 = sinter.kernel loop(%[[X:.*]]) {{.*}}-> (tensor<64xf32>, tensor<64xf32>)
  // CHECK: %[[W:.*]] = sinter.kernel loop(%[[A]]#0) {{.*}} -> tensor<16x64xf32>
  // CHECK: %[[R:.*]] = sinter.kernel reduce(%[[W]])
  // CHECK: %[[AGAIN:.*]]:2 = sinter.kernel loop(%[[X]]) {{.*}}-> (tensor<64xf32>, tensor<64xf32>)
  // CHECK: sinter.kernel loop(%[[R]], %[[AGAIN]]#0, %[[AGAIN]]#1)
  // ROOM-LABEL: func.func @main
  // ROOM-COUNT-4: sinter.kernel
  // ROOM-NOT: sinter.kernel
  func.func @main(%x: tensor<64xf32> {sinter.input = "x"}) -> (tensor<64xf32> {sinter.output = "y"}) {
    %a:2 = sinter.kernel loop(%x) over <[64] views [(d0) -> (d0), (d0) -> (d0)]> : (tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.exp %0 : tensor<64xf32>
      %2 = sinter.neg %0 : tensor<64xf32>
      sinter.yield %1, %2 : tensor<64xf32>, tensor<64xf32>
    }
    %w = sinter.kernel loop(%a#0) over <[16, 64] views [(d0, d1) -> (d0, d1)]> : (tensor<64xf32>) -> tensor<16x64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.broadcast %0 dims [1] : tensor<64xf32> -> tensor<16x64xf32>
      sinter.yield %1 : tensor<16x64xf32>
    }
    %v = sinter.kernel reduce(%w) over <[16, 64] reduced [0] views [(d0, d1) -> (d1)]> : (tensor<16x64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<16x64xf32>):
      %1 = sinter.reduce sum %0 dims [0] : (tensor<16x64xf32>) -> tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %y = sinter.kernel loop(%v, %a#0, %a#1) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>, %1: tensor<64xf32>, %2: tensor<64xf32>):
      %3 = sinter.add %0, %1 : tensor<64xf32>
      %4 = sinter.add %3, %2 : tensor<64xf32>
      sinter.yield %4 : tensor<64xf32>
    }
    return %y : tensor<64xf32>
  }
}

// -----

// A view that is returned stays behind what it is of.
module @returned {
  // CHECK-LABEL: func.func @main
  // CHECK: %[[Y:.*]] = sinter.kernel loop(%{{.*}}, %{{.*}}, %{{.*}})
  // CHECK: %[[Z:.*]] = sinter.reshape %[[Y]]
  // CHECK: return %[[Z]]
  // ROOM-LABEL: func.func @main
  func.func @main(%x: tensor<64xf32> {sinter.input = "x"}) -> (tensor<8x8xf32> {sinter.output = "y"}) {
    %a:2 = sinter.kernel loop(%x) over <[64] views [(d0) -> (d0), (d0) -> (d0)]> : (tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.exp %0 : tensor<64xf32>
      %2 = sinter.neg %0 : tensor<64xf32>
      sinter.yield %1, %2 : tensor<64xf32>, tensor<64xf32>
    }
    %w = sinter.kernel loop(%a#0) over <[16, 64] views [(d0, d1) -> (d0, d1)]> : (tensor<64xf32>) -> tensor<16x64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.broadcast %0 dims [1] : tensor<64xf32> -> tensor<16x64xf32>
      sinter.yield %1 : tensor<16x64xf32>
    }
    %v = sinter.kernel reduce(%w) over <[16, 64] reduced [0] views [(d0, d1) -> (d1)]> : (tensor<16x64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<16x64xf32>):
      %1 = sinter.reduce sum %0 dims [0] : (tensor<16x64xf32>) -> tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %y = sinter.kernel loop(%v, %a#0, %a#1) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>, %1: tensor<64xf32>, %2: tensor<64xf32>):
      %3 = sinter.add %0, %1 : tensor<64xf32>
      %4 = sinter.add %3, %2 : tensor<64xf32>
      sinter.yield %4 : tensor<64xf32>
    }
    %z = sinter.reshape %y : tensor<64xf32> -> tensor<8x8xf32>
    return %z : tensor<8x8xf32>
  }
}

// -----

// A training step computes again without a limit what it has time for: a sixth of the arena for an eighth of the
// time.
module @step {
  sinter.state @s : tensor<64x64xf32> {role = #sinter<role param>}
  // SPARE-LABEL: func.func @step
  // SPARE: %[[A:.*]] = sinter.kernel loop(%[[X:[^)]*]])
  // SPARE: %[[W:.*]] = sinter.kernel loop(%[[A]])
  // SPARE: %[[R:.*]] = sinter.kernel reduce(%[[W]])
  // SPARE: %[[AGAIN:.*]] = sinter.kernel loop(%[[X]])
  // SPARE: sinter.kernel loop(%{{.*}}, %[[R]], %[[AGAIN]])
  // SHORT-LABEL: func.func @step
  // SHORT-COUNT-4: sinter.kernel
  // SHORT-NOT: sinter.kernel
  func.func @step(%x: tensor<64x64xf32> {sinter.input = "x"}, %s: tensor<64x64xf32> {sinter.state = @s}) -> (tensor<64x64xf32> {sinter.state = @s}) {
    %a = sinter.kernel loop(%x) over <[64, 64] views [(d0, d1) -> (d0, d1)]> : (tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%0: tensor<64x64xf32>):
      %1 = sinter.exp %0 : tensor<64x64xf32>
      sinter.yield %1 : tensor<64x64xf32>
    }
    %w = sinter.kernel loop(%a) over <[4, 64, 64] views [(d0, d1, d2) -> (d0, d1, d2)]> : (tensor<64x64xf32>) -> tensor<4x64x64xf32> {
    ^bb0(%0: tensor<64x64xf32>):
      %1 = sinter.broadcast %0 dims [1, 2] : tensor<64x64xf32> -> tensor<4x64x64xf32>
      sinter.yield %1 : tensor<4x64x64xf32>
    }
    %v = sinter.kernel reduce(%w) over <[4, 64, 64] reduced [0] views [(d0, d1, d2) -> (d1, d2)]> : (tensor<4x64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%0: tensor<4x64x64xf32>):
      %1 = sinter.reduce sum %0 dims [0] : (tensor<4x64x64xf32>) -> tensor<64x64xf32>
      sinter.yield %1 : tensor<64x64xf32>
    }
    %new = sinter.kernel loop(%s, %v, %a) over <[64, 64] views [(d0, d1) -> (d0, d1)]> : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%0: tensor<64x64xf32>, %1: tensor<64x64xf32>, %2: tensor<64x64xf32>):
      %3 = sinter.mul %1, %2 : tensor<64x64xf32>
      %4 = sinter.sub %0, %3 : tensor<64x64xf32>
      sinter.yield %4 : tensor<64x64xf32>
    }
    return %new : tensor<64x64xf32>
  }
}

// -----

// Inference does not wait for memory.
module @inference {
  // SPARE-LABEL: func.func @main
  // SPARE-COUNT-4: sinter.kernel
  // SPARE-NOT: sinter.kernel
  // SHORT-LABEL: func.func @main
  func.func @main(%x: tensor<64x64xf32> {sinter.input = "x"}) -> (tensor<64x64xf32> {sinter.output = "y"}) {
    %a = sinter.kernel loop(%x) over <[64, 64] views [(d0, d1) -> (d0, d1)]> : (tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%0: tensor<64x64xf32>):
      %1 = sinter.exp %0 : tensor<64x64xf32>
      sinter.yield %1 : tensor<64x64xf32>
    }
    %w = sinter.kernel loop(%a) over <[4, 64, 64] views [(d0, d1, d2) -> (d0, d1, d2)]> : (tensor<64x64xf32>) -> tensor<4x64x64xf32> {
    ^bb0(%0: tensor<64x64xf32>):
      %1 = sinter.broadcast %0 dims [1, 2] : tensor<64x64xf32> -> tensor<4x64x64xf32>
      sinter.yield %1 : tensor<4x64x64xf32>
    }
    %v = sinter.kernel reduce(%w) over <[4, 64, 64] reduced [0] views [(d0, d1, d2) -> (d1, d2)]> : (tensor<4x64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%0: tensor<4x64x64xf32>):
      %1 = sinter.reduce sum %0 dims [0] : (tensor<4x64x64xf32>) -> tensor<64x64xf32>
      sinter.yield %1 : tensor<64x64xf32>
    }
    %y = sinter.kernel loop(%v, %a) over <[64, 64] views [(d0, d1) -> (d0, d1)]> : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%1: tensor<64x64xf32>, %2: tensor<64x64xf32>):
      %3 = sinter.mul %1, %2 : tensor<64x64xf32>
      sinter.yield %3 : tensor<64x64xf32>
    }
    return %y : tensor<64x64xf32>
  }
}
