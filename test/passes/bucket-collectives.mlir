// RUN: sinter-opt %s --sinter-bucket-collectives="bucket-bytes=64 last-bytes=32" | FileCheck %s

// In the order in which operands are known; a full message is preceded by another one.
// CHECK-LABEL: @by_size
func.func @by_size(%a : tensor<4xf32>, %b : tensor<16xf32>, %c : tensor<4xf32>) -> (tensor<4xf32>, tensor<16xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[B:.*]] = sinter.exp %arg1
  // CHECK-NEXT: %[[C:.*]] = sinter.exp %arg2
  // CHECK-NEXT: %[[A:.*]] = sinter.exp %arg0
  // CHECK-NEXT: %[[SB:.*]] = sinter.all_reduce %[[B]] over data of 2
  // CHECK-NEXT: %[[S:.*]]:2 = sinter.all_reduce %[[C]], %[[A]] over data of 2
  // CHECK-NEXT: return %[[S]]#1, %[[SB]], %[[S]]#0
  %0 = sinter.exp %b : tensor<16xf32>
  %1 = sinter.exp %c : tensor<4xf32>
  %2 = sinter.exp %a : tensor<4xf32>
  %3 = sinter.all_reduce %2 over data of 2 : tensor<4xf32>
  %4 = sinter.all_reduce %0 over data of 2 : tensor<16xf32>
  %5 = sinter.all_reduce %1 over data of 2 : tensor<4xf32>
  return %3, %4, %5 : tensor<4xf32>, tensor<16xf32>, tensor<4xf32>
}

// From the last one on: the last message has 32 bytes or more, the others 64, the first what is left.
// CHECK-LABEL: @from_the_last
func.func @from_the_last(%a : tensor<4xf32>, %b : tensor<4xf32>, %c : tensor<12xf32>, %d : tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<12xf32>, tensor<8xf32>) {
  // CHECK: sinter.all_reduce %arg0 over data of 2
  // CHECK-NEXT: sinter.all_reduce %arg1, %arg2 over data of 2
  // CHECK-NEXT: sinter.all_reduce %arg3 over data of 2
  %0 = sinter.all_reduce %a over data of 2 : tensor<4xf32>
  %1 = sinter.all_reduce %b over data of 2 : tensor<4xf32>
  %2 = sinter.all_reduce %c over data of 2 : tensor<12xf32>
  %3 = sinter.all_reduce %d over data of 2 : tensor<8xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<12xf32>, tensor<8xf32>
}

// One that needs another one's result is a message of its own.
// CHECK-LABEL: @depends
func.func @depends(%a : tensor<4xf32>, %b : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: sinter.all_reduce %arg0 over data of 2
  // CHECK: sinter.all_reduce %{{.*}} over data of 2
  %0 = sinter.all_reduce %a over data of 2 : tensor<4xf32>
  %1 = sinter.mul %0, %b : tensor<4xf32>
  %2 = sinter.all_reduce %1 over data of 2 : tensor<4xf32>
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// Users of an early result come after the message.
// CHECK-LABEL: @users
func.func @users(%a : tensor<4xf32>, %b : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: sinter.exp %arg1
  // CHECK-NEXT: sinter.all_reduce %arg0, %{{.*}} over data of 2
  // CHECK-NEXT: sinter.neg
  %0 = sinter.all_reduce %a over data of 2 : tensor<4xf32>
  %1 = sinter.neg %0 : tensor<4xf32>
  %2 = sinter.exp %b : tensor<4xf32>
  %3 = sinter.all_reduce %2 over data of 2 : tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// Element types are not mixed.
// CHECK-LABEL: @types
func.func @types(%a : tensor<4xf32>, %b : tensor<4xf64>) -> (tensor<4xf32>, tensor<4xf64>) {
  // CHECK-COUNT-2: sinter.all_reduce
  %0 = sinter.all_reduce %a over data of 2 : tensor<4xf32>
  %1 = sinter.all_reduce %b over data of 2 : tensor<4xf64>
  return %0, %1 : tensor<4xf32>, tensor<4xf64>
}
