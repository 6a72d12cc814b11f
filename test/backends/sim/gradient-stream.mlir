// RUN: sinter-opt %s --split-input-file --pass-pipeline='builtin.module(sinter-plan-memory{gradient-stream=on growth=1})' | FileCheck %s
// RUN: sinter-opt %s --split-input-file --pass-pipeline='builtin.module(sinter-plan-memory{gradient-stream=on growth=0})' | FileCheck %s --check-prefix=TIGHT
// RUN: sinter-opt %s --split-input-file --pass-pipeline='builtin.module(sinter-plan-memory{gradient-stream=auto})' | FileCheck %s --check-prefix=AUTO
// RUN: not sinter-opt %s --split-input-file --pass-pipeline='builtin.module(sinter-plan-memory{gradient-stream=on own-memory=false})' 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not sinter-opt %s --split-input-file --pass-pipeline='builtin.module(sinter-plan-memory{gradient-stream=some})' 2>&1 | FileCheck %s --check-prefix=MODE

// CPU: error: --gradient-stream=on: the program is for the CPU, which has no streams
// MODE: error: sinter-plan-memory: gradient-stream=some is not off, auto or on
// Products of this size take no longer than a wait.
// AUTO-NOT: exec.stream

// The gradient of the second weight moves, and so does the update that reads it, which waits for the last product that
// reads the old weight. Everything that the gradient of the first weight needs comes before it, so nothing is left that
// could run beside it. The compute stream never waits: it takes no bytes that the gradient stream uses.
// CHECK-LABEL: module @two_layers
// CHECK: exec.program @step
// CHECK-NOT: exec.wait
// CHECK: exec.matmul{{.*}} m 8 n 4 k 32
// CHECK-NEXT: exec.record 0
// CHECK: exec.wait 0 {exec.stream = 2 : i64}
// CHECK-NEXT: exec.matmul{{.*}} m 32 n 4 k 8 {{.*}} {exec.stream = 2 : i64}
// CHECK-NOT: exec.record
// CHECK: exec.matmul{{.*}} m 8 n 32 k 4
// CHECK-NEXT: exec.record 1
// CHECK: exec.wait 1 {exec.stream = 2 : i64}
// CHECK-NEXT: exec.launch @k0_sub({{.*}} {exec.stream = 2 : i64}
// CHECK-NOT: exec.record
// CHECK-NOT: exec.wait
// CHECK-NOT: exec.stream

// If the arena may not grow, it takes such bytes, and waits.
// TIGHT-LABEL: module @two_layers
// TIGHT: exec.program @step{{.*}} arena 3072 unshared
// TIGHT: exec.matmul{{.*}} m 32 n 4 k 8 {{.*}} {exec.stream = 2 : i64}
// TIGHT-NEXT: exec.record 1 {exec.stream = 2 : i64}
// TIGHT: exec.wait 1{{$}}
// TIGHT-NEXT: exec.matmul{{.*}} m 8 n 32 k 4
module @two_layers {
  sinter.state @w0 : tensor<16x32xf32> {role = #sinter<role param>}
  sinter.state @w1 : tensor<32x4xf32> {role = #sinter<role param>}
  func.func @step(%x: tensor<8x16xf32> {sinter.input = "x"}, %w0: tensor<16x32xf32> {sinter.state = @w0}, %w1: tensor<32x4xf32> {sinter.state = @w1})
      -> (tensor<16x32xf32> {sinter.state = @w0}, tensor<32x4xf32> {sinter.state = @w1}) {
    %h = sinter.library_call matmul(%x, %w0) : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32> {
    ^bb0(%a: tensor<8x16xf32>, %b: tensor<16x32xf32>):
      %0 = sinter.dot_general %a, %b batch [] x [] contract [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
      sinter.yield %0 : tensor<8x32xf32>
    }
    %y = sinter.library_call matmul(%h, %w1) : (tensor<8x32xf32>, tensor<32x4xf32>) -> tensor<8x4xf32> {
    ^bb0(%a: tensor<8x32xf32>, %b: tensor<32x4xf32>):
      %0 = sinter.dot_general %a, %b batch [] x [] contract [1] x [0] : (tensor<8x32xf32>, tensor<32x4xf32>) -> tensor<8x4xf32>
      sinter.yield %0 : tensor<8x4xf32>
    }
    %d1 = sinter.library_call matmul(%h, %y) : (tensor<8x32xf32>, tensor<8x4xf32>) -> tensor<32x4xf32> {
    ^bb0(%a: tensor<8x32xf32>, %b: tensor<8x4xf32>):
      %0 = sinter.dot_general %a, %b batch [] x [] contract [0] x [0] : (tensor<8x32xf32>, tensor<8x4xf32>) -> tensor<32x4xf32>
      sinter.yield %0 : tensor<32x4xf32>
    }
    %dh = sinter.library_call matmul(%y, %w1) : (tensor<8x4xf32>, tensor<32x4xf32>) -> tensor<8x32xf32> {
    ^bb0(%a: tensor<8x4xf32>, %b: tensor<32x4xf32>):
      %0 = sinter.dot_general %a, %b batch [] x [] contract [1] x [1] : (tensor<8x4xf32>, tensor<32x4xf32>) -> tensor<8x32xf32>
      sinter.yield %0 : tensor<8x32xf32>
    }
    %n1 = sinter.kernel loop(%w1, %d1) over <[32, 4] views [(d0, d1) -> (d0, d1)]> : (tensor<32x4xf32>, tensor<32x4xf32>) -> tensor<32x4xf32> {
    ^bb0(%a: tensor<32x4xf32>, %b: tensor<32x4xf32>):
      %0 = sinter.sub %a, %b : tensor<32x4xf32>
      sinter.yield %0 : tensor<32x4xf32>
    }
    %d0 = sinter.library_call matmul(%x, %dh) : (tensor<8x16xf32>, tensor<8x32xf32>) -> tensor<16x32xf32> {
    ^bb0(%a: tensor<8x16xf32>, %b: tensor<8x32xf32>):
      %0 = sinter.dot_general %a, %b batch [] x [] contract [0] x [0] : (tensor<8x16xf32>, tensor<8x32xf32>) -> tensor<16x32xf32>
      sinter.yield %0 : tensor<16x32xf32>
    }
    %n0 = sinter.kernel loop(%w0, %d0) over <[16, 32] views [(d0, d1) -> (d0, d1)]> : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32> {
    ^bb0(%a: tensor<16x32xf32>, %b: tensor<16x32xf32>):
      %0 = sinter.sub %a, %b : tensor<16x32xf32>
      sinter.yield %0 : tensor<16x32xf32>
    }
    return %n0, %n1 : tensor<16x32xf32>, tensor<32x4xf32>
  }
}

// -----

// Must not fire: products one after the other, though nothing multiplies the result of the last.
// CHECK-LABEL: module @chain
// CHECK-NOT: exec.stream
module @chain {
  func.func @eval(%x: tensor<8x16xf32> {sinter.input = "x"}, %w0: tensor<16x32xf32> {sinter.input = "w0"}, %w1: tensor<32x4xf32> {sinter.input = "w1"})
      -> (tensor<8x4xf32> {sinter.output = "y"}) {
    %h = sinter.library_call matmul(%x, %w0) : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32> {
    ^bb0(%a: tensor<8x16xf32>, %b: tensor<16x32xf32>):
      %0 = sinter.dot_general %a, %b batch [] x [] contract [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
      sinter.yield %0 : tensor<8x32xf32>
    }
    %y = sinter.library_call matmul(%h, %w1) : (tensor<8x32xf32>, tensor<32x4xf32>) -> tensor<8x4xf32> {
    ^bb0(%a: tensor<8x32xf32>, %b: tensor<32x4xf32>):
      %0 = sinter.dot_general %a, %b batch [] x [] contract [1] x [0] : (tensor<8x32xf32>, tensor<32x4xf32>) -> tensor<8x4xf32>
      sinter.yield %0 : tensor<8x4xf32>
    }
    return %y : tensor<8x4xf32>
  }
}
