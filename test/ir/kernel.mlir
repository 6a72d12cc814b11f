// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// Every kind of kernel and library call, printed and parsed again.

// CHECK-LABEL: func.func @loop
func.func @loop(%x: tensor<4x1xf32>) -> (tensor<4x1xf32>, tensor<4xf32>) {
  // CHECK: sinter.kernel loop(%arg0) over <[4, 1] views [(d0, d1) -> (d0, 0), (d0, d1) -> (d0)]> : (tensor<4x1xf32>) -> (tensor<4x1xf32>, tensor<4xf32>) {
  %0:2 = sinter.kernel loop(%x) over <[4, 1] views [(d0, d1) -> (d0, 0), (d0, d1) -> (d0)]> : (tensor<4x1xf32>) -> (tensor<4x1xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4x1xf32>):
    %b = sinter.exp %a : tensor<4x1xf32>
    %c = sinter.reshape %b : tensor<4x1xf32> -> tensor<4xf32>
    sinter.yield %b, %c : tensor<4x1xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<4x1xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @reduce
func.func @reduce(%x: tensor<1000x200xf32>) -> tensor<200xf32> {
  // CHECK: sinter.kernel reduce(%arg0) over <[1000, 200] reduced [0] views [(d0, d1) -> (d1)]>
  %0 = sinter.kernel reduce(%x) over <[1000, 200] reduced [0] views [(d0, d1) -> (d1)]> : (tensor<1000x200xf32>) -> tensor<200xf32> {
  ^bb0(%a: tensor<1000x200xf32>):
    %b = sinter.reduce sum %a dims [0] : (tensor<1000x200xf32>) -> tensor<200xf32>
    sinter.yield %b : tensor<200xf32>
  }
  return %0 : tensor<200xf32>
}

// A scalar: a domain without loops.
// CHECK-LABEL: func.func @scalar
func.func @scalar(%x: tensor<f32>) -> tensor<f32> {
  // CHECK: sinter.kernel loop(%arg0) over <[] views [() -> ()]>
  %0 = sinter.kernel loop(%x) over <[] views [() -> ()]> : (tensor<f32>) -> tensor<f32> {
  ^bb0(%a: tensor<f32>):
    %b = sinter.exp %a : tensor<f32>
    sinter.yield %b : tensor<f32>
  }
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @sort
func.func @sort(%x: tensor<4x9xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>) {
  // CHECK: sinter.kernel sort(%arg0) : (tensor<4x9xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>) {
  %0:2 = sinter.kernel sort(%x) : (tensor<4x9xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>) {
  ^bb0(%a: tensor<4x9xf32>):
    %v, %i = sinter.top_k %a {axis = 1 : i64, k = 2 : i64, largest} : (tensor<4x9xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
    sinter.yield %v, %i : tensor<4x2xf32>, tensor<4x2xi64>
  }
  return %0#0, %0#1 : tensor<4x2xf32>, tensor<4x2xi64>
}

// CHECK-LABEL: func.func @multi
func.func @multi(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: sinter.kernel multi(%arg0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0:2 = sinter.kernel multi(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    // CHECK-COUNT-2: sinter.kernel loop
    %1 = sinter.kernel loop(%a) over <[8] views [(d0) -> (d0)]> : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%b: tensor<8xf32>):
      %c = sinter.exp %b : tensor<8xf32>
      sinter.yield %c : tensor<8xf32>
    }
    %2 = sinter.kernel loop(%a) over <[8] views [(d0) -> (d0)]> : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%b: tensor<8xf32>):
      %c = sinter.log %b : tensor<8xf32>
      sinter.yield %c : tensor<8xf32>
    }
    sinter.yield %1, %2 : tensor<8xf32>, tensor<8xf32>
  }
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @library
func.func @library(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) -> tensor<4x2xf32> {
  // CHECK: sinter.library_call matmul(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32> {
  %0 = sinter.library_call matmul(%a, %b) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32> {
  ^bb0(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>):
    %z = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    sinter.yield %z : tensor<4x2xf32>
  }
  return %0 : tensor<4x2xf32>
}
