// RUN: sinter-opt %s --split-input-file --pass-pipeline='builtin.module(sinter-share-kernels)' | FileCheck %s
// RUN: sinter-opt %s --split-input-file --pass-pipeline='builtin.module(sinter-share-kernels, sinter-plan-memory)' | FileCheck %s --check-prefix=PLAN
// RUN: sinter-opt %s --split-input-file --mlir-print-debuginfo --mlir-print-local-scope --pass-pipeline='builtin.module(sinter-share-kernels)' | FileCheck %s --check-prefix=NODE

// Two layers differ in a number, which becomes an operand; what is equal in both stays. What is computed from the
// operand belongs to the fusion's nodes.
// NODE-LABEL: func.func @layers
// NODE: sinter.broadcast {{.*}} loc("first")
// NODE: sinter.broadcast {{.*}} loc("second")
// PLAN: exec.kernel @[[K:.*]] loop
// PLAN-NEXT: ^bb0(%[[X:.*]]: tensor<4x8xf32>, %[[S:.*]]: tensor<f32>):
// PLAN-NEXT: %[[B:.*]] = sinter.broadcast %[[S]] dims []
// PLAN-NEXT: %[[SUM:.*]] = sinter.add %[[X]], %[[B]]
// PLAN-NEXT: %[[C:.*]] = sinter.constant dense<5.000000e-01>
// PLAN-NEXT: sinter.mul %[[SUM]], %[[C]]
// PLAN-NOT: exec.kernel
// PLAN-LABEL: exec.program @layers
// PLAN-DAG: exec.buffer constant
// PLAN: exec.launch @[[K]]
// PLAN: exec.launch @[[K]]
func.func @layers(%x: tensor<4x8xf32> {sinter.input = "x"}) -> (tensor<4x8xf32> {sinter.output = "y"}) {
  %0 = sinter.kernel loop(%x) over <[4, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %2 = sinter.constant dense<1.0> : tensor<4x8xf32>
    %3 = sinter.add %a, %2 : tensor<4x8xf32>
    %4 = sinter.constant dense<0.5> : tensor<4x8xf32>
    %5 = sinter.mul %3, %4 : tensor<4x8xf32>
    sinter.yield %5 : tensor<4x8xf32>
  } loc("first")
  %1 = sinter.kernel loop(%0) over <[4, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %2 = sinter.constant dense<2.0> : tensor<4x8xf32>
    %3 = sinter.add %a, %2 : tensor<4x8xf32>
    %4 = sinter.constant dense<0.5> : tensor<4x8xf32>
    %5 = sinter.mul %3, %4 : tensor<4x8xf32>
    sinter.yield %5 : tensor<4x8xf32>
  } loc("second")
  return %1 : tensor<4x8xf32>
}

// -----

// Must not fire: whoever divides by a number is faster for knowing it.
// CHECK-LABEL: @divided
// CHECK: sinter.kernel loop(%arg0)
// CHECK: sinter.constant dense<3>
// CHECK: sinter.kernel loop(%0)
// CHECK: sinter.constant dense<5>
func.func @divided(%x: tensor<8xi64> {sinter.input = "x"}) -> (tensor<8xi64> {sinter.output = "y"}) {
  %0 = sinter.kernel loop(%x) over <[8] views [(d0) -> (d0)]> : (tensor<8xi64>) -> tensor<8xi64> {
  ^bb0(%a: tensor<8xi64>):
    %2 = sinter.constant dense<3> : tensor<8xi64>
    %3 = sinter.div %a, %2 : tensor<8xi64>
    sinter.yield %3 : tensor<8xi64>
  }
  %1 = sinter.kernel loop(%0) over <[8] views [(d0) -> (d0)]> : (tensor<8xi64>) -> tensor<8xi64> {
  ^bb0(%a: tensor<8xi64>):
    %2 = sinter.constant dense<5> : tensor<8xi64>
    %3 = sinter.div %a, %2 : tensor<8xi64>
    sinter.yield %3 : tensor<8xi64>
  }
  return %1 : tensor<8xi64>
}

// -----

// Must not fire: the one adds what the other multiplies by.
// CHECK-LABEL: @different
// CHECK: sinter.kernel loop(%arg0)
// CHECK: sinter.constant dense<3>
// CHECK: sinter.kernel loop(%0)
// CHECK: sinter.constant dense<5>
func.func @different(%x: tensor<8xi64> {sinter.input = "x"}) -> (tensor<8xi64> {sinter.output = "y"}) {
  %0 = sinter.kernel loop(%x) over <[8] views [(d0) -> (d0)]> : (tensor<8xi64>) -> tensor<8xi64> {
  ^bb0(%a: tensor<8xi64>):
    %2 = sinter.constant dense<3> : tensor<8xi64>
    %3 = sinter.add %a, %2 : tensor<8xi64>
    sinter.yield %3 : tensor<8xi64>
  }
  %1 = sinter.kernel loop(%0) over <[8] views [(d0) -> (d0)]> : (tensor<8xi64>) -> tensor<8xi64> {
  ^bb0(%a: tensor<8xi64>):
    %2 = sinter.constant dense<5> : tensor<8xi64>
    %3 = sinter.mul %a, %2 : tensor<8xi64>
    sinter.yield %3 : tensor<8xi64>
  }
  return %1 : tensor<8xi64>
}

// -----

// Inside a part of a kernel of several: the operand goes through both.
// CHECK-LABEL: @nested
// CHECK: %[[ONE:.*]] = sinter.constant dense<1> : tensor<i64>
// CHECK: sinter.kernel multi(%arg0, %[[ONE]])
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<8xi64>, %[[S:.*]]: tensor<i64>):
// CHECK: sinter.kernel loop(%[[A]], %[[S]])
// CHECK-NEXT: ^bb0(%[[IN:.*]]: tensor<8xi64>, %[[SCALAR:.*]]: tensor<i64>):
// CHECK-NEXT: %[[FULL:.*]] = sinter.broadcast %[[SCALAR]]
// CHECK-NEXT: sinter.add %[[IN]], %[[FULL]]
// CHECK: %[[TWO:.*]] = sinter.constant dense<2> : tensor<i64>
// CHECK: sinter.kernel multi(%{{.*}}, %[[TWO]])
func.func @nested(%x: tensor<8xi64> {sinter.input = "x"}) -> (tensor<8xi64> {sinter.output = "y"}) {
  %0 = sinter.kernel multi(%x) : (tensor<8xi64>) -> tensor<8xi64> {
  ^bb0(%a: tensor<8xi64>):
    %2 = sinter.kernel loop(%a) over <[8] views [(d0) -> (d0)]> : (tensor<8xi64>) -> tensor<8xi64> {
    ^bb0(%b: tensor<8xi64>):
      %3 = sinter.constant dense<1> : tensor<8xi64>
      %4 = sinter.add %b, %3 : tensor<8xi64>
      sinter.yield %4 : tensor<8xi64>
    }
    sinter.yield %2 : tensor<8xi64>
  }
  %1 = sinter.kernel multi(%0) : (tensor<8xi64>) -> tensor<8xi64> {
  ^bb0(%a: tensor<8xi64>):
    %2 = sinter.kernel loop(%a) over <[8] views [(d0) -> (d0)]> : (tensor<8xi64>) -> tensor<8xi64> {
    ^bb0(%b: tensor<8xi64>):
      %3 = sinter.constant dense<2> : tensor<8xi64>
      %4 = sinter.add %b, %3 : tensor<8xi64>
      sinter.yield %4 : tensor<8xi64>
    }
    sinter.yield %2 : tensor<8xi64>
  }
  return %1 : tensor<8xi64>
}
