// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: @sums
func.func @sums(%xs: tensor<4x8xf32>, %zero: tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  // CHECK: %{{.*}}:2 = sinter.scan trips 4 stacks(%arg0) initial(%arg1) whole() : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  // CHECK: ^bb0(%[[X:.*]]: tensor<8xf32>, %[[BEFORE:.*]]: tensor<8xf32>):
  // CHECK: %[[AFTER:.*]] = sinter.add %[[BEFORE]], %[[X]]
  // CHECK: sinter.yield %[[AFTER]], %[[AFTER]]
  %sum, %sums = sinter.scan trips 4 stacks(%xs) initial(%zero) whole() : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  ^bb0(%x: tensor<8xf32>, %before: tensor<8xf32>):
    %after = sinter.add %before, %x : tensor<8xf32>
    sinter.yield %after, %after : tensor<8xf32>, tensor<8xf32>
  }
  return %sum, %sums : tensor<8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: @all_kinds
func.func @all_kinds(%xs: tensor<3x2xf32>, %ns: tensor<3xi64>, %h: tensor<2xf32>, %c: tensor<i64>, %w: tensor<2xf32>)
    -> (tensor<2xf32>, tensor<i64>, tensor<3x2xf32>, tensor<3xi64>) {
  // CHECK: sinter.scan trips 3 reverse stacks(%arg0, %arg1) initial(%arg2, %arg3) whole(%arg4)
  %r:4 = sinter.scan trips 3 reverse stacks(%xs, %ns) initial(%h, %c) whole(%w)
      : (tensor<3x2xf32>, tensor<3xi64>, tensor<2xf32>, tensor<i64>, tensor<2xf32>)
        -> (tensor<2xf32>, tensor<i64>, tensor<3x2xf32>, tensor<3xi64>) {
  ^bb0(%x: tensor<2xf32>, %n: tensor<i64>, %state: tensor<2xf32>, %count: tensor<i64>, %factor: tensor<2xf32>):
    %next = sinter.mul %state, %factor : tensor<2xf32>
    %more = sinter.add %count, %n : tensor<i64>
    sinter.yield %next, %more, %x, %n : tensor<2xf32>, tensor<i64>, tensor<2xf32>, tensor<i64>
  }
  return %r#0, %r#1, %r#2, %r#3 : tensor<2xf32>, tensor<i64>, tensor<3x2xf32>, tensor<3xi64>
}

// CHECK-LABEL: @call
func.func @call(%xs: tensor<4x8xf32>, %zero: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: sinter.scan_call @body trips 4 reverse stacks(%arg0) initial(%arg1) whole() : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %sum = sinter.scan_call @body trips 4 reverse stacks(%xs) initial(%zero) whole() : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %sum : tensor<8xf32>
}

func.func private @body(%x: tensor<8xf32>, %before: tensor<8xf32>) -> tensor<8xf32> {
  %after = sinter.add %before, %x : tensor<8xf32>
  return %after : tensor<8xf32>
}
