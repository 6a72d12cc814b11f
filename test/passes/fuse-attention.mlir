// RUN: sinter-opt %s --sinter-fuse-attention --sinter-fuse-epilogues --sinter-fuse-loops --split-input-file | FileCheck %s
// RUN: sinter-opt %s --sinter-fuse-attention --sinter-fuse-epilogues --sinter-fuse-loops --sinter-plan-memory --split-input-file | FileCheck %s --check-prefix=PLAN

// Heads are read where a joint projection left them and stored where the next one wants them; the gradients
// go into the gradient of the projection.
// CHECK-LABEL: @packed
// CHECK: %[[F:.*]]:2 = sinter.library_call attention(%arg0) : (tensor<2x16x384xf16>) -> (tensor<2x16x2x64xf16>, tensor<2x2x16xf32>)
// CHECK: sinter.library_call attention
// CHECK-SAME: -> tensor<2x16x384xf16>
// CHECK-NOT: sinter.library_call
// PLAN: exec.program @packed
// PLAN: exec.attention forward(%[[X:.*]]) -> (%[[Y:.*]], %[[S:.*]]) batch 2 heads 2 queries 16 keys 16 depth 64 scale 1.250000e-01 causal
// PLAN-SAME: <0 from 0 strides[6144, 64, 384]>
// PLAN-SAME: <0 from 128 strides[6144, 64, 384]>
// PLAN-SAME: <0 from 256 strides[6144, 64, 384]>
// PLAN-SAME: <1 from 0 strides[2048, 64, 128]>] stats 2
// PLAN: exec.attention backward(%[[X]], %[[Y]], %{{.*}}, %[[S]]) -> (%{{.*}}) batch 2
// PLAN-SAME: <1 from 0 strides[2048, 64, 128]>, #exec.heads<2 from 0 strides[2048, 64, 128]>
// PLAN-SAME: <4 from 0 strides[6144, 64, 384]>, #exec.heads<4 from 128 strides[6144, 64, 384]>, #exec.heads<4 from 256 strides[6144, 64, 384]>] stats 3
// PLAN-NOT: exec.launch
func.func @packed(%packed: tensor<2x16x384xf16> {sinter.input = "x"}, %dy: tensor<2x16x128xf16> {sinter.input = "dy"})
    -> (tensor<2x16x128xf16> {sinter.output = "y"}, tensor<2x16x384xf16> {sinter.output = "dx"}) {
  %q0 = sinter.slice %packed starts [0, 0, 0] limits [2, 16, 128] strides [1, 1, 1] : (tensor<2x16x384xf16>) -> tensor<2x16x128xf16>
  %k0 = sinter.slice %packed starts [0, 0, 128] limits [2, 16, 256] strides [1, 1, 1] : (tensor<2x16x384xf16>) -> tensor<2x16x128xf16>
  %v0 = sinter.slice %packed starts [0, 0, 256] limits [2, 16, 384] strides [1, 1, 1] : (tensor<2x16x384xf16>) -> tensor<2x16x128xf16>
  %q1 = sinter.reshape %q0 : tensor<2x16x128xf16> -> tensor<2x16x2x64xf16>
  %k1 = sinter.reshape %k0 : tensor<2x16x128xf16> -> tensor<2x16x2x64xf16>
  %v1 = sinter.reshape %v0 : tensor<2x16x128xf16> -> tensor<2x16x2x64xf16>
  %q = sinter.transpose %q1 perm [0, 2, 1, 3] : (tensor<2x16x2x64xf16>) -> tensor<2x2x16x64xf16>
  %k = sinter.transpose %k1 perm [0, 2, 1, 3] : (tensor<2x16x2x64xf16>) -> tensor<2x2x16x64xf16>
  %v = sinter.transpose %v1 perm [0, 2, 1, 3] : (tensor<2x16x2x64xf16>) -> tensor<2x2x16x64xf16>
  %o, %stats = sinter.attention %q, %k, %v {scale = 0.125 : f64, causal}
    : (tensor<2x2x16x64xf16>, tensor<2x2x16x64xf16>, tensor<2x2x16x64xf16>) -> (tensor<2x2x16x64xf16>, tensor<2x2x16xf32>)
  %o1 = sinter.transpose %o perm [0, 2, 1, 3] : (tensor<2x2x16x64xf16>) -> tensor<2x16x2x64xf16>
  %y = sinter.reshape %o1 : tensor<2x16x2x64xf16> -> tensor<2x16x128xf16>
  %g1 = sinter.reshape %dy : tensor<2x16x128xf16> -> tensor<2x16x2x64xf16>
  %g = sinter.transpose %g1 perm [0, 2, 1, 3] : (tensor<2x16x2x64xf16>) -> tensor<2x2x16x64xf16>
  %dq, %dk, %dv = sinter.attention_grad %q, %k, %v, %o, %stats, %g {scale = 0.125 : f64, causal}
    : (tensor<2x2x16x64xf16>, tensor<2x2x16x64xf16>, tensor<2x2x16x64xf16>, tensor<2x2x16x64xf16>, tensor<2x2x16xf32>, tensor<2x2x16x64xf16>)
    -> (tensor<2x2x16x64xf16>, tensor<2x2x16x64xf16>, tensor<2x2x16x64xf16>)
  %dq1 = sinter.transpose %dq perm [0, 2, 1, 3] : (tensor<2x2x16x64xf16>) -> tensor<2x16x2x64xf16>
  %dk1 = sinter.transpose %dk perm [0, 2, 1, 3] : (tensor<2x2x16x64xf16>) -> tensor<2x16x2x64xf16>
  %dv1 = sinter.transpose %dv perm [0, 2, 1, 3] : (tensor<2x2x16x64xf16>) -> tensor<2x16x2x64xf16>
  %dq2 = sinter.reshape %dq1 : tensor<2x16x2x64xf16> -> tensor<2x16x128xf16>
  %dk2 = sinter.reshape %dk1 : tensor<2x16x2x64xf16> -> tensor<2x16x128xf16>
  %dv2 = sinter.reshape %dv1 : tensor<2x16x2x64xf16> -> tensor<2x16x128xf16>
  %dx = sinter.concat %dq2, %dk2, %dv2 axis 2
    : (tensor<2x16x128xf16>, tensor<2x16x128xf16>, tensor<2x16x128xf16>) -> tensor<2x16x384xf16>
  return %y, %dx : tensor<2x16x128xf16>, tensor<2x16x384xf16>
}

// -----

// One axis for query, key and value; gradients joined before they are moved.
// CHECK-LABEL: @stacked
// CHECK: sinter.library_call attention(%arg0) : (tensor<2x4x3x2x8xbf16>) -> (tensor<2x2x4x8xbf16>, tensor<2x2x4xf32>)
// CHECK: sinter.library_call attention
// CHECK-SAME: -> tensor<2x4x3x2x8xbf16>
// CHECK-NOT: sinter.library_call
// PLAN: exec.attention forward
// PLAN-SAME: <0 from 0 strides[192, 8, 48]>, #exec.heads<0 from 16 strides[192, 8, 48]>, #exec.heads<0 from 32 strides[192, 8, 48]>, #exec.heads<1 from 0 strides[64, 32, 8]>] stats 2
// PLAN: exec.attention backward
// PLAN-SAME: <4 from 0 strides[192, 8, 48]>, #exec.heads<4 from 16 strides[192, 8, 48]>, #exec.heads<4 from 32 strides[192, 8, 48]>] stats 3
func.func @stacked(%x: tensor<2x4x3x2x8xbf16> {sinter.input = "x"}, %g: tensor<2x2x4x8xbf16> {sinter.input = "g"})
    -> (tensor<2x2x4x8xbf16> {sinter.output = "y"}, tensor<2x4x3x2x8xbf16> {sinter.output = "dx"}) {
  %t = sinter.transpose %x perm [2, 0, 3, 1, 4] : (tensor<2x4x3x2x8xbf16>) -> tensor<3x2x2x4x8xbf16>
  %q0 = sinter.slice %t starts [0, 0, 0, 0, 0] limits [1, 2, 2, 4, 8] strides [1, 1, 1, 1, 1] : (tensor<3x2x2x4x8xbf16>) -> tensor<1x2x2x4x8xbf16>
  %k0 = sinter.slice %t starts [1, 0, 0, 0, 0] limits [2, 2, 2, 4, 8] strides [1, 1, 1, 1, 1] : (tensor<3x2x2x4x8xbf16>) -> tensor<1x2x2x4x8xbf16>
  %v0 = sinter.slice %t starts [2, 0, 0, 0, 0] limits [3, 2, 2, 4, 8] strides [1, 1, 1, 1, 1] : (tensor<3x2x2x4x8xbf16>) -> tensor<1x2x2x4x8xbf16>
  %q = sinter.reshape %q0 : tensor<1x2x2x4x8xbf16> -> tensor<2x2x4x8xbf16>
  %k = sinter.reshape %k0 : tensor<1x2x2x4x8xbf16> -> tensor<2x2x4x8xbf16>
  %v = sinter.reshape %v0 : tensor<1x2x2x4x8xbf16> -> tensor<2x2x4x8xbf16>
  %y, %stats = sinter.attention %q, %k, %v {scale = 1.0 : f64}
    : (tensor<2x2x4x8xbf16>, tensor<2x2x4x8xbf16>, tensor<2x2x4x8xbf16>) -> (tensor<2x2x4x8xbf16>, tensor<2x2x4xf32>)
  %dq, %dk, %dv = sinter.attention_grad %q, %k, %v, %y, %stats, %g {scale = 1.0 : f64}
    : (tensor<2x2x4x8xbf16>, tensor<2x2x4x8xbf16>, tensor<2x2x4x8xbf16>, tensor<2x2x4x8xbf16>, tensor<2x2x4xf32>, tensor<2x2x4x8xbf16>)
    -> (tensor<2x2x4x8xbf16>, tensor<2x2x4x8xbf16>, tensor<2x2x4x8xbf16>)
  %dq0 = sinter.reshape %dq : tensor<2x2x4x8xbf16> -> tensor<1x2x2x4x8xbf16>
  %dk0 = sinter.reshape %dk : tensor<2x2x4x8xbf16> -> tensor<1x2x2x4x8xbf16>
  %dv0 = sinter.reshape %dv : tensor<2x2x4x8xbf16> -> tensor<1x2x2x4x8xbf16>
  %d = sinter.concat %dq0, %dk0, %dv0 axis 0
    : (tensor<1x2x2x4x8xbf16>, tensor<1x2x2x4x8xbf16>, tensor<1x2x2x4x8xbf16>) -> tensor<3x2x2x4x8xbf16>
  %dx = sinter.transpose %d perm [1, 3, 0, 2, 4] : (tensor<3x2x2x4x8xbf16>) -> tensor<2x4x3x2x8xbf16>
  return %y, %dx : tensor<2x2x4x8xbf16>, tensor<2x4x3x2x8xbf16>
}

// -----

// Without a gradient there are no statistics; a view at 4 elements is not aligned and is copied first; three
// results that are not joined are three buffers.
// CHECK-LABEL: @dense
// CHECK: sinter.library_call attention(%arg0, %arg1) : (tensor<2x3x8xf16>, tensor<2x5x8xf16>) -> tensor<2x3x8xf16>
// CHECK: sinter.kernel loop
// CHECK: sinter.slice
// CHECK: sinter.library_call attention
// CHECK-SAME: -> (tensor<2x3x8xf16>, tensor<2x5x8xf16>, tensor<2x5x8xf16>)
// PLAN: exec.attention forward(%[[Q:.*]], %{{.*}}) -> (%{{.*}}) batch 2 heads 1 queries 3 keys 5 depth 8 scale 1.000000e+00 at
// PLAN-NOT: stats
// PLAN: exec.attention backward
// PLAN-SAME: stats
func.func @dense(%q: tensor<2x3x8xf16> {sinter.input = "q"}, %k: tensor<2x5x8xf16> {sinter.input = "k"},
                 %wide: tensor<2x5x12xf16> {sinter.input = "v"}, %s: tensor<2x3xf32> {sinter.input = "s"})
    -> (tensor<2x3x8xf16> {sinter.output = "y"}, tensor<2x3x8xf16> {sinter.output = "dq"}, tensor<2x5x8xf16> {sinter.output = "dk"},
        tensor<2x5x8xf16> {sinter.output = "dv"}) {
  %y, %stats = sinter.attention %q, %k, %k {scale = 1.0 : f64}
    : (tensor<2x3x8xf16>, tensor<2x5x8xf16>, tensor<2x5x8xf16>) -> (tensor<2x3x8xf16>, tensor<2x3xf32>)
  %v = sinter.slice %wide starts [0, 0, 4] limits [2, 5, 12] strides [1, 1, 1] : (tensor<2x5x12xf16>) -> tensor<2x5x8xf16>
  %dq, %dk, %dv = sinter.attention_grad %q, %k, %v, %q, %s, %q {scale = 1.0 : f64}
    : (tensor<2x3x8xf16>, tensor<2x5x8xf16>, tensor<2x5x8xf16>, tensor<2x3x8xf16>, tensor<2x3xf32>, tensor<2x3x8xf16>)
    -> (tensor<2x3x8xf16>, tensor<2x5x8xf16>, tensor<2x5x8xf16>)
  return %y, %dq, %dk, %dv : tensor<2x3x8xf16>, tensor<2x3x8xf16>, tensor<2x5x8xf16>, tensor<2x5x8xf16>
}
