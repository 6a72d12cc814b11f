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

// With 16 rows and two whole panels of 64 columns, the products read panels.
// What is added to one takes its shape; both scans have the same copy.
// CHECK-LABEL: @panels
func.func @panels(%xs: tensor<4x16x128xf32>, %h: tensor<16x32xf32>, %g: tensor<16x32xf32>, %w: tensor<128x32xf32>)
    -> (tensor<16x32xf32>, tensor<16x32xf32>) {
  // CHECK: %[[R:.*]] = sinter.reshape %arg3 : tensor<128x32xf32> -> tensor<2x64x32xf32>
  // CHECK: %[[P:.*]] = sinter.transpose %[[R]] perm [0, 2, 1] : (tensor<2x64x32xf32>) -> tensor<2x32x64xf32>
  // CHECK: sinter.scan trips 4 stacks(%arg0) initial(%arg1) whole(%[[P]])
  // CHECK: ^bb0(%[[X:.*]]: tensor<16x128xf32>, %[[H:.*]]: tensor<16x32xf32>, %[[W:.*]]: tensor<2x32x64xf32>):
  // CHECK: %[[D:.*]] = sinter.dot_general %[[H]], %[[W]] batch [] x [] contract [1] x [1] : (tensor<16x32xf32>, tensor<2x32x64xf32>) -> tensor<16x2x64xf32>
  // CHECK: %[[V:.*]] = sinter.reshape %[[X]] : tensor<16x128xf32> -> tensor<16x2x64xf32>
  // CHECK: %[[A:.*]] = sinter.add %[[V]], %[[D]] : tensor<16x2x64xf32>
  // CHECK: %[[S:.*]] = sinter.reshape %[[A]] : tensor<16x2x64xf32> -> tensor<16x128xf32>
  // CHECK: sinter.slice %[[S]]
  %y = sinter.scan trips 4 stacks(%xs) initial(%h) whole(%w) : (tensor<4x16x128xf32>, tensor<16x32xf32>, tensor<128x32xf32>) -> tensor<16x32xf32> {
  ^bb0(%x: tensor<16x128xf32>, %before: tensor<16x32xf32>, %weights: tensor<128x32xf32>):
    %d = sinter.dot_general %before, %weights batch [] x [] contract [1] x [1] : (tensor<16x32xf32>, tensor<128x32xf32>) -> tensor<16x128xf32>
    %s = sinter.add %x, %d : tensor<16x128xf32>
    %c = sinter.slice %s starts [0, 0] limits [16, 32] strides [1, 1] : (tensor<16x128xf32>) -> tensor<16x32xf32>
    sinter.yield %c : tensor<16x32xf32>
  }
  // CHECK: sinter.scan trips 4 stacks(%arg0) initial(%arg2) whole(%[[P]])
  %z = sinter.scan trips 4 stacks(%xs) initial(%g) whole(%w) : (tensor<4x16x128xf32>, tensor<16x32xf32>, tensor<128x32xf32>) -> tensor<16x32xf32> {
  ^bb0(%x: tensor<16x128xf32>, %before: tensor<16x32xf32>, %weights: tensor<128x32xf32>):
    %d = sinter.dot_general %before, %weights batch [] x [] contract [1] x [1] : (tensor<16x32xf32>, tensor<128x32xf32>) -> tensor<16x128xf32>
    %s = sinter.mul %x, %d : tensor<16x128xf32>
    %c = sinter.slice %s starts [0, 0] limits [16, 32] strides [1, 1] : (tensor<16x128xf32>) -> tensor<16x32xf32>
    sinter.yield %c : tensor<16x32xf32>
  }
  return %y, %z : tensor<16x32xf32>, tensor<16x32xf32>
}

// The gradient of the layer reads the weights as they are: rows of panels.
// CHECK-LABEL: @gradient
func.func @gradient(%g: tensor<20x32xf32>, %w: tensor<32x128xf32>) -> tensor<20x32xf32> {
  // CHECK: %[[R:.*]] = sinter.reshape %arg1 : tensor<32x128xf32> -> tensor<32x2x64xf32>
  // CHECK: %[[P:.*]] = sinter.transpose %[[R]] perm [1, 0, 2] : (tensor<32x2x64xf32>) -> tensor<2x32x64xf32>
  // CHECK: sinter.dot_general %{{.*}}, %{{.*}} batch [] x [] contract [1] x [1] : (tensor<20x32xf32>, tensor<2x32x64xf32>) -> tensor<20x2x64xf32>
  %y = sinter.scan trips 4 stacks() initial(%g) whole(%w) : (tensor<20x32xf32>, tensor<32x128xf32>) -> tensor<20x32xf32> {
  ^bb0(%before: tensor<20x32xf32>, %weights: tensor<32x128xf32>):
    %d = sinter.dot_general %before, %weights batch [] x [] contract [1] x [0] : (tensor<20x32xf32>, tensor<32x128xf32>) -> tensor<20x128xf32>
    %c = sinter.slice %d starts [0, 64] limits [20, 96] strides [1, 1] : (tensor<20x128xf32>) -> tensor<20x32xf32>
    sinter.yield %c : tensor<20x32xf32>
  }
  return %y : tensor<20x32xf32>
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
