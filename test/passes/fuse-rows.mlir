// RUN: sinter-opt %s --phase-options="--target=cuda" --pass-pipeline='builtin.module(func.func(sinter-fuse-epilogues, sinter-fuse-loops, sinter-fuse-rows))' | FileCheck %s
// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-fuse-epilogues, sinter-fuse-loops, sinter-fuse-rows))' | FileCheck %s --check-prefix=CPU

// CPU-NOT: kernel rows

// The product of the scores, the softmax, and the product of the probabilities: only the output is stored.
// CHECK-LABEL: @one_query
// CHECK: %[[Y:.*]] = sinter.kernel rows(
// CHECK: %[[S:.*]] = sinter.kernel matmul
// CHECK: %[[P:.*]] = sinter.kernel reduce(%[[S]])
// CHECK: %[[O:.*]] = sinter.kernel matmul(%[[P]],
// CHECK: sinter.yield %[[O]]
// CHECK-NOT: sinter.kernel
// CHECK: return %[[Y]]
func.func @one_query(%q: tensor<6x1x8xf32>, %k: tensor<6x37x8xf32>, %v: tensor<6x37x5xf32>) -> tensor<6x1x5xf32> {
  %0 = sinter.dot_general %q, %k batch [0] x [0] contract [2] x [2] : (tensor<6x1x8xf32>, tensor<6x37x8xf32>) -> tensor<6x1x37xf32>
  %1 = sinter.reduce max %0 dims [2] : (tensor<6x1x37xf32>) -> tensor<6x1xf32>
  %2 = sinter.broadcast %1 dims [0, 1] : tensor<6x1xf32> -> tensor<6x1x37xf32>
  %3 = sinter.sub %0, %2 : tensor<6x1x37xf32>
  %4 = sinter.exp %3 : tensor<6x1x37xf32>
  %5 = sinter.reduce sum %4 dims [2] : (tensor<6x1x37xf32>) -> tensor<6x1xf32>
  %6 = sinter.broadcast %5 dims [0, 1] : tensor<6x1xf32> -> tensor<6x1x37xf32>
  %7 = sinter.div %4, %6 : tensor<6x1x37xf32>
  %8 = sinter.dot_general %7, %v batch [0] x [0] contract [2] x [1] : (tensor<6x1x37xf32>, tensor<6x37x5xf32>) -> tensor<6x1x5xf32>
  return %8 : tensor<6x1x5xf32>
}

// A row of scores is a stretch of a head's. What the reduction has of a row is stored for others.
// CHECK-LABEL: @stretches
// CHECK: %[[Y:.*]]:2 = sinter.kernel rows(
// CHECK: sinter.kernel matmul
// CHECK: sinter.kernel reduce
// CHECK: sinter.kernel matmul
// CHECK: return %[[Y]]#1, %[[Y]]#0
func.func @stretches(%q: tensor<3x1x8xf32>, %k: tensor<3x64x8xf32>, %v: tensor<3x2x32x5xf32>) -> (tensor<3x2x5xf32>, tensor<3x2xf32>) {
  %0 = sinter.dot_general %q, %k batch [0] x [0] contract [2] x [2] : (tensor<3x1x8xf32>, tensor<3x64x8xf32>) -> tensor<3x1x64xf32>
  %1 = sinter.reshape %0 : tensor<3x1x64xf32> -> tensor<3x2x32xf32>
  %2 = sinter.reduce max %1 dims [2] : (tensor<3x2x32xf32>) -> tensor<3x2xf32>
  %3 = sinter.broadcast %2 dims [0, 1] : tensor<3x2xf32> -> tensor<3x2x32xf32>
  %4 = sinter.sub %1, %3 : tensor<3x2x32xf32>
  %5 = sinter.exp %4 : tensor<3x2x32xf32>
  %6 = sinter.dot_general %5, %v batch [0, 1] x [0, 1] contract [2] x [2] : (tensor<3x2x32xf32>, tensor<3x2x32x5xf32>) -> tensor<3x2x5xf32>
  return %6, %2 : tensor<3x2x5xf32>, tensor<3x2xf32>
}

// Must not fire: the softmax is along another dimension than the product's sum.
// CHECK-LABEL: @other_dimension
// CHECK-NOT: kernel rows
func.func @other_dimension(%q: tensor<16x1x8xf32>, %k: tensor<16x16x8xf32>, %v: tensor<16x16x5xf32>) -> tensor<16x1x5xf32> {
  %0 = sinter.dot_general %q, %k batch [0] x [0] contract [2] x [2] : (tensor<16x1x8xf32>, tensor<16x16x8xf32>) -> tensor<16x1x16xf32>
  %1 = sinter.reduce max %0 dims [0] : (tensor<16x1x16xf32>) -> tensor<1x16xf32>
  %2 = sinter.broadcast %1 dims [1, 2] : tensor<1x16xf32> -> tensor<16x1x16xf32>
  %3 = sinter.sub %0, %2 : tensor<16x1x16xf32>
  %4 = sinter.dot_general %3, %v batch [0] x [0] contract [2] x [1] : (tensor<16x1x16xf32>, tensor<16x16x5xf32>) -> tensor<16x1x5xf32>
  return %4 : tensor<16x1x5xf32>
}

// Must not fire: so few rows leave most of a GPU idle, and the rows are long.
// CHECK-LABEL: @few_rows
// CHECK-NOT: kernel rows
func.func @few_rows(%q: tensor<2x1x64xf32>, %k: tensor<2x1023x64xf32>, %v: tensor<2x1023x64xf32>) -> tensor<2x1x64xf32> {
  %0 = sinter.dot_general %q, %k batch [0] x [0] contract [2] x [2] : (tensor<2x1x64xf32>, tensor<2x1023x64xf32>) -> tensor<2x1x1023xf32>
  %1 = sinter.reduce max %0 dims [2] : (tensor<2x1x1023xf32>) -> tensor<2x1xf32>
  %2 = sinter.broadcast %1 dims [0, 1] : tensor<2x1xf32> -> tensor<2x1x1023xf32>
  %3 = sinter.sub %0, %2 : tensor<2x1x1023xf32>
  %4 = sinter.dot_general %3, %v batch [0] x [0] contract [2] x [1] : (tensor<2x1x1023xf32>, tensor<2x1023x64xf32>) -> tensor<2x1x64xf32>
  return %4 : tensor<2x1x64xf32>
}
