// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-pack-scan-weights))' | FileCheck %s

// A layer and its gradient: the first scan reads the weights transposed, the
// second one as they are.
// CHECK-LABEL: @recurrent
func.func @recurrent(%xs: tensor<9x16x24xf32>, %h: tensor<16x8xf32>, %g: tensor<16x24xf32>, %w: tensor<24x8xf32>)
    -> (tensor<16x8xf32>, tensor<16x24xf32>) {
  // CHECK: %[[T:.*]] = sinter.transpose %arg3 perm [1, 0] : (tensor<24x8xf32>) -> tensor<8x24xf32>
  // CHECK: sinter.scan trips 9 stacks(%arg0) initial(%arg1) whole(%[[T]])
  // CHECK: ^bb0(%{{.*}}: tensor<16x24xf32>, %[[H:.*]]: tensor<16x8xf32>, %[[W:.*]]: tensor<8x24xf32>):
  // CHECK: sinter.dot_general %[[H]], %[[W]] batch [] x [] contract [1] x [0]
  %y = sinter.scan trips 9 stacks(%xs) initial(%h) whole(%w) : (tensor<9x16x24xf32>, tensor<16x8xf32>, tensor<24x8xf32>) -> tensor<16x8xf32> {
  ^bb0(%x: tensor<16x24xf32>, %before: tensor<16x8xf32>, %weights: tensor<24x8xf32>):
    %d = sinter.dot_general %before, %weights batch [] x [] contract [1] x [1] : (tensor<16x8xf32>, tensor<24x8xf32>) -> tensor<16x24xf32>
    %s = sinter.add %d, %x : tensor<16x24xf32>
    %c = sinter.slice %s starts [0, 0] limits [16, 8] strides [1, 1] : (tensor<16x24xf32>) -> tensor<16x8xf32>
    sinter.yield %c : tensor<16x8xf32>
  }
  // CHECK: sinter.scan trips 9 stacks(%arg0) initial(%arg2) whole(%arg3)
  %z = sinter.scan trips 9 stacks(%xs) initial(%g) whole(%w) : (tensor<9x16x24xf32>, tensor<16x24xf32>, tensor<24x8xf32>) -> tensor<16x24xf32> {
  ^bb0(%x: tensor<16x24xf32>, %before: tensor<16x24xf32>, %weights: tensor<24x8xf32>):
    %d = sinter.dot_general %before, %weights batch [] x [] contract [1] x [0] : (tensor<16x24xf32>, tensor<24x8xf32>) -> tensor<16x8xf32>
    %p = sinter.concat %d, %d, %d axis 1 : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x24xf32>
    sinter.yield %p : tensor<16x24xf32>
  }
  return %y, %z : tensor<16x8xf32>, tensor<16x24xf32>
}

// Constants are packed at load, one row reads either order, and another use of
// the weights needs them as they are.
// CHECK-LABEL: @unchanged
// CHECK-NOT: sinter.transpose
func.func @unchanged(%xs: tensor<9x16x8xf32>, %h: tensor<16x8xf32>, %one: tensor<1x8xf32>, %w: tensor<8x8xf32>)
    -> (tensor<16x8xf32>, tensor<1x8xf32>, tensor<16x8xf32>) {
  %k = sinter.constant dense_resource<numbers> : tensor<8x8xf32>
  %y = sinter.scan trips 9 stacks() initial(%h) whole(%k) : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32> {
  ^bb0(%before: tensor<16x8xf32>, %weights: tensor<8x8xf32>):
    %d = sinter.dot_general %before, %weights batch [] x [] contract [1] x [1] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
    sinter.yield %d : tensor<16x8xf32>
  }
  %z = sinter.scan trips 9 stacks() initial(%one) whole(%w) : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32> {
  ^bb0(%before: tensor<1x8xf32>, %weights: tensor<8x8xf32>):
    %d = sinter.dot_general %before, %weights batch [] x [] contract [1] x [1] : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
    sinter.yield %d : tensor<1x8xf32>
  }
  %v = sinter.scan trips 9 stacks() initial(%h) whole(%w) : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32> {
  ^bb0(%before: tensor<16x8xf32>, %weights: tensor<8x8xf32>):
    %d = sinter.dot_general %before, %weights batch [] x [] contract [1] x [1] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
    %e = sinter.dot_general %d, %weights batch [] x [] contract [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
    sinter.yield %e : tensor<16x8xf32>
  }
  return %y, %z, %v : tensor<16x8xf32>, tensor<1x8xf32>, tensor<16x8xf32>
}

{-#
  dialect_resources: {
    builtin: {
      numbers: "0x040000000000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F"
    }
  }
#-}
