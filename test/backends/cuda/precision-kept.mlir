// RUN: sinter-opt %s --phase-options="--target=cuda" --sinter-assign-precision="policy=bf16" | FileCheck %s
// RUN: sinter-opt %s --phase-options="--target=cuda --libraries=none" --sinter-assign-precision="policy=bf16" | FileCheck %s --check-prefix=NONE

// The call keeps what the GELU is applied to for the gradient, rounded; the GELU in the call reads
// it as it is. The gradient is the end of a call, too, and rounded after that.
// CHECK-LABEL: @gelu
// CHECK: %[[Z:.*]] = sinter.dot_general
// CHECK-NEXT: %[[Z16:.*]] = sinter.cast %[[Z]] : tensor<4x16xf32> -> tensor<4x16xbf16>
// CHECK-NEXT: %[[ZW:.*]] = sinter.cast %[[Z16]]
// CHECK: sinter.gelu tanh %[[Z]]
// CHECK: %[[D:.*]] = sinter.dot_general
// CHECK-NEXT: %[[DZ:.*]] = sinter.gelu_grad tanh %[[D]], %[[ZW]]
// CHECK-NEXT: sinter.cast %[[DZ]] : tensor<4x16xf32> -> tensor<4x16xbf16>
// NONE-LABEL: @gelu
// NONE: %[[Z:.*]] = sinter.dot_general
// NONE-NEXT: %[[Z16:.*]] = sinter.cast %[[Z]] : tensor<4x16xf32> -> tensor<4x16xbf16>
// NONE-NEXT: %[[ZW:.*]] = sinter.cast %[[Z16]]
// NONE: sinter.gelu tanh %[[ZW]]
func.func @gelu(%x: tensor<4x8xf32> {sinter.input = "x"}, %w: tensor<8x16xf32> {sinter.input = "w"},
    %g: tensor<4x2xf32> {sinter.input = "g"}, %v: tensor<2x16xf32> {sinter.input = "v"})
    -> (tensor<4x4xf32> {sinter.output = "y"}) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = sinter.gelu tanh %0 : tensor<4x16xf32>
  %2 = sinter.dot_general %g, %v batch [] x [] contract [1] x [0] : (tensor<4x2xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
  %3 = sinter.gelu_grad tanh %2, %0 : tensor<4x16xf32>
  %4 = sinter.dot_general %1, %3 batch [] x [] contract [1] x [1] : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// Nobody keeps the mask of this relu, so the product before its gradient is rounded by itself.
// CHECK-LABEL: @relu_of_a_sum
// CHECK: %[[D:.*]] = sinter.dot_general
// CHECK-NEXT: sinter.cast %[[D]] : tensor<4x16xf32> -> tensor<4x16xbf16>
// CHECK: sinter.where
func.func @relu_of_a_sum(%x: tensor<4x16xf32> {sinter.input = "x"}, %g: tensor<4x2xf32> {sinter.input = "g"},
    %v: tensor<2x16xf32> {sinter.input = "v"}) -> (tensor<4x4xf32> {sinter.output = "y"}) {
  %zero = sinter.constant dense<0.0> : tensor<4x16xf32>
  %0 = sinter.add %x, %x : tensor<4x16xf32>
  %1 = sinter.relu %0 : tensor<4x16xf32>
  %2 = sinter.dot_general %g, %v batch [] x [] contract [1] x [0] : (tensor<4x2xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
  %3 = sinter.compare gt %1, %zero : tensor<4x16xf32>
  %4 = sinter.where %3, %2, %zero : tensor<4x16xi1>, tensor<4x16xf32>
  %5 = sinter.dot_general %1, %4 batch [] x [] contract [1] x [1] : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x4xf32>
  return %5 : tensor<4x4xf32>
}

// A bias of equal numbers, as biases begin, is added in the call, too, before the result is rounded.
// CHECK-LABEL: @equal_biases
// CHECK: %[[Y:.*]] = sinter.dot_general
// CHECK-NEXT: %[[B:.*]] = sinter.add %[[Y]]
// CHECK-NEXT: %[[R:.*]] = sinter.relu %[[B]]
// CHECK-NEXT: sinter.cast %[[R]] : tensor<4x16xf32> -> tensor<4x16xbf16>
func.func @equal_biases(%x: tensor<4x8xf32> {sinter.input = "x"}, %w: tensor<8x16xf32> {sinter.input = "w"},
    %v: tensor<16x4xf32> {sinter.input = "v"}) -> (tensor<4x4xf32> {sinter.output = "y"}) {
  %b = sinter.constant dense<0.5> : tensor<4x16xf32>
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = sinter.add %0, %b : tensor<4x16xf32>
  %2 = sinter.relu %1 : tensor<4x16xf32>
  %3 = sinter.dot_general %2, %v batch [] x [] contract [1] x [0] : (tensor<4x16xf32>, tensor<16x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}
