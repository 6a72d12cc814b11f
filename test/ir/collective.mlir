// RUN: sinter-opt %s | sinter-opt | FileCheck %s
// RUN: sinter-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD
// RUN: sinter-opt %s --sinter-fold-constants | FileCheck %s --check-prefix=EVAL

// CHECK-LABEL: @all_reduce
func.func @all_reduce(%x : tensor<4x8xf32>, %n : tensor<3xi64>) -> (tensor<4x8xf32>, tensor<3xi64>) {
  // CHECK: sinter.all_reduce %arg0, %arg1 over data of 2 : tensor<4x8xf32>, tensor<3xi64>
  // FOLD: sinter.all_reduce
  %y:2 = sinter.all_reduce %x, %n over data of 2 : tensor<4x8xf32>, tensor<3xi64>
  return %y#0, %y#1 : tensor<4x8xf32>, tensor<3xi64>
}

// With one replica there is nothing to sum.
// FOLD-LABEL: @one
func.func @one(%x : tensor<4x8xf32>) -> tensor<4x8xf32> {
  // FOLD-NEXT: return %arg0
  %y = sinter.all_reduce %x over data of 1 : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// All replicas hold the same constants.
// EVAL-LABEL: @constant
func.func @constant() -> tensor<2xf32> {
  // EVAL-NEXT: sinter.constant dense<[3.000000e+00, 6.000000e+00]> : tensor<2xf32>
  // EVAL-NEXT: return
  %x = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = sinter.all_reduce %x over data of 3 : tensor<2xf32>
  return %y : tensor<2xf32>
}

// Part r of the sum, and the parts of all.
// CHECK-LABEL: @parts
func.func @parts(%g : tensor<8xf32>, %p : tensor<4xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  // CHECK: sinter.reduce_scatter %arg0 over data of 2 : tensor<8xf32>
  // CHECK: sinter.all_gather %arg1 over data of 2 : tensor<4xf32>
  // FOLD: sinter.reduce_scatter
  // FOLD: sinter.all_gather
  %s = sinter.reduce_scatter %g over data of 2 : tensor<8xf32>
  %w = sinter.all_gather %p over data of 2 : tensor<4xf32>
  return %s, %w : tensor<4xf32>, tensor<8xf32>
}

// FOLD-LABEL: @one_part
func.func @one_part(%g : tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // FOLD-NEXT: return %arg0, %arg0
  %s = sinter.reduce_scatter %g over data of 1 : tensor<8xf32>
  %w = sinter.all_gather %g over data of 1 : tensor<8xf32>
  return %s, %w : tensor<8xf32>, tensor<8xf32>
}

// A replica has another part of a constant than the others.
// EVAL-LABEL: @part_of_constant
func.func @part_of_constant() -> tensor<1xf32> {
  // EVAL: sinter.reduce_scatter
  %x = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = sinter.reduce_scatter %x over data of 2 : tensor<2xf32>
  return %y : tensor<1xf32>
}
