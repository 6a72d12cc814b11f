// RUN: sinter-opt %s --split-input-file --sinter-unroll-scans=max-trips=3 | FileCheck %s
// RUN: sinter-opt %s --split-input-file --sinter-unroll-scans=max-trips=-1 | FileCheck %s --check-prefix=ALL
// RUN: sinter-opt %s --split-input-file --sinter-unroll-scans=max-trips=0 | FileCheck %s --check-prefix=NONE

// Trips follow each other: each reads its slice and what the trip before it
// yielded. Whole operands are the same in each trip.
// CHECK-LABEL: @trips
// NONE-LABEL: @trips
// NONE: sinter.scan
func.func @trips(%xs: tensor<2x4xf32>, %h: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>) {
  // CHECK-NEXT: %[[S0:.*]] = sinter.slice %arg0 starts [0, 0] limits [1, 4]
  // CHECK-NEXT: %[[X0:.*]] = sinter.reshape %[[S0]] : tensor<1x4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %[[M0:.*]] = sinter.mul %arg1, %arg2
  // CHECK-NEXT: %[[H0:.*]] = sinter.add %[[M0]], %[[X0]]
  // CHECK-NEXT: %[[S1:.*]] = sinter.slice %arg0 starts [1, 0] limits [2, 4]
  // CHECK-NEXT: %[[X1:.*]] = sinter.reshape %[[S1]]
  // CHECK-NEXT: %[[M1:.*]] = sinter.mul %[[H0]], %arg2
  // CHECK-NEXT: %[[H1:.*]] = sinter.add %[[M1]], %[[X1]]
  // CHECK-NEXT: %[[R0:.*]] = sinter.reshape %[[M0]] : tensor<4xf32> -> tensor<1x4xf32>
  // CHECK-NEXT: %[[R1:.*]] = sinter.reshape %[[M1]]
  // CHECK-NEXT: %[[Y:.*]] = sinter.concat %[[R0]], %[[R1]] axis 0
  // CHECK-NEXT: return %[[H1]], %[[Y]]
  %last, %all = sinter.scan trips 2 stacks(%xs) initial(%h) whole(%w)
      : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>) {
  ^bb0(%x: tensor<4xf32>, %before: tensor<4xf32>, %factor: tensor<4xf32>):
    %scaled = sinter.mul %before, %factor : tensor<4xf32>
    %after = sinter.add %scaled, %x : tensor<4xf32>
    sinter.yield %after, %scaled : tensor<4xf32>, tensor<4xf32>
  }
  return %last, %all : tensor<4xf32>, tensor<2x4xf32>
}

// -----

// In reverse, the first trip reads and writes the last slice.
// CHECK-LABEL: @reverse
func.func @reverse(%xs: tensor<2x4xf32>, %h: tensor<4xf32>) -> tensor<2x4xf32> {
  // CHECK-NEXT: %[[S1:.*]] = sinter.slice %arg0 starts [1, 0] limits [2, 4]
  // CHECK-NEXT: %[[X1:.*]] = sinter.reshape %[[S1]]
  // CHECK-NEXT: %[[H1:.*]] = sinter.add %arg1, %[[X1]]
  // CHECK-NEXT: %[[S0:.*]] = sinter.slice %arg0 starts [0, 0] limits [1, 4]
  // CHECK-NEXT: %[[X0:.*]] = sinter.reshape %[[S0]]
  // CHECK-NEXT: %[[H0:.*]] = sinter.add %[[H1]], %[[X0]]
  // CHECK-NEXT: %[[R0:.*]] = sinter.reshape %[[H0]]
  // CHECK-NEXT: %[[R1:.*]] = sinter.reshape %[[H1]]
  // CHECK-NEXT: sinter.concat %[[R0]], %[[R1]] axis 0
  %last, %all = sinter.scan trips 2 reverse stacks(%xs) initial(%h) whole()
      : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>) {
  ^bb0(%x: tensor<4xf32>, %before: tensor<4xf32>):
    %after = sinter.add %before, %x : tensor<4xf32>
    sinter.yield %after, %after : tensor<4xf32>, tensor<4xf32>
  }
  return %all : tensor<2x4xf32>
}

// -----

// CHECK-LABEL: @more_trips_stay
// ALL-LABEL: @more_trips_stay
func.func @more_trips_stay(%h: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: sinter.scan trips 4
  // ALL-COUNT-4: sinter.exp
  // ALL-NOT: sinter.exp
  %last = sinter.scan trips 4 stacks() initial(%h) whole() : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%before: tensor<4xf32>):
    %after = sinter.exp %before : tensor<4xf32>
    sinter.yield %after : tensor<4xf32>
  }
  return %last : tensor<4xf32>
}

// -----

// Of scans in each other's bodies, the longest one stays.
// NONE-LABEL: @inner_is_shorter
// ALL-LABEL: @inner_is_shorter
func.func @inner_is_shorter(%h: tensor<4xf32>) -> tensor<4xf32> {
  // NONE-NEXT: sinter.scan trips 5
  // NONE-NOT: sinter.scan
  // NONE-COUNT-3: sinter.exp
  // NONE-NOT: sinter.exp
  %last = sinter.scan trips 5 stacks() initial(%h) whole() : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%before: tensor<4xf32>):
    %after = sinter.scan trips 3 stacks() initial(%before) whole() : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb1(%inner: tensor<4xf32>):
      %e = sinter.exp %inner : tensor<4xf32>
      sinter.yield %e : tensor<4xf32>
    }
    sinter.yield %after : tensor<4xf32>
  }
  return %last : tensor<4xf32>
}

// -----

// NONE-LABEL: @outer_is_shorter
func.func @outer_is_shorter(%h: tensor<4xf32>) -> tensor<4xf32> {
  // NONE-NEXT: sinter.scan trips 7
  // NONE: sinter.scan trips 7
  // NONE-NOT: sinter.scan
  %last = sinter.scan trips 2 stacks() initial(%h) whole() : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%before: tensor<4xf32>):
    %after = sinter.scan trips 7 stacks() initial(%before) whole() : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb1(%inner: tensor<4xf32>):
      %e = sinter.exp %inner : tensor<4xf32>
      sinter.yield %e : tensor<4xf32>
    }
    sinter.yield %after : tensor<4xf32>
  }
  return %last : tensor<4xf32>
}
