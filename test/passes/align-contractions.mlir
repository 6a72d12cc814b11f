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

// Three channels become eight for the convolution, and so does its filter.
// GPU-LABEL: @three_channels
// GPU: %[[X:.*]] = sinter.pad %arg0, %{{.*}} low [0, 0, 0, 0] high [0, 0, 0, 5] interior [0, 0, 0, 0] : (tensor<8x64x64x3xbf16>, tensor<bf16>) -> tensor<8x64x64x8xbf16>
// GPU: sinter.pad %arg1, %{{.*}} low [0, 0, 0, 0] high [0, 5, 0, 0] interior [0, 0, 0, 0] : (tensor<64x3x7x7xbf16>, tensor<bf16>) -> tensor<64x8x7x7xbf16>
// GPU: sinter.conv {{.*}} {channels_last, {{.*}}} : (tensor<8x64x64x8xf32>, tensor<64x8x7x7xf32>) -> tensor<8x32x32x64xf32>
// The gradient of the filter reads the same input. It is stored in 16 bits, then cut.
// GPU-NOT: sinter.pad
// GPU: %[[DW:.*]] = sinter.conv_filter_grad {{.*}} : (tensor<8x64x64x8xf32>, tensor<8x32x32x64xf32>) -> tensor<64x8x7x7xf32>
// GPU: %[[N:.*]] = sinter.cast %[[DW]] : tensor<64x8x7x7xf32> -> tensor<64x8x7x7xbf16>
// GPU: sinter.slice %[[N]] starts [0, 0, 0, 0] limits [64, 3, 7, 7] strides [1, 1, 1, 1]
// CHECK-LABEL: @three_channels
// CHECK-NOT: sinter.pad
func.func @three_channels(%x: tensor<8x64x64x3xbf16>, %w: tensor<64x3x7x7xbf16>, %dy: tensor<8x32x32x64xbf16>) -> (tensor<8x32x32x64xf32>, tensor<64x3x7x7xbf16>) {
  %0 = sinter.cast %x : tensor<8x64x64x3xbf16> -> tensor<8x64x64x3xf32>
  %1 = sinter.cast %w : tensor<64x3x7x7xbf16> -> tensor<64x3x7x7xf32>
  %2 = sinter.cast %dy : tensor<8x32x32x64xbf16> -> tensor<8x32x32x64xf32>
  %3 = sinter.conv %0, %1 {channels_last, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 3, 3>, pads_high = array<i64: 3, 3>}
     : (tensor<8x64x64x3xf32>, tensor<64x3x7x7xf32>) -> tensor<8x32x32x64xf32>
  %4 = sinter.conv_filter_grad %0, %2 {channels_last, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 3, 3>, pads_high = array<i64: 3, 3>}
     : (tensor<8x64x64x3xf32>, tensor<8x32x32x64xf32>) -> tensor<64x3x7x7xf32>
  %5 = sinter.cast %4 : tensor<64x3x7x7xf32> -> tensor<64x3x7x7xbf16>
  return %3, %5 : tensor<8x32x32x64xf32>, tensor<64x3x7x7xbf16>
}

// With tf32, 16 bytes are four channels. Channels may come first.
// GPU-LABEL: @tf32_channels
// GPU: sinter.conv {{.*}} : (tensor<8x4x64x64xf32>, tensor<64x4x7x7xf32>) -> tensor<8x64x32x32xf32>
func.func @tf32_channels(%x: tensor<8x3x64x64xf32>, %w: tensor<64x3x7x7xf32>) -> tensor<8x64x32x32xf32> {
  %0 = sinter.conv %x, %w {tf32, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 3, 3>, pads_high = array<i64: 3, 3>}
     : (tensor<8x3x64x64xf32>, tensor<64x3x7x7xf32>) -> tensor<8x64x32x32xf32>
  return %0 : tensor<8x64x32x32xf32>
}

// Must not fire: the launch that pads takes longer than is saved.
// GPU-LABEL: @small_image
// GPU-NOT: sinter.pad
// GPU: return
func.func @small_image(%x: tensor<1x32x32x3xbf16>, %w: tensor<64x3x7x7xbf16>) -> tensor<1x16x16x64xf32> {
  %0 = sinter.cast %x : tensor<1x32x32x3xbf16> -> tensor<1x32x32x3xf32>
  %1 = sinter.cast %w : tensor<64x3x7x7xbf16> -> tensor<64x3x7x7xf32>
  %2 = sinter.conv %0, %1 {channels_last, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 3, 3>, pads_high = array<i64: 3, 3>}
     : (tensor<1x32x32x3xf32>, tensor<64x3x7x7xf32>) -> tensor<1x16x16x64xf32>
  return %2 : tensor<1x16x16x64xf32>
}

// Must not fire: there are no tensor cores for float32, for groups, or for an odd number of filters.
// GPU-LABEL: @other_convolutions
// GPU-NOT: sinter.pad
// GPU: return
func.func @other_convolutions(%x: tensor<8x3x64x64xf32>, %w: tensor<64x3x7x7xf32>, %v: tensor<24x1x7x7xbf16>, %u: tensor<63x3x7x7xbf16>) -> (tensor<8x64x32x32xf32>, tensor<8x24x32x32xf32>, tensor<8x63x32x32xf32>) {
  %0 = sinter.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 3, 3>, pads_high = array<i64: 3, 3>}
     : (tensor<8x3x64x64xf32>, tensor<64x3x7x7xf32>) -> tensor<8x64x32x32xf32>
  %n = sinter.cast %x : tensor<8x3x64x64xf32> -> tensor<8x3x64x64xbf16>
  %1 = sinter.cast %n : tensor<8x3x64x64xbf16> -> tensor<8x3x64x64xf32>
  %2 = sinter.cast %v : tensor<24x1x7x7xbf16> -> tensor<24x1x7x7xf32>
  %3 = sinter.conv %1, %2 {groups = 3, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 3, 3>, pads_high = array<i64: 3, 3>}
     : (tensor<8x3x64x64xf32>, tensor<24x1x7x7xf32>) -> tensor<8x24x32x32xf32>
  %4 = sinter.cast %u : tensor<63x3x7x7xbf16> -> tensor<63x3x7x7xf32>
  %5 = sinter.conv %1, %4 {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 3, 3>, pads_high = array<i64: 3, 3>}
     : (tensor<8x3x64x64xf32>, tensor<63x3x7x7xf32>) -> tensor<8x63x32x32xf32>
  return %0, %3, %5 : tensor<8x64x32x32xf32>, tensor<8x24x32x32xf32>, tensor<8x63x32x32xf32>
}

// Must not fire: generated kernels gather what they multiply.
// RUN: sinter-opt %s --phase-options="--target=cuda --libraries=none" --pass-pipeline='builtin.module(func.func(sinter-align-contractions))' | FileCheck %s --check-prefix=OWN
// OWN-LABEL: @three_channels
// OWN-NOT: sinter.pad
// OWN: return
