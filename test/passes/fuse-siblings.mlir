// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-fuse-siblings))' | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: sinter-opt %s --phase-options="--target=cuda" --pass-pipeline='builtin.module(func.func(sinter-fuse-siblings))' | FileCheck %s --check-prefixes=CHECK,CUDA

// A few numbers are computed beside a kernel that runs before they are used.
// CHECK-LABEL: @small_beside_large
// CHECK: %[[M:.*]]:2 = sinter.kernel multi(%arg0, %arg1)
// CHECK-COUNT-2: sinter.kernel loop
// CHECK: sinter.kernel loop(%[[M]]#0, %[[M]]#1)
func.func @small_beside_large(%x: tensor<200000xf32>, %t: tensor<f32>) -> tensor<200000xf32> {
  %0 = sinter.kernel loop(%x) over <[200000] views [(d0) -> (d0)]> : (tensor<200000xf32>) -> tensor<200000xf32> {
  ^bb0(%a: tensor<200000xf32>):
    %3 = sinter.neg %a : tensor<200000xf32>
    sinter.yield %3 : tensor<200000xf32>
  }
  %1 = sinter.kernel loop(%t) over <[] views [() -> ()]> : (tensor<f32>) -> tensor<f32> {
  ^bb0(%a: tensor<f32>):
    %3 = sinter.exp %a : tensor<f32>
    sinter.yield %3 : tensor<f32>
  }
  %2 = sinter.kernel loop(%0, %1) over <[200000] views [(d0) -> (d0)]> : (tensor<200000xf32>, tensor<f32>) -> tensor<200000xf32> {
  ^bb0(%a: tensor<200000xf32>, %b: tensor<f32>):
    %3 = sinter.broadcast %b dims [] : tensor<f32> -> tensor<200000xf32>
    %4 = sinter.mul %a, %3 : tensor<200000xf32>
    sinter.yield %4 : tensor<200000xf32>
  }
  return %2 : tensor<200000xf32>
}

// Must not fire: one uses the other.
// CHECK-LABEL: @dependent
// CHECK-NOT: kernel multi
func.func @dependent(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sinter.kernel loop(%x) over <[8] views [(d0) -> (d0)]> : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %3 = sinter.neg %a : tensor<8xf32>
    sinter.yield %3 : tensor<8xf32>
  }
  %1 = sinter.kernel loop(%0) over <[8] views [(d0) -> (d0)]> : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %3 = sinter.exp %a : tensor<8xf32>
    sinter.yield %3 : tensor<8xf32>
  }
  return %1 : tensor<8xf32>
}

// Must not fire: both are large.
// CHECK-LABEL: @large
// CHECK-NOT: kernel multi
func.func @large(%x: tensor<200000xf32>, %y: tensor<300000xf32>) -> (tensor<200000xf32>, tensor<300000xf32>) {
  %0 = sinter.kernel loop(%x) over <[200000] views [(d0) -> (d0)]> : (tensor<200000xf32>) -> tensor<200000xf32> {
  ^bb0(%a: tensor<200000xf32>):
    %3 = sinter.neg %a : tensor<200000xf32>
    sinter.yield %3 : tensor<200000xf32>
  }
  %1 = sinter.kernel loop(%y) over <[300000] views [(d0) -> (d0)]> : (tensor<300000xf32>) -> tensor<300000xf32> {
  ^bb0(%a: tensor<300000xf32>):
    %3 = sinter.exp %a : tensor<300000xf32>
    sinter.yield %3 : tensor<300000xf32>
  }
  return %0, %1 : tensor<200000xf32>, tensor<300000xf32>
}

// A library call is nobody's part.
// CHECK-LABEL: @beside_a_call
// CHECK-NOT: kernel multi
func.func @beside_a_call(%x: tensor<4x4xf32>, %t: tensor<f32>) -> (tensor<4x4xf32>, tensor<f32>) {
  %0 = sinter.kernel loop(%t) over <[] views [() -> ()]> : (tensor<f32>) -> tensor<f32> {
  ^bb0(%a: tensor<f32>):
    %3 = sinter.exp %a : tensor<f32>
    sinter.yield %3 : tensor<f32>
  }
  %1 = sinter.library_call matmul(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    %3 = sinter.dot_general %a, %a batch [] x [] contract [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    sinter.yield %3 : tensor<4x4xf32>
  }
  return %1, %0 : tensor<4x4xf32>, tensor<f32>
}

// Sums join the kernel that reads the same where launches are expensive; elsewhere
// the kernel's result takes the place of what both read.
// CHECK-LABEL: @sums_of_what_is_read
// CPU-NOT: kernel multi
// CUDA: sinter.kernel multi(%arg0)
// CUDA: sinter.kernel loop
// CUDA: sinter.kernel reduce
func.func @sums_of_what_is_read(%x: tensor<1000x200xf32>) -> (tensor<1000x200xf32>, tensor<200xf32>) {
  %0 = sinter.kernel reduce(%x) over <[1000, 200] reduced [0] views [(d0, d1) -> (d1)]> : (tensor<1000x200xf32>) -> tensor<200xf32> {
  ^bb0(%a: tensor<1000x200xf32>):
    %3 = sinter.reduce sum %a dims [0] : (tensor<1000x200xf32>) -> tensor<200xf32>
    sinter.yield %3 : tensor<200xf32>
  }
  %1 = sinter.kernel loop(%x) over <[1000, 200] views [(d0, d1) -> (d0, d1)]> : (tensor<1000x200xf32>) -> tensor<1000x200xf32> {
  ^bb0(%a: tensor<1000x200xf32>):
    %3 = sinter.exp %a : tensor<1000x200xf32>
    sinter.yield %3 : tensor<1000x200xf32>
  }
  return %1, %0 : tensor<1000x200xf32>, tensor<200xf32>
}

// Must not fire: what is summed would have to be kept.
// CHECK-LABEL: @sums_of_something_else
// CHECK-NOT: kernel multi
func.func @sums_of_something_else(%x: tensor<1000x200xf32>, %y: tensor<1000x200xf32>) -> (tensor<1000x200xf32>, tensor<200xf32>) {
  %0 = sinter.kernel reduce(%y) over <[1000, 200] reduced [0] views [(d0, d1) -> (d1)]> : (tensor<1000x200xf32>) -> tensor<200xf32> {
  ^bb0(%a: tensor<1000x200xf32>):
    %3 = sinter.reduce sum %a dims [0] : (tensor<1000x200xf32>) -> tensor<200xf32>
    sinter.yield %3 : tensor<200xf32>
  }
  %1 = sinter.kernel loop(%x) over <[1000, 200] views [(d0, d1) -> (d0, d1)]> : (tensor<1000x200xf32>) -> tensor<1000x200xf32> {
  ^bb0(%a: tensor<1000x200xf32>):
    %3 = sinter.exp %a : tensor<1000x200xf32>
    sinter.yield %3 : tensor<1000x200xf32>
  }
  return %1, %0 : tensor<1000x200xf32>, tensor<200xf32>
}
