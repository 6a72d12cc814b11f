// RUN: sinter-opt %s --phase-options="--target=cuda" --split-input-file --pass-pipeline='builtin.module(sinter-choose-persistent{mode=auto}, func.func(sinter-fuse-epilogues, sinter-fuse-loops, sinter-fuse-persistent))' | FileCheck %s
// RUN: sinter-opt %s --phase-options="--target=cuda" --split-input-file --pass-pipeline='builtin.module(sinter-choose-persistent{mode=auto}, func.func(sinter-fuse-epilogues, sinter-fuse-loops, sinter-fuse-persistent), sinter-plan-memory)' | FileCheck %s --check-prefix=PLAN
// RUN: sinter-opt %s --phase-options="--target=cuda" --split-input-file --pass-pipeline='builtin.module(sinter-choose-persistent{mode=off}, func.func(sinter-fuse-epilogues, sinter-fuse-persistent))' | FileCheck %s --check-prefix=OFF
// RUN: sinter-opt %s --split-input-file --pass-pipeline='builtin.module(sinter-choose-persistent{mode=auto}, func.func(sinter-fuse-epilogues, sinter-fuse-loops, sinter-fuse-persistent))' | FileCheck %s --check-prefix=OFF

// OFF-NOT: sinter.persistent
// OFF-NOT: kernel persistent

// A product, and what reads its result in another shape, are two stages. The library is not called.
// CHECK-LABEL: @reshaped
// CHECK-NOT: sinter.persistent
// CHECK: %[[K:.*]]:2 = sinter.kernel persistent(%arg0, %arg1)
// CHECK: %[[PRODUCT:.*]] = sinter.kernel matmul
// CHECK: %[[FLAT:.*]] = sinter.reshape %[[PRODUCT]] : tensor<8x16xf32> -> tensor<128xf32>
// CHECK: %[[SUM:.*]] = sinter.kernel reduce(%[[FLAT]])
// CHECK: sinter.yield %[[PRODUCT]], %[[SUM]]
// CHECK: %[[OUT:.*]] = sinter.reshape %[[K]]#0
// CHECK: return %[[K]]#1, %[[OUT]]
// PLAN: exec.kernel @[[K:.*]] persistent
// PLAN-LABEL: exec.program @reshaped
// PLAN: %[[TICKET:.*]] = exec.buffer control[0] 56 + 4 : tensor<i32>
// PLAN: exec.launch @[[K]](%{{.*}}, %{{.*}}, %[[TICKET]]) -> (
func.func @reshaped(%x: tensor<8x32xf32> {sinter.input = "x"}, %w: tensor<32x16xf32> {sinter.input = "w"}) -> (tensor<f32> {sinter.output = "y"}, tensor<128xf32> {sinter.output = "z"}) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %1 = sinter.reshape %0 : tensor<8x16xf32> -> tensor<128xf32>
  %2 = sinter.reduce sum %1 dims [0] : (tensor<128xf32>) -> tensor<f32>
  return %2, %1 : tensor<f32>, tensor<128xf32>
}

// -----

// The new value of the state takes the place of the old one: it is computed in the last stage, after the
// product with the old one, though its operands are known before.
sinter.state @w : tensor<16x16xf32> {role = #sinter<role param>}
// CHECK-LABEL: @update
// CHECK: sinter.kernel persistent
// CHECK: %[[A:.*]] = sinter.kernel matmul
// CHECK: %[[B:.*]] = sinter.kernel matmul(%[[A]]
// CHECK: %[[NEW:.*]] = sinter.kernel loop
// CHECK: sinter.yield %[[A]], %[[B]], %[[NEW]]
// PLAN-LABEL: exec.program @update
// PLAN: exec.launch {{.*}}%state{{.*}} -> ({{.*}}%state
// PLAN-NOT: exec.copy
func.func @update(%x: tensor<16x16xf32> {sinter.input = "x"}, %g: tensor<16x16xf32> {sinter.input = "g"}, %w: tensor<16x16xf32> {sinter.state = @w}) -> (tensor<16x16xf32> {sinter.output = "y"}, tensor<16x16xf32> {sinter.state = @w}) {
  %0 = sinter.dot_general %x, %g batch [] x [] contract [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = sinter.dot_general %0, %w batch [] x [] contract [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = sinter.sub %w, %g : tensor<16x16xf32>
  return %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>
}

// -----

// The update of a weight is in the product of its gradient, which comes after the product that reads
// the old weight. The gradient of a bias is summed where the bias is updated, however long the sum.
sinter.state @w : tensor<16x16xf32> {role = #sinter<role param>}
sinter.state @b : tensor<16xf32> {role = #sinter<role param>}
// CHECK-LABEL: @gradients
// CHECK: sinter.kernel persistent
// CHECK: %[[DY:.*]] = sinter.kernel matmul
// CHECK: %[[BESIDE:.*]]:2 = sinter.kernel multi(%[[DY]]
// CHECK: sinter.kernel matmul
// CHECK: sinter.dot_general
// CHECK: sinter.kernel reduce
// CHECK: sinter.reduce sum
// CHECK: sinter.sub
// CHECK: %[[NEW:.*]] = sinter.kernel matmul(%{{.*}}, %[[DY]]
// CHECK: sinter.dot_general
// CHECK: sinter.sub
// CHECK-NOT: sinter.kernel
// CHECK: sinter.yield %[[DY]], %[[BESIDE]]#0, %[[BESIDE]]#1, %[[NEW]]
// PLAN-LABEL: exec.program @gradients
// PLAN: exec.launch {{.*}}%state{{.*}}%state{{.*}} -> ({{.*}}%state{{.*}}%state
// PLAN-NOT: exec.copy
func.func @gradients(%x: tensor<2048x16xf32> {sinter.input = "x"}, %w: tensor<16x16xf32> {sinter.state = @w}, %b: tensor<16xf32> {sinter.state = @b}) -> (tensor<2048x16xf32> {sinter.output = "dx"}, tensor<16x16xf32> {sinter.state = @w}, tensor<16xf32> {sinter.state = @b}) {
  %v = sinter.constant dense<0.5> : tensor<16x16xf32>
  %0 = sinter.dot_general %x, %v batch [] x [] contract [1] x [0] : (tensor<2048x16xf32>, tensor<16x16xf32>) -> tensor<2048x16xf32>
  %1 = sinter.dot_general %0, %w batch [] x [] contract [1] x [0] : (tensor<2048x16xf32>, tensor<16x16xf32>) -> tensor<2048x16xf32>
  %2 = sinter.dot_general %x, %0 batch [] x [] contract [0] x [0] : (tensor<2048x16xf32>, tensor<2048x16xf32>) -> tensor<16x16xf32>
  %3 = sinter.reduce sum %0 dims [0] : (tensor<2048x16xf32>) -> tensor<16xf32>
  %4 = sinter.sub %w, %2 : tensor<16x16xf32>
  %5 = sinter.sub %b, %3 : tensor<16xf32>
  return %1, %4, %5 : tensor<2048x16xf32>, tensor<16x16xf32>, tensor<16xf32>
}

// -----

// The new state is needed by a reader of the old one: it cannot take its place, and is copied there.
sinter.state @w : tensor<16x16xf32> {role = #sinter<role param>}
// CHECK-LABEL: @needed
// CHECK: sinter.kernel persistent
// CHECK: %[[NEW:.*]] = sinter.kernel matmul
// CHECK: sinter.kernel matmul(%[[NEW]]
// PLAN-LABEL: exec.program @needed
// PLAN: exec.launch
// PLAN: exec.copy
func.func @needed(%x: tensor<16x16xf32> {sinter.input = "x"}, %w: tensor<16x16xf32> {sinter.state = @w}) -> (tensor<16x16xf32> {sinter.output = "y"}, tensor<16x16xf32> {sinter.state = @w}) {
  %0 = sinter.dot_general %x, %x batch [] x [] contract [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = sinter.dot_general %0, %w batch [] x [] contract [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %1, %0 : tensor<16x16xf32>, tensor<16x16xf32>
}

// -----

// Independent products are parts of one stage, which then is the whole kernel.
// CHECK-LABEL: @side_by_side
// CHECK: sinter.kernel multi
// CHECK: sinter.kernel matmul
// CHECK: sinter.kernel matmul
func.func @side_by_side(%x: tensor<16x16xf32> {sinter.input = "x"}, %w: tensor<16x16xf32> {sinter.input = "w"}) -> (tensor<16x16xf32> {sinter.output = "y"}, tensor<16x16xf32> {sinter.output = "z"}) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = sinter.dot_general %w, %x batch [] x [] contract [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %0, %1 : tensor<16x16xf32>, tensor<16x16xf32>
}

// -----

// Must not fire: a product of 8.6 billion multiply-adds.
// CHECK-LABEL: @large
// CHECK: sinter.library_call matmul
func.func @large(%x: tensor<2048x2048xf32> {sinter.input = "x"}, %w: tensor<2048x2048xf32> {sinter.input = "w"}) -> (tensor<f32> {sinter.output = "y"}) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %1 = sinter.reduce sum %0 dims [0, 1] : (tensor<2048x2048xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
