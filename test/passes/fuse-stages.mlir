// RUN: sinter-opt %s --phase-options="--target=cuda" --pass-pipeline='builtin.module(func.func(sinter-fuse-stages))' | FileCheck %s
// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-fuse-stages))' | FileCheck %s --check-prefix=CPU
// RUN: sinter-opt %s --phase-options="--target=cuda" --pass-pipeline='builtin.module(func.func(sinter-fuse-stages), sinter-plan-memory)' | FileCheck %s --check-prefix=PLAN

// CPU-NOT: kernel staged

// A sum of sums: the block that is done last goes on with it, and counts blocks.
// CHECK-LABEL: @norm
// CHECK: %[[S:.*]]:2 = sinter.kernel staged(%arg0, %arg1)
// CHECK: %[[ROWS:.*]] = sinter.kernel reduce
// CHECK: %[[SUM:.*]] = sinter.kernel reduce(%[[ROWS]], %
// CHECK: sinter.yield %[[ROWS]], %[[SUM]]
// CHECK: return %[[S]]#1
// PLAN: exec.kernel @[[K:.*]] staged
// PLAN-LABEL: exec.program @norm
// PLAN: %[[TICKET:.*]] = exec.buffer control[0] 56 + 4 : tensor<i32>
// PLAN: exec.launch @[[K]](%{{.*}}, %{{.*}}, %[[TICKET]]) -> (
func.func @norm(%x: tensor<200x1000xf32> {sinter.input = "x"}, %s: tensor<f32> {sinter.input = "s"}) -> (tensor<f32> {sinter.output = "y"}) {
  %0 = sinter.kernel reduce(%x) over <[200, 1000] reduced [1] views [(d0, d1) -> (d0)]> : (tensor<200x1000xf32>) -> tensor<200xf32> {
  ^bb0(%a: tensor<200x1000xf32>):
    %2 = sinter.reduce sum %a dims [1] : (tensor<200x1000xf32>) -> tensor<200xf32>
    sinter.yield %2 : tensor<200xf32>
  }
  %1 = sinter.kernel reduce(%0, %s) over <[200] reduced [0] views [(d0) -> ()]> : (tensor<200xf32>, tensor<f32>) -> tensor<f32> {
  ^bb0(%a: tensor<200xf32>, %b: tensor<f32>):
    %2 = sinter.reduce sum %a dims [0] : (tensor<200xf32>) -> tensor<f32>
    %3 = sinter.mul %2, %b : tensor<f32>
    sinter.yield %3 : tensor<f32>
  }
  return %1 : tensor<f32>
}

// Must not fire: the second reads as much as the first.
// CHECK-LABEL: @large
// CHECK-NOT: kernel staged
func.func @large(%x: tensor<200000xf32> {sinter.input = "x"}) -> (tensor<f32> {sinter.output = "y"}) {
  %0 = sinter.kernel loop(%x) over <[200000] views [(d0) -> (d0)]> : (tensor<200000xf32>) -> tensor<200000xf32> {
  ^bb0(%a: tensor<200000xf32>):
    %2 = sinter.neg %a : tensor<200000xf32>
    sinter.yield %2 : tensor<200000xf32>
  }
  %1 = sinter.kernel reduce(%0) over <[200000] reduced [0] views [(d0) -> ()]> : (tensor<200000xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<200000xf32>):
    %2 = sinter.reduce sum %a dims [0] : (tensor<200000xf32>) -> tensor<f32>
    sinter.yield %2 : tensor<f32>
  }
  return %1 : tensor<f32>
}

// Must not fire: the product is a library's.
// CHECK-LABEL: @library
// CHECK-NOT: kernel staged
func.func @library(%x: tensor<8x16xf32> {sinter.input = "x"}, %w: tensor<16x8xf32> {sinter.input = "w"}) -> (tensor<f32> {sinter.output = "y"}) {
  %0 = sinter.library_call matmul(%x, %w) : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x16xf32>, %b: tensor<16x8xf32>):
    %2 = sinter.dot_general %a, %b batch [] x [] contract [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    sinter.yield %2 : tensor<8x8xf32>
  }
  %1 = sinter.kernel reduce(%0) over <[8, 8] reduced [0, 1] views [(d0, d1) -> ()]> : (tensor<8x8xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<8x8xf32>):
    %2 = sinter.reduce sum %a dims [0, 1] : (tensor<8x8xf32>) -> tensor<f32>
    sinter.yield %2 : tensor<f32>
  }
  return %1 : tensor<f32>
}

// Must not fire: the second writes a state whose old value is read in between.
// CHECK-LABEL: @old_state
// CHECK-NOT: kernel staged
sinter.state @t : tensor<f32> {role = #sinter<role slot>, slot = "t"}
func.func @old_state(%x: tensor<200x1000xf32> {sinter.input = "x"}, %t: tensor<f32> {sinter.state = @t}) -> (tensor<400xf32> {sinter.output = "y"}, tensor<f32> {sinter.state = @t}) {
  %0 = sinter.kernel reduce(%x) over <[200, 1000] reduced [1] views [(d0, d1) -> (d0)]> : (tensor<200x1000xf32>) -> tensor<200xf32> {
  ^bb0(%a: tensor<200x1000xf32>):
    %3 = sinter.reduce sum %a dims [1] : (tensor<200x1000xf32>) -> tensor<200xf32>
    sinter.yield %3 : tensor<200xf32>
  }
  %1 = sinter.kernel concat(%0, %t) : (tensor<200xf32>, tensor<f32>) -> tensor<400xf32> {
  ^bb0(%a: tensor<200xf32>, %b: tensor<f32>):
    %3 = sinter.broadcast %b dims [] : tensor<f32> -> tensor<200xf32>
    %4 = sinter.concat %a, %3 axis 0 : (tensor<200xf32>, tensor<200xf32>) -> tensor<400xf32>
    sinter.yield %4 : tensor<400xf32>
  }
  %2 = sinter.kernel reduce(%0, %t) over <[200] reduced [0] views [(d0) -> ()]> : (tensor<200xf32>, tensor<f32>) -> tensor<f32> {
  ^bb0(%a: tensor<200xf32>, %b: tensor<f32>):
    %3 = sinter.reduce sum %a dims [0] : (tensor<200xf32>) -> tensor<f32>
    %4 = sinter.add %3, %b : tensor<f32>
    sinter.yield %4 : tensor<f32>
  }
  return %1, %2 : tensor<400xf32>, tensor<f32>
}

// The product of a vector may be a first stage, and the norm of its result the second.
// CHECK-LABEL: @after_vector
// CHECK: kernel staged
// CHECK: sinter.dot_general
// CHECK: sinter.reduce
// CHECK-NOT: sinter.kernel
func.func @after_vector(%x: tensor<1x64xf32> {sinter.input = "x"}, %w: tensor<64x32xf32> {sinter.input = "w"}) -> (tensor<1xf32> {sinter.output = "y"}) {
  %0 = sinter.kernel matmul(%x, %w) over <[1, 32] views [(d0, d1) -> (0, d1)]> : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32> {
  ^bb0(%a: tensor<1x64xf32>, %b: tensor<64x32xf32>):
    %2 = sinter.dot_general %a, %b batch [] x [] contract [1] x [0] : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
    sinter.yield %2 : tensor<1x32xf32>
  }
  %1 = sinter.kernel reduce(%0) over <[1, 32] reduced [1] views [(d0, d1) -> (0)]> : (tensor<1x32xf32>) -> tensor<1xf32> {
  ^bb0(%a: tensor<1x32xf32>):
    %2 = sinter.reduce sum %a dims [1] : (tensor<1x32xf32>) -> tensor<1xf32>
    sinter.yield %2 : tensor<1xf32>
  }
  return %1 : tensor<1xf32>
}

// Must not fire: a product of matrices.
// CHECK-LABEL: @after_matrices
// CHECK-NOT: kernel staged
func.func @after_matrices(%x: tensor<2x64xf32> {sinter.input = "x"}, %w: tensor<64x32xf32> {sinter.input = "w"}) -> (tensor<2xf32> {sinter.output = "y"}) {
  %0 = sinter.kernel matmul(%x, %w) over <[2, 32] views [(d0, d1) -> (d0, d1)]> : (tensor<2x64xf32>, tensor<64x32xf32>) -> tensor<2x32xf32> {
  ^bb0(%a: tensor<2x64xf32>, %b: tensor<64x32xf32>):
    %2 = sinter.dot_general %a, %b batch [] x [] contract [1] x [0] : (tensor<2x64xf32>, tensor<64x32xf32>) -> tensor<2x32xf32>
    sinter.yield %2 : tensor<2x32xf32>
  }
  %1 = sinter.kernel reduce(%0) over <[2, 32] reduced [1] views [(d0, d1) -> (d0)]> : (tensor<2x32xf32>) -> tensor<2xf32> {
  ^bb0(%a: tensor<2x32xf32>):
    %2 = sinter.reduce sum %a dims [1] : (tensor<2x32xf32>) -> tensor<2xf32>
    sinter.yield %2 : tensor<2xf32>
  }
  return %1 : tensor<2xf32>
}

// What follows a product of a vector may write a whole vector.
// CHECK-LABEL: @whole_vector
// CHECK: kernel staged
// CHECK: sinter.dot_general
// CHECK: sinter.reduce
// CHECK-NOT: sinter.kernel
func.func @whole_vector(%x: tensor<1x64xf32> {sinter.input = "x"}, %w: tensor<64x2048xf32> {sinter.input = "w"}) -> (tensor<1x2048xf32> {sinter.output = "y"}) {
  %0 = sinter.kernel matmul(%x, %w) over <[1, 2048] views [(d0, d1) -> (0, d1)]> : (tensor<1x64xf32>, tensor<64x2048xf32>) -> tensor<1x2048xf32> {
  ^bb0(%a: tensor<1x64xf32>, %b: tensor<64x2048xf32>):
    %2 = sinter.dot_general %a, %b batch [] x [] contract [1] x [0] : (tensor<1x64xf32>, tensor<64x2048xf32>) -> tensor<1x2048xf32>
    sinter.yield %2 : tensor<1x2048xf32>
  }
  %1 = sinter.kernel reduce(%0) over <[1, 2048] reduced [1] views [(d0, d1) -> (0, d1)]> : (tensor<1x2048xf32>) -> tensor<1x2048xf32> {
  ^bb0(%a: tensor<1x2048xf32>):
    %2 = sinter.reduce sum %a dims [1] : (tensor<1x2048xf32>) -> tensor<1xf32>
    %3 = sinter.broadcast %2 dims [0] : tensor<1xf32> -> tensor<1x2048xf32>
    %4 = sinter.sub %a, %3 : tensor<1x2048xf32>
    sinter.yield %4 : tensor<1x2048xf32>
  }
  return %1 : tensor<1x2048xf32>
}
