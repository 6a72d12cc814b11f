// RUN: sinter-opt %s --phase-options="--target=cuda" --pass-pipeline='builtin.module(func.func(sinter-choose-calls))' | FileCheck %s --check-prefix=RULE
// RUN: sinter-opt %s --phase-options="--target=cuda" --pass-pipeline='builtin.module(func.func(sinter-choose-calls,sinter-fuse-epilogues))' | FileCheck %s

// The rule adds no mark. test/compiler/driver/lockfile.test has decisions that do.
// RULE-COUNT-1: {sinter.generated}
// RULE-NOT: {sinter.generated}

// CHECK-LABEL: @library
// CHECK: sinter.library_call matmul
func.func @library(%x: tensor<64x32xf32>, %w: tensor<32x16xf32>) -> tensor<64x16xf32> {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  return %0 : tensor<64x16xf32>
}

// A marked product is a kernel, and the mark is gone.
// CHECK-LABEL: @generated
// CHECK-NOT: library_call
// CHECK: sinter.kernel matmul
// CHECK-NOT: sinter.generated
func.func @generated(%x: tensor<64x32xf32>, %w: tensor<32x16xf32>) -> tensor<64x16xf32> {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] {sinter.generated} : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  return %0 : tensor<64x16xf32>
}
