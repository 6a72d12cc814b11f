// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-merge-contractions))' | FileCheck %s
// RUN: sinter-opt %s --phase-options="--target=cuda" --pass-pipeline='builtin.module(func.func(sinter-merge-contractions))' | FileCheck %s --check-prefix=GPU

// Two projections into heads, with their biases: one product with the weights side by side.
// GPU-LABEL: @heads
// GPU: %[[W:.*]] = sinter.concat %{{.*}}, %{{.*}} axis 1 : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<8x10xf32>
// GPU: %[[P:.*]] = sinter.dot_general %arg0, %[[W]] batch [] x [] contract [2] x [0]
// GPU: %[[B:.*]] = sinter.concat %{{.*}}, %{{.*}} axis 0 : (tensor<6xf32>, tensor<4xf32>) -> tensor<10xf32>
// GPU: %[[S:.*]] = sinter.broadcast %[[B]] dims [2]
// GPU: %[[A:.*]] = sinter.add %[[S]], %[[P]] : tensor<2x3x10xf32>
// GPU: %[[Q:.*]] = sinter.slice %[[A]] starts [0, 0, 0] limits [2, 3, 6]
// GPU: %[[K:.*]] = sinter.slice %[[A]] starts [0, 0, 6] limits [2, 3, 10]
// GPU-NOT: dot_general
// GPU: sinter.reshape %[[Q]]
// GPU: sinter.reshape %[[K]]
// CHECK-LABEL: @heads
// CHECK-COUNT-2: sinter.dot_general
func.func @heads(%x: tensor<2x3x8xf32>) -> (tensor<2x2x3x3xf32>, tensor<2x2x3x2xf32>) {
  %wq = sinter.constant dense<1.0> : tensor<8x6xf32>
  %bq = sinter.constant dense<2.0> : tensor<6xf32>
  %q0 = sinter.dot_general %x, %wq batch [] x [] contract [2] x [0] : (tensor<2x3x8xf32>, tensor<8x6xf32>) -> tensor<2x3x6xf32>
  %q1 = sinter.broadcast %bq dims [2] : tensor<6xf32> -> tensor<2x3x6xf32>
  %q2 = sinter.add %q0, %q1 : tensor<2x3x6xf32>
  %q3 = sinter.reshape %q2 : tensor<2x3x6xf32> -> tensor<2x3x2x3xf32>
  %q4 = sinter.transpose %q3 perm [0, 2, 1, 3] : (tensor<2x3x2x3xf32>) -> tensor<2x2x3x3xf32>
  %wk = sinter.constant dense<3.0> : tensor<8x4xf32>
  %bk = sinter.constant dense<4.0> : tensor<4xf32>
  %k0 = sinter.dot_general %x, %wk batch [] x [] contract [2] x [0] : (tensor<2x3x8xf32>, tensor<8x4xf32>) -> tensor<2x3x4xf32>
  %k1 = sinter.broadcast %bk dims [2] : tensor<4xf32> -> tensor<2x3x4xf32>
  %k2 = sinter.add %k1, %k0 : tensor<2x3x4xf32>
  %k3 = sinter.reshape %k2 : tensor<2x3x4xf32> -> tensor<2x3x2x2xf32>
  %k4 = sinter.transpose %k3 perm [0, 2, 1, 3] : (tensor<2x3x2x2xf32>) -> tensor<2x2x3x2xf32>
  return %q4, %k4 : tensor<2x2x3x3xf32>, tensor<2x2x3x2xf32>
}

// Of 16-bit floats, rounded behind the bias.
// GPU-LABEL: @narrow
// GPU: %[[W:.*]] = sinter.concat %{{.*}} axis 0 : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<8x8xbf16>
// GPU: %[[V:.*]] = sinter.cast %[[W]]
// GPU: %[[P:.*]] = sinter.dot_general %{{.*}}, %[[V]] batch [] x [] contract [1] x [1]
// GPU: sinter.add
// GPU: %[[R:.*]] = sinter.cast %{{.*}} : tensor<3x8xf32> -> tensor<3x8xbf16>
// GPU: sinter.slice %[[R]] starts [0, 0] limits [3, 4]
// GPU: sinter.slice %[[R]] starts [0, 4] limits [3, 8]
func.func @narrow(%x: tensor<3x8xbf16>) -> (tensor<4x3xbf16>, tensor<4x3xbf16>) {
  %a = sinter.cast %x : tensor<3x8xbf16> -> tensor<3x8xf32>
  %b = sinter.cast %x : tensor<3x8xbf16> -> tensor<3x8xf32>
  %v = sinter.constant dense<1.0> : tensor<4x8xbf16>
  %w = sinter.constant dense<2.0> : tensor<4x8xbf16>
  %c = sinter.constant dense<3.0> : tensor<4xbf16>
  %d = sinter.constant dense<4.0> : tensor<4xbf16>
  %vw = sinter.cast %v : tensor<4x8xbf16> -> tensor<4x8xf32>
  %ww = sinter.cast %w : tensor<4x8xbf16> -> tensor<4x8xf32>
  %p = sinter.dot_general %a, %vw batch [] x [] contract [1] x [1] : (tensor<3x8xf32>, tensor<4x8xf32>) -> tensor<3x4xf32>
  %q = sinter.dot_general %b, %ww batch [] x [] contract [1] x [1] : (tensor<3x8xf32>, tensor<4x8xf32>) -> tensor<3x4xf32>
  %cs = sinter.broadcast %c dims [1] : tensor<4xbf16> -> tensor<3x4xbf16>
  %ds = sinter.broadcast %d dims [1] : tensor<4xbf16> -> tensor<3x4xbf16>
  %cw = sinter.cast %cs : tensor<3x4xbf16> -> tensor<3x4xf32>
  %dw = sinter.cast %ds : tensor<3x4xbf16> -> tensor<3x4xf32>
  %pc = sinter.add %cw, %p : tensor<3x4xf32>
  %qd = sinter.add %dw, %q : tensor<3x4xf32>
  %pn = sinter.cast %pc : tensor<3x4xf32> -> tensor<3x4xbf16>
  %qn = sinter.cast %qd : tensor<3x4xf32> -> tensor<3x4xbf16>
  %pt = sinter.transpose %pn perm [1, 0] : (tensor<3x4xbf16>) -> tensor<4x3xbf16>
  %qt = sinter.transpose %qn perm [1, 0] : (tensor<3x4xbf16>) -> tensor<4x3xbf16>
  return %pt, %qt : tensor<4x3xbf16>, tensor<4x3xbf16>
}

// Must not fire: other rows; weights that are no constants; an activation that belongs to one call; a result.
// GPU-LABEL: @left_alone
// GPU-NOT: sinter.concat
// GPU: return
func.func @left_alone(%x: tensor<3x8xf32>, %y: tensor<3x8xf32>, %u: tensor<8x4xf32>)
    -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  %w = sinter.constant dense<1.0> : tensor<8x4xf32>
  %v = sinter.constant dense<2.0> : tensor<8x4xf32>
  %a = sinter.dot_general %y, %w batch [] x [] contract [1] x [0] : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %b = sinter.dot_general %x, %v batch [] x [] contract [1] x [0] : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %c = sinter.dot_general %x, %u batch [] x [] contract [1] x [0] : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %d = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %e = sinter.relu %d : tensor<3x4xf32>
  %at = sinter.transpose %a perm [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %bt = sinter.transpose %b perm [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %ct = sinter.transpose %c perm [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %f = sinter.dot_general %y, %v batch [] x [] contract [1] x [0] : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  return %at, %bt, %ct, %e, %f : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}
