// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-align-contractions))' | FileCheck %s
// RUN: sinter-opt %s --phase-options="--target=cuda" --pass-pipeline='builtin.module(func.func(sinter-align-contractions))' | FileCheck %s --check-prefix=GPU

// The contracted dimensions of lhs lie apart: no single stride for k.
// CHECK-LABEL: @contracted_dims_apart
// CHECK: %[[T:.*]] = sinter.transpose %arg0 perm [1, 0, 2]
// CHECK: sinter.dot_general %[[T]], %arg1 batch [] x [] contract [1, 2] x [0, 1]
func.func @contracted_dims_apart(%a: tensor<4x8x5xf32>, %b: tensor<4x5x3xf32>) -> tensor<8x3xf32> {
  %c = sinter.dot_general %a, %b batch [] x [] contract [0, 2] x [0, 1]
     : (tensor<4x8x5xf32>, tensor<4x5x3xf32>) -> tensor<8x3xf32>
  return %c : tensor<8x3xf32>
}

// Must not fire: a transposed operand is a stride.
// CHECK-LABEL: @transposed_operand
// CHECK-NOT: sinter.transpose
func.func @transposed_operand(%a: tensor<4x8xf32>, %b: tensor<3x8xf32>) -> tensor<4x3xf32> {
  %c = sinter.dot_general %a, %b batch [] x [] contract [1] x [1]
     : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x3xf32>
  return %c : tensor<4x3xf32>
}

// The innermost dimensions are made multiples of 16 bytes.
// GPU-LABEL: @odd_columns
// GPU-DAG: %[[B:.*]] = sinter.pad %arg1, %{{.*}} low [0, 0] high [0, 7] interior [0, 0] : (tensor<2048x2049xbf16>, tensor<bf16>) -> tensor<2048x2056xbf16>
// GPU: %[[C:.*]] = sinter.dot_general {{.*}} : (tensor<2048x2048xf32>, tensor<2048x2056xf32>) -> tensor<2048x2056xf32>
// GPU: sinter.slice %[[C]] starts [0, 0] limits [2048, 2049] strides [1, 1]
// CHECK-LABEL: @odd_columns
// CHECK-NOT: sinter.pad
func.func @odd_columns(%a: tensor<2048x2048xbf16>, %b: tensor<2048x2049xbf16>) -> tensor<2048xf32> {
  %0 = sinter.cast %a : tensor<2048x2048xbf16> -> tensor<2048x2048xf32>
  %1 = sinter.cast %b : tensor<2048x2049xbf16> -> tensor<2048x2049xf32>
  %2 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [0]
     : (tensor<2048x2048xf32>, tensor<2048x2049xf32>) -> tensor<2048x2049xf32>
  %3 = sinter.reduce sum %2 dims [1] : (tensor<2048x2049xf32>) -> tensor<2048xf32>
  return %3 : tensor<2048xf32>
}

// The sum is padded in both operands; the result has its size.
// GPU-LABEL: @odd_sum
// GPU: sinter.pad %arg0, %{{.*}} high [0, 1]
// GPU: sinter.pad %arg1, %{{.*}} high [0, 1]
// GPU: sinter.dot_general {{.*}} : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
// GPU-NOT: sinter.slice
// GPU: return
func.func @odd_sum(%a: tensor<2048x2047xbf16>, %b: tensor<2048x2047xbf16>) -> tensor<2048xf32> {
  %0 = sinter.cast %a : tensor<2048x2047xbf16> -> tensor<2048x2047xf32>
  %1 = sinter.cast %b : tensor<2048x2047xbf16> -> tensor<2048x2047xf32>
  %2 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [1]
     : (tensor<2048x2047xf32>, tensor<2048x2047xf32>) -> tensor<2048x2048xf32>
  %3 = sinter.reduce sum %2 dims [1] : (tensor<2048x2048xf32>) -> tensor<2048xf32>
  return %3 : tensor<2048xf32>
}

// Must not fire: memory is what takes the time, and copies are more of it.
// GPU-LABEL: @too_small
// GPU-NOT: sinter.pad
// GPU: return
func.func @too_small(%a: tensor<64x64xbf16>, %b: tensor<64x65xbf16>) -> tensor<64xf32> {
  %0 = sinter.cast %a : tensor<64x64xbf16> -> tensor<64x64xf32>
  %1 = sinter.cast %b : tensor<64x65xbf16> -> tensor<64x65xf32>
  %2 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [0]
     : (tensor<64x64xf32>, tensor<64x65xf32>) -> tensor<64x65xf32>
  %3 = sinter.reduce sum %2 dims [1] : (tensor<64x65xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// Must not fire: float32 has no tensor cores.
// GPU-LABEL: @wide
// GPU-NOT: sinter.pad
// GPU: return
func.func @wide(%a: tensor<2048x2048xf32>, %b: tensor<2048x2049xf32>) -> tensor<2048xf32> {
  %2 = sinter.dot_general %a, %b batch [] x [] contract [1] x [0]
     : (tensor<2048x2048xf32>, tensor<2048x2049xf32>) -> tensor<2048x2049xf32>
  %3 = sinter.reduce sum %2 dims [1] : (tensor<2048x2049xf32>) -> tensor<2048xf32>
  return %3 : tensor<2048xf32>
}

// The vocabulary of GPT-2: the table is padded where it is rounded.
// GPU-LABEL: @vocabulary
// GPU: sinter.pad {{.*}} high [7, 0] {{.*}} -> tensor<50264x768xbf16>
// GPU: sinter.dot_general {{.*}} -> tensor<4096x50264xf32>
func.func @vocabulary(%a: tensor<4096x768xbf16>, %w: tensor<50257x768xf32>) -> tensor<4096xf32> {
  %0 = sinter.cast %a : tensor<4096x768xbf16> -> tensor<4096x768xf32>
  %n = sinter.cast %w : tensor<50257x768xf32> -> tensor<50257x768xbf16>
  %1 = sinter.cast %n : tensor<50257x768xbf16> -> tensor<50257x768xf32>
  %2 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [1]
     : (tensor<4096x768xf32>, tensor<50257x768xf32>) -> tensor<4096x50257xf32>
  %3 = sinter.reduce max %2 dims [1] : (tensor<4096x50257xf32>) -> tensor<4096xf32>
  return %3 : tensor<4096xf32>
}
