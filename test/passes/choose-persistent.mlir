// RUN: sinter-opt %s --phase-options="--target=cuda" --split-input-file --pass-pipeline='builtin.module(sinter-choose-persistent{mode=auto})' | FileCheck %s
// RUN: sinter-opt %s --phase-options="--target=cuda" --split-input-file --pass-pipeline='builtin.module(sinter-choose-persistent{mode=on})' | FileCheck %s --check-prefix=ON
// RUN: sinter-opt %s --phase-options="--target=cuda" --split-input-file --pass-pipeline='builtin.module(sinter-choose-persistent{mode=off})' | FileCheck %s --check-prefix=OFF
// RUN: not sinter-opt %s --split-input-file --pass-pipeline='builtin.module(sinter-choose-persistent{mode=on})' 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not sinter-opt %s --phase-options="--target=cuda" --split-input-file --pass-pipeline='builtin.module(sinter-choose-persistent{mode=some})' 2>&1 | FileCheck %s --check-prefix=MODE

// OFF-NOT: sinter.persistent
// CPU: error: --persistent-kernel=on: @small is on a device whose blocks cannot wait for each other
// MODE: error: sinter-choose-persistent: mode=some is not off, auto or on

// CHECK-LABEL: @small
// CHECK-SAME: attributes {sinter.persistent = "auto"}
// ON-LABEL: @small
// ON-SAME: attributes {sinter.persistent = "on"}
func.func @small(%x: tensor<8x32xf32> {sinter.input = "x"}, %w: tensor<32x16xf32> {sinter.input = "w"}) -> (tensor<8x16xf32> {sinter.output = "y"}) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// Must not fire: 0.3 billion multiply-adds.
// CHECK-LABEL: @slow
// CHECK-NOT: sinter.persistent
// ON-LABEL: @slow
// ON-SAME: attributes {sinter.persistent = "on"}
func.func @slow(%x: tensor<1024x512xf32> {sinter.input = "x"}, %w: tensor<512x600xf32> {sinter.input = "w"}) -> (tensor<1024x600xf32> {sinter.output = "y"}) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<1024x512xf32>, tensor<512x600xf32>) -> tensor<1024x600xf32>
  return %0 : tensor<1024x600xf32>
}

// -----

// Must not fire: a value that does not stay in the cache.
// CHECK-LABEL: @large
// CHECK-NOT: sinter.persistent
// ON-LABEL: @large
// ON-SAME: attributes {sinter.persistent = "on"}
func.func @large(%x: tensor<2048x4096xf32> {sinter.input = "x"}) -> (tensor<2048x4096xf32> {sinter.output = "y"}) {
  %0 = sinter.exp %x : tensor<2048x4096xf32>
  return %0 : tensor<2048x4096xf32>
}
