// RUN: sinter-opt %s --sinter-quantize-contractions="ranges=product/a/dot_general/0=-1:4.1,shared/a/dot_general/0=0:2.55,shared/b/dot_general/0=0:2.55,images/c/conv/0=0:6,left/d/dot_general/0=-1:1,bounds/z/dot_general/0=0:0,moved/t/dot_general/0=-2:-1 keep-fp32=^kept" | FileCheck %s
// RUN: sinter-opt %s --sinter-quantize-contractions="ranges=product/a/dot_general/0=-1:4.1,shared/a/dot_general/0=0:2.55,shared/b/dot_general/0=0:2.55,images/c/conv/0=0:6,left/d/dot_general/0=-1:1,bounds/z/dot_general/0=0:0,moved/t/dot_general/0=-2:-1 keep-fp32=^kept" --sinter-narrow-products --sinter-fold-constants --sinter-simplify-algebra | FileCheck %s --check-prefix=INT

// The input has unsigned codes: (4.1 + 1) / 255 = 0.02, and 50 for 0. Each
// column of the weights has a scale of its own: 12.7 / 127 and 2.54 / 127.
// CHECK-LABEL: @product
// CHECK-DAG: %[[SCALE:.*]] = sinter.constant dense<2.000000e-02> : tensor<2x3xf32>
// CHECK-DAG: %[[ZERO:.*]] = sinter.constant dense<50> : tensor<2x3xui8>
// CHECK: %[[Q:.*]] = sinter.div %arg0, %[[SCALE]]
// CHECK: %[[R:.*]] = sinter.round %[[Q]]
// CHECK: %[[CODES:.*]] = sinter.cast %{{.*}} : tensor<2x3xf32> -> tensor<2x3xui8>
// CHECK: sinter.cast %[[CODES]] : tensor<2x3xui8> -> tensor<2x3xi32>
// CHECK: %[[A:.*]] = sinter.mul {{.*}}, %[[SCALE]]
// CHECK-DAG: sinter.constant dense<{{\[\[}}127, 0], [-64, 127], [10, -127]]> : tensor<3x2xi8>
// CHECK-DAG: sinter.constant dense<[1.000000e-01, 2.000000e-02]> : tensor<2xf32>
// CHECK: %[[W:.*]] = sinter.mul {{.*}} : tensor<3x2xf32>
// CHECK: sinter.dot_general %[[A]], %[[W]]
// INT-LABEL: @product
// INT: sinter.dot_general {{.*}} -> tensor<2x2xi32>
func.func @product(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {
  %w = sinter.constant dense<[[12.7, 0.0], [-6.4, 2.54], [1.0, -2.54]]> : tensor<3x2xf32>
  %y = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
     : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32> loc("a")
  return %y : tensor<2x2xf32>
}

// Two products of one tensor read the same codes.
// INT-LABEL: @shared
// INT: sinter.round
// INT-NOT: sinter.round
// INT-COUNT-2: sinter.dot_general {{.*}} -> tensor<1x1xi32>
// INT-NOT: sinter.round
func.func @shared(%x: tensor<1x2xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>) {
  %v = sinter.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %w = sinter.constant dense<[[3.0], [4.0]]> : tensor<2x1xf32>
  %y = sinter.dot_general %x, %v batch [] x [] contract [1] x [0]
     : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<1x1xf32> loc("a")
  %z = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
     : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<1x1xf32> loc("b")
  return %y, %z : tensor<1x1xf32>, tensor<1x1xf32>
}

// Filters have one scale for each output channel; padding is the code of 0.
// CHECK-LABEL: @images
// CHECK-DAG: sinter.constant dense<{{\[\[\[\[}}127, -127]]], {{\[\[\[}}127, 64]]]]> : tensor<2x1x1x2xi8>
// CHECK-DAG: sinter.broadcast {{.*}} dims [0] : tensor<2xf32> -> tensor<2x1x1x2xf32>
// CHECK: sinter.conv
// INT-LABEL: @images
func.func @images(%x: tensor<1x1x3x3xf32>) -> tensor<1x2x3x2xf32> {
  %w = sinter.constant dense<[[[[1.0, -1.0]]], [[[2.0, 1.0]]]]> : tensor<2x1x1x2xf32>
  %y = sinter.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
         pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>}
     : (tensor<1x1x3x3xf32>, tensor<2x1x1x2xf32>) -> tensor<1x2x3x2xf32> loc("c")
  return %y : tensor<1x2x3x2xf32>
}

// Weights may be the left operand: one scale for each row.
// CHECK-LABEL: @left
// CHECK-DAG: sinter.constant dense<{{\[\[}}127, 64], [-127, 42]]> : tensor<2x2xi8>
// CHECK-DAG: sinter.broadcast {{.*}} dims [0] : tensor<2xf32> -> tensor<2x2xf32>
// INT-LABEL: @left
// INT: sinter.dot_general {{.*}} -> tensor<2x3xi32>
func.func @left(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %w = sinter.constant dense<[[1.0, 0.5], [-3.0, 1.0]]> : tensor<2x2xf32>
  %y = sinter.dot_general %w, %x batch [] x [] contract [1] x [0]
     : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc("d")
  return %y : tensor<2x3xf32>
}

// Tensors of zeros have the scale 1.
// CHECK-LABEL: @bounds
// CHECK-DAG: sinter.constant dense<1.000000e+00> : tensor<1x2xf32>
// CHECK-DAG: sinter.constant dense<0> : tensor<1x2xui8>
// CHECK-DAG: sinter.constant dense<0> : tensor<2x1xi8>
func.func @bounds(%x: tensor<1x2xf32>) -> tensor<1x1xf32> {
  %w = sinter.constant dense<0.0> : tensor<2x1xf32>
  %y = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
     : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<1x1xf32> loc("z")
  return %y : tensor<1x1xf32>
}

// Behind a transpose the weights are quantised in front of it. A range without
// 0 is widened to it.
// CHECK-LABEL: @moved
// CHECK-DAG: sinter.constant dense<255> : tensor<1x2xui8>
// CHECK-DAG: sinter.constant dense<{{\[\[}}127, 64]]> : tensor<1x2xi8>
// CHECK: sinter.transpose
// INT-LABEL: @moved
// INT: sinter.dot_general {{.*}} -> tensor<1x1xi32>
func.func @moved(%x: tensor<1x2xf32>) -> tensor<1x1xf32> {
  %c = sinter.constant dense<[[1.0, 0.5]]> : tensor<1x2xf32>
  %w = sinter.transpose %c perm [1, 0] : (tensor<1x2xf32>) -> tensor<2x1xf32>
  %y = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
     : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<1x1xf32> loc("t")
  return %y : tensor<1x1xf32>
}

// Without a range, constant weights or float32, and with --keep-fp32, a
// contraction stays as it is.
// CHECK-LABEL: @unchanged
// CHECK-NOT: sinter.round
// CHECK: return
func.func @unchanged(%x: tensor<1x2xf32>, %w: tensor<2x1xf32>, %h: tensor<1x2xf16>) -> (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf16>) {
  %c = sinter.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %d = sinter.constant dense<[[1.0], [2.0]]> : tensor<2x1xf16>
  %a = sinter.dot_general %x, %c batch [] x [] contract [1] x [0]
     : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<1x1xf32> loc("norange")
  %b = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
     : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<1x1xf32> loc("variable")
  %e = sinter.dot_general %x, %c batch [] x [] contract [1] x [0]
     : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<1x1xf32> loc("kept")
  %f = sinter.dot_general %h, %d batch [] x [] contract [1] x [0]
     : (tensor<1x2xf16>, tensor<2x1xf16>) -> tensor<1x1xf16> loc("half")
  return %a, %b, %e, %f : tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf16>
}
