// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-split-reductions))' | FileCheck %s

// The statistics of a channel: per image first.
// CHECK-LABEL: @statistics
// CHECK: %[[P:.*]] = sinter.reduce sum %arg0 dims [1, 2] : (tensor<32x28x28x16xf32>) -> tensor<32x16xf32>
// CHECK: %[[S:.*]] = sinter.reduce sum %[[P]] dims [0] : (tensor<32x16xf32>) -> tensor<16xf32>
// CHECK: return %[[S]]
func.func @statistics(%x: tensor<32x28x28x16xf32>) -> tensor<16xf32> {
  %s = sinter.reduce sum %x dims [0, 1, 2] : (tensor<32x28x28x16xf32>) -> tensor<16xf32>
  return %s : tensor<16xf32>
}

// Few images: rows are parts as well. Kept dimensions may lie between.
// CHECK-LABEL: @few_images
// CHECK: %[[P:.*]] = sinter.reduce max %arg0 dims [3] : (tensor<2x8x56x64xf32>) -> tensor<2x8x56xf32>
// CHECK: sinter.reduce max %[[P]] dims [0, 2] : (tensor<2x8x56xf32>) -> tensor<8xf32>
func.func @few_images(%x: tensor<2x8x56x64xf32>) -> tensor<8xf32> {
  %s = sinter.reduce max %x dims [0, 2, 3] : (tensor<2x8x56x64xf32>) -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// Must not fire: little work, many results, or one dimension only.
// CHECK-LABEL: @left_alone
// CHECK-COUNT-3: sinter.reduce
// CHECK-NOT: sinter.reduce
func.func @left_alone(%a: tensor<8x8x8xf32>, %b: tensor<4096x8x8xf32>, %c: tensor<40000x2xf32>)
    -> (tensor<8xf32>, tensor<4096xf32>, tensor<2xf32>) {
  %x = sinter.reduce sum %a dims [0, 1] : (tensor<8x8x8xf32>) -> tensor<8xf32>
  %y = sinter.reduce sum %b dims [1, 2] : (tensor<4096x8x8xf32>) -> tensor<4096xf32>
  %z = sinter.reduce sum %c dims [0] : (tensor<40000x2xf32>) -> tensor<2xf32>
  return %x, %y, %z : tensor<8xf32>, tensor<4096xf32>, tensor<2xf32>
}

// The squares of a variance: those of an image about its own mean, in the loops of its sum.
// CHECK-LABEL: @variance
// CHECK: %[[P:.*]] = sinter.reduce sum %arg0 dims [1, 2] : (tensor<32x28x28x16xf32>) -> tensor<32x16xf32>
// CHECK: %[[S:.*]] = sinter.reduce sum %[[P]] dims [0]
// CHECK: %[[M:.*]] = sinter.div %[[S]], %
// CHECK: %[[N:.*]] = sinter.constant dense<7.840000e+02> : tensor<32x16xf32>
// CHECK: %[[PM:.*]] = sinter.div %[[P]], %[[N]]
// CHECK: %[[PB:.*]] = sinter.broadcast %[[PM]] dims [0, 3] : tensor<32x16xf32> -> tensor<32x28x28x16xf32>
// CHECK: %[[D:.*]] = sinter.sub %arg0, %[[PB]]
// CHECK: %[[DD:.*]] = sinter.mul %[[D]], %[[D]]
// CHECK: %[[Q:.*]] = sinter.reduce sum %[[DD]] dims [1, 2] : (tensor<32x28x28x16xf32>) -> tensor<32x16xf32>
// CHECK: %[[MB:.*]] = sinter.broadcast %[[M]] dims [1] : tensor<16xf32> -> tensor<32x16xf32>
// CHECK: %[[E:.*]] = sinter.sub %[[PM]], %[[MB]]
// CHECK: %[[EE:.*]] = sinter.mul %[[E]], %[[E]]
// CHECK: %[[NE:.*]] = sinter.mul %[[EE]], %[[N]]
// CHECK: %[[ALL:.*]] = sinter.add %[[Q]], %[[NE]]
// CHECK: %[[V:.*]] = sinter.reduce sum %[[ALL]] dims [0] : (tensor<32x16xf32>) -> tensor<16xf32>
// CHECK: return %[[V]]
func.func @variance(%x: tensor<32x28x28x16xf32>) -> tensor<16xf32> {
  %s = sinter.reduce sum %x dims [0, 1, 2] : (tensor<32x28x28x16xf32>) -> tensor<16xf32>
  %n = sinter.constant dense<25088.0> : tensor<16xf32>
  %m = sinter.div %s, %n : tensor<16xf32>
  %b = sinter.broadcast %m dims [3] : tensor<16xf32> -> tensor<32x28x28x16xf32>
  %d = sinter.sub %x, %b : tensor<32x28x28x16xf32>
  %q = sinter.mul %d, %d : tensor<32x28x28x16xf32>
  %v = sinter.reduce sum %q dims [0, 1, 2] : (tensor<32x28x28x16xf32>) -> tensor<16xf32>
  return %v : tensor<16xf32>
}

// The squares of something else than what was summed wait for it.
// CHECK-LABEL: @about_another_mean
// CHECK: sinter.sub %arg1, %
// CHECK-NOT: sinter.sub
func.func @about_another_mean(%x: tensor<32x28x28x16xf32>, %y: tensor<32x28x28x16xf32>) -> tensor<16xf32> {
  %s = sinter.reduce sum %x dims [0, 1, 2] : (tensor<32x28x28x16xf32>) -> tensor<16xf32>
  %n = sinter.constant dense<25088.0> : tensor<16xf32>
  %m = sinter.div %s, %n : tensor<16xf32>
  %b = sinter.broadcast %m dims [3] : tensor<16xf32> -> tensor<32x28x28x16xf32>
  %d = sinter.sub %y, %b : tensor<32x28x28x16xf32>
  %q = sinter.mul %d, %d : tensor<32x28x28x16xf32>
  %v = sinter.reduce sum %q dims [0, 1, 2] : (tensor<32x28x28x16xf32>) -> tensor<16xf32>
  return %v : tensor<16xf32>
}

// A very long dimension is cut into equal parts, by what divides it.
// CHECK-LABEL: @long_lines
// CHECK: %[[A:.*]] = sinter.reshape %arg0 : tensor<8x4194304xf32> -> tensor<8x64x65536xf32>
// CHECK: %[[P:.*]] = sinter.reduce sum %[[A]] dims [2] : (tensor<8x64x65536xf32>) -> tensor<8x64xf32>
// CHECK: sinter.reduce sum %[[P]] dims [1] : (tensor<8x64xf32>) -> tensor<8xf32>
// CHECK: %[[B:.*]] = sinter.reshape %arg1 : tensor<3000000x2xf32> -> tensor<80x37500x2xf32>
// CHECK: %[[Q:.*]] = sinter.reduce max %[[B]] dims [1]
// CHECK: sinter.reduce max %[[Q]] dims [0] : (tensor<80x2xf32>) -> tensor<2xf32>
func.func @long_lines(%a: tensor<8x4194304xf32>, %b: tensor<3000000x2xf32>) -> (tensor<8xf32>, tensor<2xf32>) {
  %x = sinter.reduce sum %a dims [1] : (tensor<8x4194304xf32>) -> tensor<8xf32>
  %y = sinter.reduce max %b dims [0] : (tensor<3000000x2xf32>) -> tensor<2xf32>
  return %x, %y : tensor<8xf32>, tensor<2xf32>
}

// Where no good number divides it, what is left over is a short reduction of its own.
// CHECK-LABEL: @prime_lines
// CHECK: %[[A:.*]] = sinter.slice %arg0 starts [0, 0] limits [1, 999840] strides [1, 1]
// CHECK: %[[R:.*]] = sinter.reshape %[[A]] : tensor<1x999840xf32> -> tensor<1x30x33328xf32>
// CHECK: %[[P:.*]] = sinter.reduce sum %[[R]] dims [2] : (tensor<1x30x33328xf32>) -> tensor<1x30xf32>
// CHECK: %[[S:.*]] = sinter.reduce sum %[[P]] dims [1] : (tensor<1x30xf32>) -> tensor<1xf32>
// CHECK: %[[B:.*]] = sinter.slice %arg0 starts [0, 999840] limits [1, 1000003] strides [1, 1]
// CHECK: %[[T:.*]] = sinter.reduce sum %[[B]] dims [1] : (tensor<1x163xf32>) -> tensor<1xf32>
// CHECK: %[[X:.*]] = sinter.add %[[S]], %[[T]] : tensor<1xf32>
// CHECK: sinter.reduce min
// CHECK: sinter.reduce min
// CHECK: sinter.reduce min
// CHECK: %[[Y:.*]] = sinter.min %{{.*}}, %{{.*}} : tensor<2xf32>
// CHECK: return %[[X]], %[[Y]]
func.func @prime_lines(%a: tensor<1x1000003xf32>, %b: tensor<1000003x2xf32>) -> (tensor<1xf32>, tensor<2xf32>) {
  %x = sinter.reduce sum %a dims [1] : (tensor<1x1000003xf32>) -> tensor<1xf32>
  %y = sinter.reduce min %b dims [0] : (tensor<1000003x2xf32>) -> tensor<2xf32>
  return %x, %y : tensor<1xf32>, tensor<2xf32>
}

// Must not fire: a prime that is not long enough, and results enough for all.
// CHECK-LABEL: @long_lines_left_alone
// CHECK-COUNT-2: sinter.reduce
// CHECK-NOT: sinter.reduce
func.func @long_lines_left_alone(%a: tensor<1x200003xf32>, %b: tensor<100x1000003xf32>) -> (tensor<1xf32>, tensor<100xf32>) {
  %x = sinter.reduce sum %a dims [1] : (tensor<1x200003xf32>) -> tensor<1xf32>
  %y = sinter.reduce sum %b dims [1] : (tensor<100x1000003xf32>) -> tensor<100xf32>
  return %x, %y : tensor<1xf32>, tensor<100xf32>
}

// What only computes the operand is computed in the new shape; what somebody else reads is stored.
// CHECK-LABEL: @squares
// CHECK: %[[X:.*]] = sinter.reshape %arg0 : tensor<524288xf32> -> tensor<16x32768xf32>
// CHECK: %[[S:.*]] = sinter.mul %[[X]], %[[X]] : tensor<16x32768xf32>
// CHECK: sinter.reduce sum %[[S]] dims [1]
// CHECK: %[[E:.*]] = sinter.exp %arg0 : tensor<524288xf32>
// CHECK: %[[R:.*]] = sinter.reshape %[[E]]
// CHECK: sinter.reduce sum %[[R]] dims [1]
// CHECK: return %{{.*}}, %{{.*}}, %[[E]]
func.func @squares(%x: tensor<524288xf32>) -> (tensor<f32>, tensor<f32>, tensor<524288xf32>) {
  %square = sinter.mul %x, %x : tensor<524288xf32>
  %a = sinter.reduce sum %square dims [0] : (tensor<524288xf32>) -> tensor<f32>
  %e = sinter.exp %x : tensor<524288xf32>
  %b = sinter.reduce sum %e dims [0] : (tensor<524288xf32>) -> tensor<f32>
  return %a, %b, %e : tensor<f32>, tensor<f32>, tensor<524288xf32>
}

// Sums of parts are not rounded to 16 bits, which may not hold them.
// CHECK-LABEL: @halves
// CHECK: %[[W:.*]] = sinter.cast %{{.*}} -> tensor<{{.*}}xf32>
// CHECK: %[[P:.*]] = sinter.reduce sum %{{.*}} dims [1] : (tensor<32x32768xf32>) -> tensor<32xf32>
// CHECK: %[[S:.*]] = sinter.reduce sum %[[P]] dims [0] : (tensor<32xf32>) -> tensor<f32>
// CHECK: sinter.cast %[[S]] : tensor<f32> -> tensor<f16>
func.func @halves(%x: tensor<1048576xf16>) -> tensor<f16> {
  %s = sinter.reduce sum %x dims [0] : (tensor<1048576xf16>) -> tensor<f16>
  return %s : tensor<f16>
}

// Both computed from the same: neither the parts nor the rest are stored first.
// CHECK-LABEL: @prime_squares
// CHECK-NOT: sinter.mul %arg0
// CHECK: %[[X:.*]] = sinter.reshape
// CHECK: sinter.mul %[[X]], %[[X]] : tensor<8x32768xf32>
// CHECK: %[[T:.*]] = sinter.slice %arg0 starts [262144] limits [262147]
// CHECK: sinter.mul %[[T]], %[[T]] : tensor<3xf32>
func.func @prime_squares(%x: tensor<262147xf32>) -> tensor<f32> {
  %square = sinter.mul %x, %x : tensor<262147xf32>
  %a = sinter.reduce sum %square dims [0] : (tensor<262147xf32>) -> tensor<f32>
  return %a : tensor<f32>
}

// A dimension of size 1 beside a long one does not keep that from being cut.
// CHECK-LABEL: @long_row
// CHECK: sinter.reduce sum %{{.*}} dims [2] : (tensor<1x32x32768xf32>) -> tensor<1x32xf32>
// CHECK: sinter.reduce sum %{{.*}} dims [1] : (tensor<1x32xf32>) -> tensor<1xf32>
// CHECK-NOT: sinter.reduce
func.func @long_row(%x: tensor<1x1048576xf32>) -> tensor<f32> {
  %s = sinter.reduce sum %x dims [0, 1] : (tensor<1x1048576xf32>) -> tensor<f32>
  return %s : tensor<f32>
}

// Enough parts of too many elements: rows are parts as well.
// CHECK-LABEL: @long_parts
// CHECK: sinter.reduce sum %arg0 dims [3] : (tensor<16x3x512x511xf32>) -> tensor<16x3x512xf32>
// CHECK: sinter.reduce sum %{{.*}} dims [0, 1, 2] : (tensor<16x3x512xf32>) -> tensor<f32>
// CHECK-NOT: sinter.reduce
func.func @long_parts(%x: tensor<16x3x512x511xf32>) -> tensor<f32> {
  %s = sinter.reduce sum %x dims [0, 1, 2, 3] : (tensor<16x3x512x511xf32>) -> tensor<f32>
  return %s : tensor<f32>
}

// The parts are cut in turn.
// CHECK-LABEL: @parts_of_parts
// CHECK: sinter.reduce sum %{{.*}} dims [2] : (tensor<4x32x32768xf32>) -> tensor<4x32xf32>
// CHECK: sinter.reduce sum %{{.*}} dims [1] : (tensor<4x32xf32>) -> tensor<4xf32>
// CHECK: sinter.reduce sum %{{.*}} dims [0] : (tensor<4xf32>) -> tensor<f32>
// CHECK-NOT: sinter.reduce
func.func @parts_of_parts(%x: tensor<4x1048576xf32>) -> tensor<f32> {
  %s = sinter.reduce sum %x dims [0, 1] : (tensor<4x1048576xf32>) -> tensor<f32>
  return %s : tensor<f32>
}

// The rows of a large matrix are cut. What the sum reads is recomputed for the parts, although a row needs it as well:
// only what costs more than a load is read.
// CHECK-LABEL: @rows
// CHECK: %[[E:.*]] = sinter.exp %arg2
// CHECK: %[[N:.*]] = sinter.mul
// CHECK-NOT: sinter.exp
// CHECK-DAG: %[[G:.*]] = sinter.reshape %arg1 : tensor<8192x768xf32> -> tensor<8x1024x768xf32>
// CHECK-DAG: %[[X:.*]] = sinter.reshape %arg0 : tensor<8192x768xf32> -> tensor<8x1024x768xf32>
// CHECK-DAG: %[[R:.*]] = sinter.reshape %[[E]] : tensor<8192xf32> -> tensor<8x1024xf32>
// CHECK-DAG: %[[B:.*]] = sinter.broadcast %[[R]] dims [0, 1] : tensor<8x1024xf32> -> tensor<8x1024x768xf32>
// CHECK: %[[M:.*]] = sinter.mul %[[X]], %[[B]]
// CHECK: %[[T:.*]] = sinter.mul %[[G]], %[[M]]
// CHECK: %[[P:.*]] = sinter.reduce sum %[[T]] dims [1] : (tensor<8x1024x768xf32>) -> tensor<8x768xf32>
// CHECK: %[[S:.*]] = sinter.reduce sum %[[P]] dims [0] : (tensor<8x768xf32>) -> tensor<768xf32>
// CHECK: %[[L:.*]] = sinter.reduce max %[[N]] dims [1]
// CHECK: return %[[S]], %[[L]]
func.func @rows(%x: tensor<8192x768xf32>, %g: tensor<8192x768xf32>, %v: tensor<8192xf32>)
    -> (tensor<768xf32>, tensor<8192xf32>) {
  %e = sinter.exp %v : tensor<8192xf32>
  %r = sinter.broadcast %e dims [0] : tensor<8192xf32> -> tensor<8192x768xf32>
  %n = sinter.mul %x, %r : tensor<8192x768xf32>
  %t = sinter.mul %g, %n : tensor<8192x768xf32>
  %s = sinter.reduce sum %t dims [0] : (tensor<8192x768xf32>) -> tensor<768xf32>
  %l = sinter.reduce max %n dims [1] : (tensor<8192x768xf32>) -> tensor<8192xf32>
  return %s, %l : tensor<768xf32>, tensor<8192xf32>
}

// Must not fire: short columns, few elements, rows that are lines, many columns.
// CHECK-LABEL: @rows_left_alone
// CHECK-COUNT-4: sinter.reduce
// CHECK-NOT: sinter.reduce
func.func @rows_left_alone(%a: tensor<256x8191xf32>, %b: tensor<1024x512xf32>, %c: tensor<768x8192xf32>,
                           %d: tensor<1024x8192xf32>)
    -> (tensor<8191xf32>, tensor<512xf32>, tensor<768xf32>, tensor<8192xf32>) {
  %0 = sinter.reduce sum %a dims [0] : (tensor<256x8191xf32>) -> tensor<8191xf32>
  %1 = sinter.reduce sum %b dims [0] : (tensor<1024x512xf32>) -> tensor<512xf32>
  %2 = sinter.reduce sum %c dims [1] : (tensor<768x8192xf32>) -> tensor<768xf32>
  %3 = sinter.reduce sum %d dims [0] : (tensor<1024x8192xf32>) -> tensor<8192xf32>
  return %0, %1, %2, %3 : tensor<8191xf32>, tensor<512xf32>, tensor<768xf32>, tensor<8192xf32>
}

// Two sums of one matrix read one operand, so that they can share a kernel.
// CHECK-LABEL: @shared_rows
// CHECK: %[[G:.*]] = sinter.reshape %arg0 : tensor<8192x768xf32> -> tensor<8x1024x768xf32>
// CHECK: sinter.reduce sum %[[G]] dims [1]
// CHECK-NOT: sinter.reshape
// CHECK: sinter.reduce max %[[G]] dims [1]
func.func @shared_rows(%g: tensor<8192x768xf32>) -> (tensor<768xf32>, tensor<768xf32>) {
  %0 = sinter.reduce sum %g dims [0] : (tensor<8192x768xf32>) -> tensor<768xf32>
  %1 = sinter.reduce max %g dims [0] : (tensor<8192x768xf32>) -> tensor<768xf32>
  return %0, %1 : tensor<768xf32>, tensor<768xf32>
}

// A number stays a number: parts of a mask, and of what a contraction reads as well, are read from memory.
// CHECK-LABEL: @masked_rows
// CHECK: %[[M:.*]] = sinter.where
// CHECK: %[[D:.*]] = sinter.dot_general %[[M]]
// CHECK: %[[P:.*]] = sinter.reshape %[[M]] : tensor<4096x512xf32> -> tensor<16x256x512xf32>
// CHECK: sinter.reduce sum %[[P]] dims [1]
// CHECK: sinter.constant dense<2.000000e+00> : tensor<16x256x512xf32>
// CHECK-NOT: sinter.reshape {{.*}}: tensor<4096x512xf32>
// CHECK: return
func.func @masked_rows(%y: tensor<4096x512xi1>, %g: tensor<4096x512xf32>, %w: tensor<512x4xf32>)
    -> (tensor<512xf32>, tensor<4096x4xf32>, tensor<512xf32>) {
  %zero = sinter.constant dense<0.0> : tensor<4096x512xf32>
  %two = sinter.constant dense<2.0> : tensor<4096x512xf32>
  %m = sinter.where %y, %g, %zero : tensor<4096x512xi1>, tensor<4096x512xf32>
  %d = sinter.dot_general %m, %w batch [] x [] contract [1] x [0] : (tensor<4096x512xf32>, tensor<512x4xf32>) -> tensor<4096x4xf32>
  %s = sinter.reduce sum %m dims [0] : (tensor<4096x512xf32>) -> tensor<512xf32>
  %h = sinter.mul %m, %two : tensor<4096x512xf32>
  %t = sinter.reduce max %h dims [0] : (tensor<4096x512xf32>) -> tensor<512xf32>
  return %s, %d, %t : tensor<512xf32>, tensor<4096x4xf32>, tensor<512xf32>
}

// Must not fire: what a kernel of the reduction moves or counts would be stored.
// CHECK-LABEL: @moved_rows
// CHECK-COUNT-3: sinter.reduce
// CHECK-NOT: sinter.reduce
func.func @moved_rows(%x: tensor<8192x256xf32>, %y: tensor<256x8192xf32>, %i: tensor<8192xi64>, %e: tensor<99x256xf32>)
    -> (tensor<256xf32>, tensor<256xf32>, tensor<256xi64>) {
  %t = sinter.transpose %y perm [1, 0] : (tensor<256x8192xf32>) -> tensor<8192x256xf32>
  %p = sinter.mul %x, %t : tensor<8192x256xf32>
  %0 = sinter.reduce sum %p dims [0] : (tensor<8192x256xf32>) -> tensor<256xf32>
  %g = sinter.gather %e, %i axis 0 : (tensor<99x256xf32>, tensor<8192xi64>) -> tensor<8192x256xf32>
  %1 = sinter.reduce sum %g dims [0] : (tensor<8192x256xf32>) -> tensor<256xf32>
  %c = sinter.iota {axis = 0 : i64} : tensor<8192x256xi64>
  %2 = sinter.reduce sum %c dims [0] : (tensor<8192x256xi64>) -> tensor<256xi64>
  return %0, %1, %2 : tensor<256xf32>, tensor<256xf32>, tensor<256xi64>
}
