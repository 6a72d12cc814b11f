// RUN: sinter-opt %s --split-input-file --sinter-narrow-products --sinter-fold-constants --sinter-simplify-algebra | FileCheck %s

// Codes of rows with a zero point times constant codes with a scale for each
// column: one product of integers, one correction, one multiplication.
// CHECK-LABEL: @dequantised
func.func @dequantised(%q: tensor<2x3xui8>) -> tensor<2x2xf32> {
  // CHECK-DAG: %[[SUMS:.*]] = sinter.constant dense<{{\[\[}}10, -60], [10, -60]]> : tensor<2x2xi32>
  // CHECK-DAG: %[[SCALES:.*]] = sinter.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  // CHECK-DAG: %[[CODES:.*]] = sinter.constant dense<{{.*}}> : tensor<3x2xi8>
  // CHECK-DAG: %[[A:.*]] = sinter.cast %arg0 : tensor<2x3xui8> -> tensor<2x3xi32>
  // CHECK-DAG: %[[B:.*]] = sinter.cast %[[CODES]] : tensor<3x2xi8> -> tensor<3x2xi32>
  // CHECK-DAG: %[[DOT:.*]] = sinter.dot_general %[[A]], %[[B]] {{.*}} -> tensor<2x2xi32>
  // CHECK-DAG: %[[S:.*]] = sinter.broadcast %[[SCALES]] dims [1]
  // CHECK-DAG: %[[SUM:.*]] = sinter.add %[[DOT]], %[[SUMS]]
  // CHECK: %[[F:.*]] = sinter.cast %[[SUM]] : tensor<2x2xi32> -> tensor<2x2xf32>
  // CHECK: sinter.mul %[[F]], %[[S]]
  %z = sinter.constant dense<10> : tensor<2x3xi32>
  %x = sinter.cast %q : tensor<2x3xui8> -> tensor<2x3xi32>
  %c = sinter.sub %x, %z : tensor<2x3xi32>
  %f = sinter.cast %c : tensor<2x3xi32> -> tensor<2x3xf32>
  %s = sinter.constant dense<0.5> : tensor<2x3xf32>
  %a = sinter.mul %f, %s : tensor<2x3xf32>
  %w = sinter.constant dense<[[1, 2], [-128, -3], [126, 7]]> : tensor<3x2xi32>
  %wf = sinter.cast %w : tensor<3x2xi32> -> tensor<3x2xf32>
  %ws = sinter.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %wb = sinter.broadcast %ws dims [1] : tensor<2xf32> -> tensor<3x2xf32>
  %b = sinter.mul %wf, %wb : tensor<3x2xf32>
  %y = sinter.dot_general %a, %b batch [] x [] contract [1] x [0]
     : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

// Both zero points are computed at run time, in a batch, behind a transpose.
// CHECK-LABEL: @zeroPoints
func.func @zeroPoints(%p: tensor<4x2x3xi8>, %pz: tensor<i8>, %q: tensor<4x5x3xui8>, %qz: tensor<ui8>) -> tensor<4x2x5xi32> {
  // CHECK: %[[DOT:.*]] = sinter.dot_general
  // CHECK-SAME: (tensor<4x2x3xi32>, tensor<4x{{.*}}xi32>) -> tensor<4x2x5xi32>
  // CHECK: sinter.reduce sum
  // CHECK: sinter.reduce sum
  // CHECK: sinter.sub {{.*}} : tensor<4x2x5xi32>
  // CHECK: sinter.sub {{.*}} : tensor<4x2x5xi32>
  %a = sinter.cast %p : tensor<4x2x3xi8> -> tensor<4x2x3xi32>
  %za = sinter.broadcast %pz dims [] : tensor<i8> -> tensor<4x2x3xi8>
  %zw = sinter.cast %za : tensor<4x2x3xi8> -> tensor<4x2x3xi32>
  %c = sinter.sub %a, %zw : tensor<4x2x3xi32>
  %b = sinter.cast %q : tensor<4x5x3xui8> -> tensor<4x5x3xi32>
  %zb = sinter.broadcast %qz dims [] : tensor<ui8> -> tensor<4x5x3xui8>
  %zv = sinter.cast %zb : tensor<4x5x3xui8> -> tensor<4x5x3xi32>
  %d = sinter.sub %b, %zv : tensor<4x5x3xi32>
  %t = sinter.transpose %d perm [0, 2, 1] : (tensor<4x5x3xi32>) -> tensor<4x3x5xi32>
  %y = sinter.dot_general %c, %t batch [0] x [0] contract [2] x [1]
     : (tensor<4x2x3xi32>, tensor<4x3x5xi32>) -> tensor<4x2x5xi32>
  return %y : tensor<4x2x5xi32>
}

// -----

// Constants in a range of 8 bits elsewhere get a zero point.
// CHECK-LABEL: @shiftedConstant
func.func @shiftedConstant(%q: tensor<2x2xi8>) -> tensor<2x2xi32> {
  // CHECK: sinter.constant dense<{{\[\[}}-128, 127], [0, 1]]> : tensor<2x2xi8>
  // CHECK: sinter.reduce sum
  %a = sinter.cast %q : tensor<2x2xi8> -> tensor<2x2xi32>
  %w = sinter.constant dense<[[-200, 55], [-72, -71]]> : tensor<2x2xi32>
  %y = sinter.dot_general %a, %w batch [] x [] contract [1] x [0]
     : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  return %y : tensor<2x2xi32>
}

// -----

// A scale that varies along the sum: the product stays one of floats.
// CHECK-LABEL: @blockedScale
func.func @blockedScale(%p: tensor<2x4xi8>, %q: tensor<4x2xi8>, %s: tensor<4xf32>) -> tensor<2x2xf32> {
  // CHECK: sinter.dot_general {{.*}} -> tensor<2x2xf32>
  %one = sinter.constant dense<2.0> : tensor<2x4xf32>
  %pf = sinter.cast %p : tensor<2x4xi8> -> tensor<2x4xf32>
  %a = sinter.mul %pf, %one : tensor<2x4xf32>
  %qf = sinter.cast %q : tensor<4x2xi8> -> tensor<4x2xf32>
  %qs = sinter.broadcast %s dims [0] : tensor<4xf32> -> tensor<4x2xf32>
  %b = sinter.mul %qf, %qs : tensor<4x2xf32>
  %y = sinter.dot_general %a, %b batch [] x [] contract [1] x [0]
     : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

// The sums of floats might not fit 32 bits.
// CHECK-LABEL: @tooLong
func.func @tooLong(%p: tensor<2x40000xui8>, %q: tensor<40000x2xui8>) -> tensor<2x2xf32> {
  // CHECK: sinter.dot_general {{.*}} -> tensor<2x2xf32>
  %s = sinter.constant dense<2.0> : tensor<2x40000xf32>
  %t = sinter.constant dense<2.0> : tensor<40000x2xf32>
  %pf = sinter.cast %p : tensor<2x40000xui8> -> tensor<2x40000xf32>
  %a = sinter.mul %pf, %s : tensor<2x40000xf32>
  %qf = sinter.cast %q : tensor<40000x2xui8> -> tensor<40000x2xf32>
  %b = sinter.mul %qf, %t : tensor<40000x2xf32>
  %y = sinter.dot_general %a, %b batch [] x [] contract [1] x [0]
     : (tensor<2x40000xf32>, tensor<40000x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

// Values that are not quantised, and a product of 32 bits.
// CHECK-LABEL: @otherProducts
func.func @otherProducts(%x: tensor<2x4xf32>, %p: tensor<4x2xf32>, %i: tensor<2x4xi32>, %j: tensor<4x2xi32>) -> (tensor<2x2xf32>, tensor<2x2xi32>) {
  // CHECK: sinter.dot_general %arg0, %arg1
  // CHECK: sinter.dot_general %arg2, %arg3
  %y = sinter.dot_general %x, %p batch [] x [] contract [1] x [0]
     : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  %z = sinter.dot_general %i, %j batch [] x [] contract [1] x [0]
     : (tensor<2x4xi32>, tensor<4x2xi32>) -> tensor<2x2xi32>
  return %y, %z : tensor<2x2xf32>, tensor<2x2xi32>
}

// -----

// A convolution of codes with a zero point by constant codes with a scale for
// each filter: the input is padded with its zero point, and every window has
// the same correction.
// CHECK-LABEL: @convolution
func.func @convolution(%q: tensor<1x2x4x4xui8>) -> tensor<1x2x4x4xf32> {
  // CHECK-DAG: %[[ZERO:.*]] = sinter.constant dense<10> : tensor<ui8>
  // CHECK-DAG: %[[SUMS:.*]] = sinter.constant dense<{{.*}}-180, -180]], {{\[\[}}360, 360{{.*}}> : tensor<1x2x4x4xi32>
  // CHECK-DAG: %[[SCALES:.*]] = sinter.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  // CHECK: %[[PADDED:.*]] = sinter.pad %arg0, %[[ZERO]] low [0, 0, 1, 1] high [0, 0, 1, 1] interior [0, 0, 0, 0]
  // CHECK-DAG: %[[A:.*]] = sinter.cast %[[PADDED]] : tensor<1x2x6x6xui8> -> tensor<1x2x6x6xi32>
  // CHECK-DAG: %[[B:.*]] = sinter.cast {{.*}} : tensor<2x2x3x3xi8> -> tensor<2x2x3x3xi32>
  // CHECK: %[[CONV:.*]] = sinter.conv %[[A]], %[[B]] {{.*}}pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>{{.*}} -> tensor<1x2x4x4xi32>
  // CHECK: %[[SUM:.*]] = sinter.add %[[CONV]], %[[SUMS]]
  // CHECK: %[[F:.*]] = sinter.cast %[[SUM]] : tensor<1x2x4x4xi32> -> tensor<1x2x4x4xf32>
  // CHECK: %[[S:.*]] = sinter.broadcast %[[SCALES]] dims [1]
  // CHECK: sinter.mul %[[F]], %[[S]]
  %z = sinter.constant dense<10> : tensor<1x2x4x4xi32>
  %x = sinter.cast %q : tensor<1x2x4x4xui8> -> tensor<1x2x4x4xi32>
  %c = sinter.sub %x, %z : tensor<1x2x4x4xi32>
  %f = sinter.cast %c : tensor<1x2x4x4xi32> -> tensor<1x2x4x4xf32>
  %s = sinter.constant dense<0.5> : tensor<1x2x4x4xf32>
  %a = sinter.mul %f, %s : tensor<1x2x4x4xf32>
  %w = sinter.constant dense<[[[[1, 1, 1], [1, 1, 1], [1, 1, 1]], [[1, 1, 1], [1, 1, 1], [1, 1, 1]]],
                              [[[-2, -2, -2], [-2, -2, -2], [-2, -2, -2]], [[-2, -2, -2], [-2, -2, -2], [-2, -2, -2]]]]>
     : tensor<2x2x3x3xi32>
  %wf = sinter.cast %w : tensor<2x2x3x3xi32> -> tensor<2x2x3x3xf32>
  %ws = sinter.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %wb = sinter.broadcast %ws dims [0] : tensor<2xf32> -> tensor<2x2x3x3xf32>
  %b = sinter.mul %wf, %wb : tensor<2x2x3x3xf32>
  %y = sinter.conv %a, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>,
         pads_high = array<i64: 1, 1>} : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x4x4xf32>
  return %y : tensor<1x2x4x4xf32>
}

// -----

// The zero point 0 of a model is a scalar that is repeated: the padding stays 0.
// CHECK-LABEL: @zero
func.func @zero(%q: tensor<1x1x4x4xui8>, %k: tensor<1x1x3x3xi8>) -> tensor<1x1x4x4xi32> {
  // CHECK-NOT: sinter.pad
  // CHECK: sinter.conv {{.*}}pads_high = array<i64: 1, 1>
  %z = sinter.constant dense<0> : tensor<ui8>
  %zb = sinter.broadcast %z dims [] : tensor<ui8> -> tensor<1x1x4x4xui8>
  %zi = sinter.cast %zb : tensor<1x1x4x4xui8> -> tensor<1x1x4x4xi32>
  %x = sinter.cast %q : tensor<1x1x4x4xui8> -> tensor<1x1x4x4xi32>
  %c = sinter.sub %x, %zi : tensor<1x1x4x4xi32>
  %w = sinter.cast %k : tensor<1x1x3x3xi8> -> tensor<1x1x3x3xi32>
  %y = sinter.conv %c, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>,
         pads_high = array<i64: 1, 1>} : (tensor<1x1x4x4xi32>, tensor<1x1x3x3xi32>) -> tensor<1x1x4x4xi32>
  return %y : tensor<1x1x4x4xi32>
}

// -----

// A filter with zero points needs the sum of each window: one for each group.
// Without a zero point of the input, the padding stays 0.
// CHECK-LABEL: @windowSums
func.func @windowSums(%q: tensor<1x4x6xi8>, %w: tensor<6x2x3xui8>, %z: tensor<6xui8>) -> tensor<1x6x6xi32> {
  // CHECK: sinter.conv {{.*}}groups = 2 : i64, pads_high = array<i64: 1>{{.*}} (tensor<1x4x6xi32>, tensor<6x2x3xi32>) -> tensor<1x6x6xi32>
  // CHECK: sinter.conv {{.*}}groups = 2 : i64, pads_high = array<i64: 1>{{.*}} (tensor<1x4x6xi32>, tensor<2x2x3xi32>) -> tensor<1x2x6xi32>
  // CHECK: sinter.sub {{.*}} : tensor<1x6x6xi32>
  %x = sinter.cast %q : tensor<1x4x6xi8> -> tensor<1x4x6xi32>
  %wi = sinter.cast %w : tensor<6x2x3xui8> -> tensor<6x2x3xi32>
  %zi = sinter.cast %z : tensor<6xui8> -> tensor<6xi32>
  %zb = sinter.broadcast %zi dims [0] : tensor<6xi32> -> tensor<6x2x3xi32>
  %wc = sinter.sub %wi, %zb : tensor<6x2x3xi32>
  %y = sinter.conv %x, %wc {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 1>,
         pads_high = array<i64: 1>, groups = 2 : i64} : (tensor<1x4x6xi32>, tensor<6x2x3xi32>) -> tensor<1x6x6xi32>
  return %y : tensor<1x6x6xi32>
}

// -----

// A zero point for each channel of the input: the convolution stays as it is.
// CHECK-LABEL: @zeroPointOfChannels
func.func @zeroPointOfChannels(%q: tensor<1x2x6xi8>, %w: tensor<3x2x3xi8>, %z: tensor<2xi8>) -> tensor<1x3x4xi32> {
  // CHECK: sinter.sub
  // CHECK: sinter.conv
  // CHECK-NOT: sinter.add
  %x = sinter.cast %q : tensor<1x2x6xi8> -> tensor<1x2x6xi32>
  %zi = sinter.cast %z : tensor<2xi8> -> tensor<2xi32>
  %zb = sinter.broadcast %zi dims [1] : tensor<2xi32> -> tensor<1x2x6xi32>
  %c = sinter.sub %x, %zb : tensor<1x2x6xi32>
  %wi = sinter.cast %w : tensor<3x2x3xi8> -> tensor<3x2x3xi32>
  %y = sinter.conv %c, %wi {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>,
         pads_high = array<i64: 0>} : (tensor<1x2x6xi32>, tensor<3x2x3xi32>) -> tensor<1x3x4xi32>
  return %y : tensor<1x3x4xi32>
}

// -----

// Weights of 4 bits with a scale for each block of 32: two codes in a byte, the
// scales and codes stay constants that the program reads.
// CHECK-LABEL: @weightOnly
func.func @weightOnly(%x: tensor<1x128xf32>) -> tensor<1x128xf32> {
  // CHECK-DAG: %[[CODES:.*]] = sinter.constant {sinter.unfolded} {{.*}} : tensor<64x128xui8>
  // CHECK-DAG: %[[SCALES:.*]] = sinter.constant {{.*}} : tensor<4x128xf32>
  // CHECK-DAG: %[[LOW:.*]] = sinter.and %[[CODES]]
  // CHECK-DAG: %[[HIGH:.*]] = sinter.shift_right %[[CODES]]
  // CHECK: sinter.concat {{.*}} axis 1 : (tensor<64x1x128xui8>, tensor<64x1x128xui8>) -> tensor<64x2x128xui8>
  // CHECK: sinter.cast {{.*}} : tensor<128x128xui8> -> tensor<128x128xf32>
  // CHECK: %[[SPREAD:.*]] = sinter.broadcast %[[SCALES]] dims [0, 2] : tensor<4x128xf32> -> tensor<4x32x128xf32>
  // CHECK: sinter.mul {{.*}}, %[[SPREAD]]
  // CHECK: %[[W:.*]] = sinter.reshape {{.*}} -> tensor<128x128xf32>
  // CHECK: sinter.dot_general %arg0, %[[W]] batch [] x [] contract [1] x [0]
  %i = sinter.iota {axis = 1 : i64} : tensor<128x128xi32>
  %m = sinter.constant dense<15> : tensor<128x128xi32>
  %c = sinter.and %i, %m : tensor<128x128xi32>
  %f = sinter.cast %c : tensor<128x128xi32> -> tensor<128x128xf32>
  %n = sinter.iota {axis = 1 : i64} : tensor<128x4xi32>
  %s = sinter.cast %n : tensor<128x4xi32> -> tensor<128x4xf32>
  %b = sinter.broadcast %s dims [0, 1] : tensor<128x4xf32> -> tensor<128x4x32xf32>
  %r = sinter.reshape %b : tensor<128x4x32xf32> -> tensor<128x128xf32>
  %w = sinter.mul %f, %r : tensor<128x128xf32>
  %y = sinter.dot_general %x, %w batch [] x [] contract [1] x [1]
     : (tensor<1x128xf32>, tensor<128x128xf32>) -> tensor<1x128xf32>
  return %y : tensor<1x128xf32>
}

// -----

// More than 16 rows: the product stays one of floats.
// CHECK-LABEL: @manyRows
func.func @manyRows(%x: tensor<17x128xf32>) -> tensor<17x128xf32> {
  // CHECK-NOT: sinter.unfolded
  // CHECK: sinter.dot_general
  %i = sinter.iota {axis = 1 : i64} : tensor<128x128xi32>
  %f = sinter.cast %i : tensor<128x128xi32> -> tensor<128x128xf32>
  %s = sinter.constant dense<2.0> : tensor<128x128xf32>
  %w = sinter.mul %f, %s : tensor<128x128xf32>
  %y = sinter.dot_general %x, %w batch [] x [] contract [1] x [1]
     : (tensor<17x128xf32>, tensor<128x128xf32>) -> tensor<17x128xf32>
  return %y : tensor<17x128xf32>
}
