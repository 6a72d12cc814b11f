// RUN: sinter-opt %s --sinter-rematerialize=memory-limit=1 --split-input-file | FileCheck %s
// RUN: sinter-opt %s --sinter-rematerialize=memory-limit=1000000 --split-input-file | FileCheck %s --check-prefix=ROOM

// The value that waits over the widest command runs once more after it.
module @waits {
  // CHECK-LABEL: func.func @main
  // CHECK: %[[A:.*]]:2 = sinter.fusion "loop"(%[[X:.*]]) {{.*}}-> (tensor<64xf32>, tensor<64xf32>)
  // CHECK: %[[W:.*]] = sinter.fusion "loop"(%[[A]]#0) {{.*}} -> tensor<16x64xf32>
  // CHECK: %[[R:.*]] = sinter.fusion "reduce"(%[[W]])
  // CHECK: %[[AGAIN:.*]]:2 = sinter.fusion "loop"(%[[X]]) {{.*}}-> (tensor<64xf32>, tensor<64xf32>)
  // CHECK: sinter.fusion "loop"(%[[R]], %[[AGAIN]]#0, %[[AGAIN]]#1)
  // ROOM-LABEL: func.func @main
  // ROOM-COUNT-4: sinter.fusion
  // ROOM-NOT: sinter.fusion
  func.func @main(%x: tensor<64xf32> {sinter.input = "x"}) -> (tensor<64xf32> {sinter.output = "y"}) {
    %a:2 = sinter.fusion "loop"(%x) {domain = array<i64: 64>, views = [array<i64: 0>, array<i64: 0>]} : (tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.exp %0 : tensor<64xf32>
      %2 = sinter.neg %0 : tensor<64xf32>
      sinter.yield %1, %2 : tensor<64xf32>, tensor<64xf32>
    }
    %w = sinter.fusion "loop"(%a#0) {domain = array<i64: 16, 64>, views = [array<i64: 0, 1>]} : (tensor<64xf32>) -> tensor<16x64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.broadcast %0 dims [1] : tensor<64xf32> -> tensor<16x64xf32>
      sinter.yield %1 : tensor<16x64xf32>
    }
    %v = sinter.fusion "reduce"(%w) {domain = array<i64: 16, 64>, reduced = array<i64: 0>, views = [array<i64: 1>]} : (tensor<16x64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<16x64xf32>):
      %1 = sinter.reduce sum %0 dims [0] : (tensor<16x64xf32>) -> tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %y = sinter.fusion "loop"(%v, %a#0, %a#1) {domain = array<i64: 64>, views = [array<i64: 0>]} : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
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
  // CHECK: %[[Y:.*]] = sinter.fusion "loop"(%{{.*}}, %{{.*}}, %{{.*}})
  // CHECK: %[[Z:.*]] = sinter.reshape %[[Y]]
  // CHECK: return %[[Z]]
  // ROOM-LABEL: func.func @main
  func.func @main(%x: tensor<64xf32> {sinter.input = "x"}) -> (tensor<8x8xf32> {sinter.output = "y"}) {
    %a:2 = sinter.fusion "loop"(%x) {domain = array<i64: 64>, views = [array<i64: 0>, array<i64: 0>]} : (tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.exp %0 : tensor<64xf32>
      %2 = sinter.neg %0 : tensor<64xf32>
      sinter.yield %1, %2 : tensor<64xf32>, tensor<64xf32>
    }
    %w = sinter.fusion "loop"(%a#0) {domain = array<i64: 16, 64>, views = [array<i64: 0, 1>]} : (tensor<64xf32>) -> tensor<16x64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.broadcast %0 dims [1] : tensor<64xf32> -> tensor<16x64xf32>
      sinter.yield %1 : tensor<16x64xf32>
    }
    %v = sinter.fusion "reduce"(%w) {domain = array<i64: 16, 64>, reduced = array<i64: 0>, views = [array<i64: 1>]} : (tensor<16x64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<16x64xf32>):
      %1 = sinter.reduce sum %0 dims [0] : (tensor<16x64xf32>) -> tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %y = sinter.fusion "loop"(%v, %a#0, %a#1) {domain = array<i64: 64>, views = [array<i64: 0>]} : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>, %1: tensor<64xf32>, %2: tensor<64xf32>):
      %3 = sinter.add %0, %1 : tensor<64xf32>
      %4 = sinter.add %3, %2 : tensor<64xf32>
      sinter.yield %4 : tensor<64xf32>
    }
    %z = sinter.reshape %y : tensor<64xf32> -> tensor<8x8xf32>
    return %z : tensor<8x8xf32>
  }
}
