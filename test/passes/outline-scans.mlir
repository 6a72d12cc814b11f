// RUN: sinter-opt %s --split-input-file --mlir-print-debuginfo --mlir-print-local-scope --sinter-outline-scans | FileCheck %s

// The body becomes a private function, next to the one with the scan. A last value that is also stacked is read from the
// stack, of which the first trip has slice 0.
// CHECK-LABEL: func.func @stacked
// CHECK: %[[R:.*]]:2 = sinter.scan_call @stacked.scan0 trips 4 stacks(%arg0) initial(%arg1) whole() : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) loc("sum")
// CHECK-NEXT: %[[S:.*]] = sinter.slice %[[R]]#1 starts [3, 0] limits [4, 8] strides [1, 1]
// CHECK-NEXT: %[[LAST:.*]] = sinter.reshape %[[S]]
// CHECK-NEXT: return %[[LAST]], %[[R]]#1
// CHECK: func.func private @stacked.scan0(%arg0: tensor<8xf32> {sinter.input = "in0"} {{.*}}, %arg1: tensor<8xf32> {sinter.input = "in1"} {{.*}}) -> (tensor<8xf32> {sinter.output = "out0"}, tensor<8xf32> {sinter.output = "out1"})
// CHECK-NEXT: %[[A:.*]] = sinter.add %arg1, %arg0
// CHECK-NEXT: return %[[A]], %[[A]]
func.func @stacked(%xs: tensor<4x8xf32> {sinter.input = "x"}, %h: tensor<8xf32> {sinter.input = "h"})
    -> (tensor<8xf32> {sinter.output = "last"}, tensor<4x8xf32> {sinter.output = "all"}) {
  %sum, %sums = sinter.scan trips 4 stacks(%xs) initial(%h) whole() : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  ^bb0(%x: tensor<8xf32>, %before: tensor<8xf32>):
    %after = sinter.add %before, %x : tensor<8xf32> loc("add")
    sinter.yield %after, %after : tensor<8xf32>, tensor<8xf32>
  } loc("sum")
  return %sum, %sums : tensor<8xf32>, tensor<4x8xf32>
}

// -----

// In reverse the last trip has slice 0. Reshapes do not hide that a value is stacked.
// CHECK-LABEL: func.func @reversed
// CHECK: %[[R:.*]]:2 = sinter.scan_call @reversed.scan0 trips 4 reverse
// CHECK-NEXT: sinter.slice %[[R]]#1 starts [0, 0, 0] limits [1, 1, 8] strides [1, 1, 1]
func.func @reversed(%xs: tensor<4x8xf32> {sinter.input = "x"}, %h: tensor<8xf32> {sinter.input = "h"})
    -> (tensor<8xf32> {sinter.output = "last"}, tensor<4x1x8xf32> {sinter.output = "all"}) {
  %sum, %sums = sinter.scan trips 4 reverse stacks(%xs) initial(%h) whole() : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<4x1x8xf32>) {
  ^bb0(%x: tensor<8xf32>, %before: tensor<8xf32>):
    %after = sinter.add %before, %x : tensor<8xf32>
    %row = sinter.reshape %after : tensor<8xf32> -> tensor<1x8xf32>
    sinter.yield %after, %row : tensor<8xf32>, tensor<1x8xf32>
  }
  return %sum, %sums : tensor<8xf32>, tensor<4x1x8xf32>
}

// -----

// Must not fire: a last value that is not stacked stays a result. Each scan has a function of its own.
// CHECK-LABEL: func.func @two
// CHECK: %[[A:.*]] = sinter.scan_call @two.scan0 trips 2 stacks(%arg0) initial(%arg1) whole()
// CHECK-NEXT: %[[B:.*]] = sinter.scan_call @[[SECOND:.*]] trips 2 stacks(%arg0) initial(%[[A]]) whole()
// CHECK-NEXT: return %[[B]]
// CHECK: func.func private @[[SECOND]]
// CHECK: sinter.sub
// CHECK: func.func private @two.scan0
// CHECK: sinter.add
func.func @two(%xs: tensor<2x8xf32> {sinter.input = "x"}, %h: tensor<8xf32> {sinter.input = "h"})
    -> (tensor<8xf32> {sinter.output = "last"}) {
  %a = sinter.scan trips 2 stacks(%xs) initial(%h) whole() : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%x: tensor<8xf32>, %before: tensor<8xf32>):
    %after = sinter.add %before, %x : tensor<8xf32>
    sinter.yield %after : tensor<8xf32>
  }
  %b = sinter.scan trips 2 stacks(%xs) initial(%a) whole() : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%x: tensor<8xf32>, %before: tensor<8xf32>):
    %after = sinter.sub %before, %x : tensor<8xf32>
    sinter.yield %after : tensor<8xf32>
  }
  return %b : tensor<8xf32>
}
