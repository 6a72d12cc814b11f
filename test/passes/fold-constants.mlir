// RUN: sinter-opt %s --sinter-fold-constants --split-input-file | FileCheck %s
// RUN: sinter-opt %s --sinter-fold-constants=max-op-bytes=8 --split-input-file \
// RUN:   | FileCheck %s --check-prefix=SMALL

// CHECK-LABEL: @chain_folds_in_one_walk
// CHECK-NEXT: %[[C:.*]] = sinter.constant dense<[4.{{0+}}e+00, 9.{{0+}}e+00]>
// CHECK-NEXT: return %[[C]]
// SMALL-LABEL: @chain_folds_in_one_walk
// SMALL: return
func.func @chain_folds_in_one_walk() -> tensor<2xf32> {
  %a = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %one = sinter.constant dense<1.0> : tensor<2xf32>
  %b = sinter.add %a, %one : tensor<2xf32>
  %c = sinter.mul %b, %b : tensor<2xf32>
  return %c : tensor<2xf32>
}

// -----

// CHECK-LABEL: @shape_arithmetic_folds
// CHECK: sinter.constant dense<[2, 12]> : tensor<2xi64>
func.func @shape_arithmetic_folds() -> tensor<2xi64> {
  %shape = sinter.constant dense<[2, 3, 4]> : tensor<3xi64>
  %first = sinter.slice %shape starts [0] limits [1] strides [1] : (tensor<3xi64>) -> tensor<1xi64>
  %rest = sinter.slice %shape starts [1] limits [3] strides [1] : (tensor<3xi64>) -> tensor<2xi64>
  %size = sinter.reduce prod %rest dims [0] : (tensor<2xi64>) -> tensor<i64>
  %line = sinter.reshape %size : tensor<i64> -> tensor<1xi64>
  %r = sinter.concat %first, %line axis 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  return %r : tensor<2xi64>
}

// -----

// A splat stays a splat, at any size.
// CHECK-LABEL: @splats_fold_beyond_the_limit
// CHECK-NEXT: sinter.constant dense<3.{{0+}}e+00> : tensor<100000x100000xf32>
// CHECK-NEXT: return
// SMALL-LABEL: @splats_fold_beyond_the_limit
// SMALL-NEXT: sinter.constant dense<3.{{0+}}e+00> : tensor<100000x100000xf32>
func.func @splats_fold_beyond_the_limit() -> tensor<100000x100000xf32> {
  %a = sinter.constant dense<1.0> : tensor<f32>
  %two = sinter.constant dense<2.0> : tensor<100000x100000xf32>
  %b = sinter.broadcast %a dims [] : tensor<f32> -> tensor<100000x100000xf32>
  %c = sinter.add %b, %two : tensor<100000x100000xf32>
  return %c : tensor<100000x100000xf32>
}

// -----

// CHECK-LABEL: @large_broadcast_stays
// CHECK: sinter.broadcast
func.func @large_broadcast_stays() -> tensor<1024x2xf32> {
  %a = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = sinter.broadcast %a dims [1] : tensor<2xf32> -> tensor<1024x2xf32>
  return %b : tensor<1024x2xf32>
}

// -----

// What is computed from it folds where the result is small.
// CHECK-LABEL: @value_of_a_large_broadcast_is_known
// CHECK-NEXT: sinter.constant dense<[1.024{{0*}}e+03, 2.048{{0*}}e+03]>
// CHECK-NEXT: return
func.func @value_of_a_large_broadcast_is_known() -> tensor<2xf32> {
  %a = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = sinter.broadcast %a dims [1] : tensor<2xf32> -> tensor<1024x2xf32>
  %c = sinter.reduce sum %b dims [0] : (tensor<1024x2xf32>) -> tensor<2xf32>
  return %c : tensor<2xf32>
}

// -----

// A causal mask is cheaper to compute than to read.
// CHECK-LABEL: @mask_from_iotas_stays
// CHECK: sinter.compare
// CHECK: sinter.where
func.func @mask_from_iotas_stays() -> tensor<64x64xf32> {
  %i = sinter.iota {axis = 0 : i64} : tensor<64x64xi64>
  %j = sinter.iota {axis = 1 : i64} : tensor<64x64xi64>
  %c = sinter.compare ge %i, %j : tensor<64x64xi64>
  %zero = sinter.constant dense<0.0> : tensor<64x64xf32>
  %low = sinter.constant dense<0xFF800000> : tensor<64x64xf32>
  %m = sinter.where %c, %zero, %low : tensor<64x64xi1>, tensor<64x64xf32>
  return %m : tensor<64x64xf32>
}

// -----

// CHECK-LABEL: @arguments_do_not_fold
// CHECK: sinter.add
func.func @arguments_do_not_fold(%x: tensor<2xf32>) -> tensor<2xf32> {
  %one = sinter.constant dense<1.0> : tensor<2xf32>
  %y = sinter.add %x, %one : tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// CHECK-LABEL: @limit_of_one_op
// CHECK-NOT: sinter.add
// SMALL-LABEL: @limit_of_one_op
// SMALL: sinter.add
func.func @limit_of_one_op() -> tensor<3xf32> {
  %a = sinter.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %b = sinter.constant dense<[3.0, 2.0, 3.0]> : tensor<3xf32>
  %y = sinter.add %a, %b : tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// CHECK-LABEL: @dead_constants_go
// CHECK-NEXT: return
func.func @dead_constants_go(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = sinter.exp %a : tensor<2xf32>
  return %x : tensor<2xf32>
}

// -----

// A weight in a narrower type is made once, whatever its size: no run converts it.
// SMALL-LABEL: @weights_narrow_at_any_size
// SMALL: sinter.constant dense<[1.{{0+}}e+00, 2.{{0+}}e+00, -3.{{0+}}e+00, 4.{{0+}}e+00]> : tensor<4xbf16>
// SMALL-NOT: sinter.cast
// SMALL: return
func.func @weights_narrow_at_any_size() -> (tensor<4xf32>, tensor<4xbf16>) {
  %w = sinter.constant dense_resource<w> : tensor<4xf32>
  %n = sinter.cast %w : tensor<4xf32> -> tensor<4xbf16>
  return %w, %n : tensor<4xf32>, tensor<4xbf16>
}
{-#
  dialect_resources: {
    builtin: {
      w: "0x040000000000803F00000040000040C000008040"
    }
  }
#-}

// -----

// SMALL-LABEL: @wider_ones_are_bounded
// SMALL: sinter.cast
func.func @wider_ones_are_bounded() -> tensor<4xf64> {
  %w = sinter.constant dense_resource<w> : tensor<4xf32>
  %n = sinter.cast %w : tensor<4xf32> -> tensor<4xf64>
  return %n : tensor<4xf64>
}
{-#
  dialect_resources: {
    builtin: {
      w: "0x040000000000803F00000040000040C000008040"
    }
  }
#-}

// -----

// CHECK-LABEL: @scan
// CHECK-NEXT: sinter.constant dense<[6.000000e+00, 1.200000e+01]>
// CHECK-NEXT: return
func.func @scan() -> tensor<2xf32> {
  %xs = sinter.constant dense<[[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]> : tensor<3x2xf32>
  %h = sinter.constant dense<0.0> : tensor<2xf32>
  %last = sinter.scan trips 3 stacks(%xs) initial(%h) whole() : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%x: tensor<2xf32>, %before: tensor<2xf32>):
    %after = sinter.add %before, %x : tensor<2xf32>
    sinter.yield %after : tensor<2xf32>
  }
  return %last : tensor<2xf32>
}

// -----

// Ops of constants in a body fold; a scan that would take too long does not.
// CHECK-LABEL: @long_scan
// CHECK: sinter.scan trips 100000000
// CHECK: sinter.constant dense<4.000000e+00>
// CHECK-NOT: sinter.exp
func.func @long_scan() -> tensor<2xf32> {
  %h = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %last = sinter.scan trips 100000000 stacks() initial(%h) whole() : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%before: tensor<2xf32>):
    %two = sinter.constant dense<2.0> : tensor<2xf32>
    %four = sinter.mul %two, %two : tensor<2xf32>
    %after = sinter.max %before, %four : tensor<2xf32>
    sinter.yield %after : tensor<2xf32>
  }
  return %last : tensor<2xf32>
}

// -----

// A product of integers reads constant factors of 8 bits. Other casts fold.
// CHECK-LABEL: @narrow_factor
// CHECK: %[[W:.*]] = sinter.constant dense<{{.*}}> : tensor<2x2xi8>
// CHECK: %[[F:.*]] = sinter.cast %[[W]] : tensor<2x2xi8> -> tensor<2x2xi32>
// CHECK: sinter.dot_general %arg0, %[[F]]
// CHECK-NOT: sinter.cast
func.func @narrow_factor(%x: tensor<2x2xi32>) -> (tensor<2x2xi32>, tensor<2x2xi32>) {
  %w = sinter.constant dense<[[1, 2], [3, -4]]> : tensor<2x2xi8>
  %f = sinter.cast %w : tensor<2x2xi8> -> tensor<2x2xi32>
  %v = sinter.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi8>
  %g = sinter.cast %v : tensor<2x2xi8> -> tensor<2x2xi32>
  %y = sinter.dot_general %x, %f batch [] x [] contract [1] x [0]
     : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  return %y, %g : tensor<2x2xi32>, tensor<2x2xi32>
}
