// RUN: sinter-opt %s --sinter-simplify-algebra --sinter-recognize-composites --sinter-simplify-algebra \
// RUN:   --split-input-file | FileCheck %s
// RUN: sinter-opt %s --sinter-recognize-composites="keep-scales=true" --split-input-file | FileCheck %s --check-prefix=KEEP
// RUN: sinter-opt %s --mlir-print-debuginfo --mlir-print-local-scope --sinter-simplify-algebra \
// RUN:   --sinter-recognize-composites --sinter-decompose-composites --sinter-simplify-algebra --split-input-file \
// RUN:   | FileCheck %s --check-prefix=PARTS

// CHECK-LABEL: @softmax
// CHECK-NEXT: %[[Y:.*]] = sinter.softmax %arg0 {axis = 1 : i64}
// CHECK-NEXT: return %[[Y]]
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = sinter.reduce max %x dims [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %mk = sinter.reshape %m : tensor<4xf32> -> tensor<4x1xf32>
  %mb = sinter.broadcast %mk dims [0, 1] : tensor<4x1xf32> -> tensor<4x8xf32>
  %d = sinter.sub %x, %mb : tensor<4x8xf32>
  %e = sinter.exp %d : tensor<4x8xf32>
  %s = sinter.reduce sum %e dims [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %sk = sinter.reshape %s : tensor<4xf32> -> tensor<4x1xf32>
  %sb = sinter.broadcast %sk dims [0, 1] : tensor<4x1xf32> -> tensor<4x8xf32>
  %y = sinter.div %e, %sb : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: @softmax_with_a_used_intermediate_stays
// CHECK-NOT: sinter.softmax
// CHECK: return
func.func @softmax_with_a_used_intermediate_stays(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %m = sinter.reduce max %x dims [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %mb = sinter.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %d = sinter.sub %x, %mb : tensor<4x8xf32>
  %e = sinter.exp %d : tensor<4x8xf32>
  %s = sinter.reduce sum %e dims [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %sb = sinter.broadcast %s dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = sinter.div %e, %sb : tensor<4x8xf32>
  return %y, %e : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// The sum runs along another axis than the maximum.
// CHECK-LABEL: @softmax_of_two_axes_stays
// CHECK-NOT: sinter.softmax
// CHECK: return
func.func @softmax_of_two_axes_stays(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %m = sinter.reduce max %x dims [1] : (tensor<8x8xf32>) -> tensor<8xf32>
  %mb = sinter.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x8xf32>
  %d = sinter.sub %x, %mb : tensor<8x8xf32>
  %e = sinter.exp %d : tensor<8x8xf32>
  %s = sinter.reduce sum %e dims [0] : (tensor<8x8xf32>) -> tensor<8xf32>
  %sb = sinter.broadcast %s dims [1] : tensor<8xf32> -> tensor<8x8xf32>
  %y = sinter.div %e, %sb : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// The sum is spread along the wrong dimension of a square.
// CHECK-LABEL: @softmax_spread_wrongly_stays
// CHECK-NOT: sinter.softmax
// CHECK: return
func.func @softmax_spread_wrongly_stays(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %m = sinter.reduce max %x dims [1] : (tensor<8x8xf32>) -> tensor<8xf32>
  %mb = sinter.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x8xf32>
  %d = sinter.sub %x, %mb : tensor<8x8xf32>
  %e = sinter.exp %d : tensor<8x8xf32>
  %s = sinter.reduce sum %e dims [1] : (tensor<8x8xf32>) -> tensor<8xf32>
  %sb = sinter.broadcast %s dims [1] : tensor<8xf32> -> tensor<8x8xf32>
  %y = sinter.div %e, %sb : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: @log_softmax
// CHECK-NEXT: %[[Y:.*]] = sinter.log_softmax %arg0 {axis = 1 : i64}
// CHECK-NEXT: return %[[Y]]
func.func @log_softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = sinter.reduce max %x dims [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %mb = sinter.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %d = sinter.sub %x, %mb : tensor<4x8xf32>
  %e = sinter.exp %d : tensor<4x8xf32>
  %s = sinter.reduce sum %e dims [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %l = sinter.log %s : tensor<4xf32>
  %lb = sinter.broadcast %l dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = sinter.sub %d, %lb : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: @log_of_softmax
// CHECK-NEXT: sinter.log_softmax %arg0
func.func @log_of_softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = sinter.softmax %x {axis = 1 : i64} : tensor<4x8xf32>
  %y = sinter.log %s : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// As PyTorch exports it.
// CHECK-LABEL: @gelu_erf
// CHECK-NEXT: %[[Y:.*]] = sinter.gelu erf %arg0
// CHECK-NEXT: return %[[Y]]
func.func @gelu_erf(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %root = sinter.constant dense<1.41421354> : tensor<4x8xf32>
  %one = sinter.constant dense<1.0> : tensor<4x8xf32>
  %half = sinter.constant dense<0.5> : tensor<4x8xf32>
  %a = sinter.div %x, %root : tensor<4x8xf32>
  %b = sinter.erf %a : tensor<4x8xf32>
  %c = sinter.add %b, %one : tensor<4x8xf32>
  %d = sinter.mul %x, %c : tensor<4x8xf32>
  %y = sinter.mul %d, %half : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// The half on x, and x itself a product.
// CHECK-LABEL: @gelu_erf_other_order
// CHECK: %[[X:.*]] = sinter.mul %arg0, %arg1
// CHECK-NEXT: %[[Y:.*]] = sinter.gelu erf %[[X]]
// CHECK-NEXT: return %[[Y]]
func.func @gelu_erf_other_order(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %x = sinter.mul %a, %b : tensor<8xf32>
  %root = sinter.constant dense<0.707106769> : tensor<8xf32>
  %one = sinter.constant dense<1.0> : tensor<8xf32>
  %half = sinter.constant dense<0.5> : tensor<8xf32>
  %h = sinter.mul %x, %half : tensor<8xf32>
  %s = sinter.mul %x, %root : tensor<8xf32>
  %e = sinter.erf %s : tensor<8xf32>
  %c = sinter.add %e, %one : tensor<8xf32>
  %y = sinter.mul %h, %c : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// CHECK-LABEL: @gelu_of_another_scale_stays
// CHECK-NOT: sinter.gelu
// CHECK: return
func.func @gelu_of_another_scale_stays(%x: tensor<8xf32>) -> tensor<8xf32> {
  %root = sinter.constant dense<0.7> : tensor<8xf32>
  %one = sinter.constant dense<1.0> : tensor<8xf32>
  %half = sinter.constant dense<0.5> : tensor<8xf32>
  %h = sinter.mul %x, %half : tensor<8xf32>
  %s = sinter.mul %x, %root : tensor<8xf32>
  %e = sinter.erf %s : tensor<8xf32>
  %c = sinter.add %e, %one : tensor<8xf32>
  %y = sinter.mul %h, %c : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// CHECK-LABEL: @gelu_tanh
// CHECK-NEXT: %[[Y:.*]] = sinter.gelu tanh %arg0
// CHECK-NEXT: return %[[Y]]
func.func @gelu_tanh(%x: tensor<8xf32>) -> tensor<8xf32> {
  %three = sinter.constant dense<3.0> : tensor<8xf32>
  %a = sinter.constant dense<0.044715> : tensor<8xf32>
  %k = sinter.constant dense<0.797884583> : tensor<8xf32>
  %one = sinter.constant dense<1.0> : tensor<8xf32>
  %half = sinter.constant dense<0.5> : tensor<8xf32>
  %cube = sinter.pow %x, %three : tensor<8xf32>
  %term = sinter.mul %cube, %a : tensor<8xf32>
  %sum = sinter.add %x, %term : tensor<8xf32>
  %u = sinter.mul %sum, %k : tensor<8xf32>
  %t = sinter.tanh %u : tensor<8xf32>
  %p = sinter.add %t, %one : tensor<8xf32>
  %h = sinter.mul %x, %half : tensor<8xf32>
  %y = sinter.mul %h, %p : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// As PyTorch exports it below opset 17.
// CHECK-LABEL: @layer_norm
// CHECK-NEXT: %[[Y:.*]] = sinter.layer_norm %arg0, %arg1, %arg2 {axis = 2 : i64, epsilon = 9.99999{{.*}}E-6
// CHECK-NEXT: return %[[Y]]
func.func @layer_norm(%x: tensor<2x3x12xf32>, %scale: tensor<12xf32>, %bias: tensor<12xf32>) -> tensor<2x3x12xf32> {
  %n = sinter.constant dense<12.0> : tensor<2x3x1xf32>
  %eps = sinter.constant dense<1.0e-5> : tensor<2x3x1xf32>
  %two = sinter.constant dense<2.0> : tensor<2x3x12xf32>
  %s = sinter.reduce sum %x dims [2] : (tensor<2x3x12xf32>) -> tensor<2x3xf32>
  %sk = sinter.reshape %s : tensor<2x3xf32> -> tensor<2x3x1xf32>
  %m = sinter.div %sk, %n : tensor<2x3x1xf32>
  %mb = sinter.broadcast %m dims [0, 1, 2] : tensor<2x3x1xf32> -> tensor<2x3x12xf32>
  %d = sinter.sub %x, %mb : tensor<2x3x12xf32>
  %q = sinter.pow %d, %two : tensor<2x3x12xf32>
  %v = sinter.reduce sum %q dims [2] : (tensor<2x3x12xf32>) -> tensor<2x3xf32>
  %vk = sinter.reshape %v : tensor<2x3xf32> -> tensor<2x3x1xf32>
  %vm = sinter.div %vk, %n : tensor<2x3x1xf32>
  %ve = sinter.add %vm, %eps : tensor<2x3x1xf32>
  %r = sinter.sqrt %ve : tensor<2x3x1xf32>
  %rb = sinter.broadcast %r dims [0, 1, 2] : tensor<2x3x1xf32> -> tensor<2x3x12xf32>
  %z = sinter.div %d, %rb : tensor<2x3x12xf32>
  %scales = sinter.broadcast %scale dims [2] : tensor<12xf32> -> tensor<2x3x12xf32>
  %zs = sinter.mul %z, %scales : tensor<2x3x12xf32>
  %biases = sinter.broadcast %bias dims [2] : tensor<12xf32> -> tensor<2x3x12xf32>
  %y = sinter.add %zs, %biases : tensor<2x3x12xf32>
  return %y : tensor<2x3x12xf32>
}

// -----

// Without an affine part, over a power of two (where the division became a product).
// CHECK-LABEL: @layer_norm_plain
// CHECK: %[[ONES:.*]] = sinter.constant dense<1.0{{0*}}e+00> : tensor<8xf32>
// CHECK-NEXT: %[[Y:.*]] = sinter.layer_norm %arg0, %[[ONES]]
// CHECK-NEXT: return %[[Y]]
func.func @layer_norm_plain(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %n = sinter.constant dense<8.0> : tensor<3xf32>
  %eps = sinter.constant dense<1.0e-5> : tensor<3xf32>
  %s = sinter.reduce sum %x dims [1] : (tensor<3x8xf32>) -> tensor<3xf32>
  %m = sinter.div %s, %n : tensor<3xf32>
  %mb = sinter.broadcast %m dims [0] : tensor<3xf32> -> tensor<3x8xf32>
  %d = sinter.sub %x, %mb : tensor<3x8xf32>
  %q = sinter.mul %d, %d : tensor<3x8xf32>
  %v = sinter.reduce sum %q dims [1] : (tensor<3x8xf32>) -> tensor<3xf32>
  %vm = sinter.div %v, %n : tensor<3xf32>
  %ve = sinter.add %vm, %eps : tensor<3xf32>
  %r = sinter.rsqrt %ve : tensor<3xf32>
  %rb = sinter.broadcast %r dims [0] : tensor<3xf32> -> tensor<3x8xf32>
  %y = sinter.mul %d, %rb : tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

// -----

// A sum divided by another number than that of its elements is no mean.
// CHECK-LABEL: @norm_with_another_divisor_stays
// CHECK-NOT: sinter.layer_norm
// CHECK: return
func.func @norm_with_another_divisor_stays(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %n = sinter.constant dense<8.0> : tensor<3xf32>
  %n1 = sinter.constant dense<7.0> : tensor<3xf32>
  %s = sinter.reduce sum %x dims [1] : (tensor<3x8xf32>) -> tensor<3xf32>
  %m = sinter.div %s, %n : tensor<3xf32>
  %mb = sinter.broadcast %m dims [0] : tensor<3xf32> -> tensor<3x8xf32>
  %d = sinter.sub %x, %mb : tensor<3x8xf32>
  %q = sinter.mul %d, %d : tensor<3x8xf32>
  %v = sinter.reduce sum %q dims [1] : (tensor<3x8xf32>) -> tensor<3xf32>
  %vm = sinter.div %v, %n1 : tensor<3xf32>
  %r = sinter.rsqrt %vm : tensor<3xf32>
  %rb = sinter.broadcast %r dims [0] : tensor<3xf32> -> tensor<3x8xf32>
  %y = sinter.mul %d, %rb : tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

// -----

// CHECK-LABEL: @group_norm
// CHECK: sinter.group_norm %arg0, %arg1, %arg2 {epsilon = {{.*}}, groups = 2 : i64}
func.func @group_norm(%x: tensor<2x4x3x3xf32>, %scale: tensor<4xf32>, %bias: tensor<4xf32>) -> tensor<2x4x3x3xf32> {
  %ones = sinter.constant dense<1.0> : tensor<2xf32>
  %zeros = sinter.constant dense<0.0> : tensor<2xf32>
  %g = sinter.reshape %x : tensor<2x4x3x3xf32> -> tensor<2x2x18xf32>
  %n = sinter.group_norm %g, %ones, %zeros {groups = 2 : i64, epsilon = 1.0e-5 : f64}
    : (tensor<2x2x18xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x18xf32>
  %r = sinter.reshape %n : tensor<2x2x18xf32> -> tensor<2x4x3x3xf32>
  %sb = sinter.broadcast %scale dims [1] : tensor<4xf32> -> tensor<2x4x3x3xf32>
  %m = sinter.mul %r, %sb : tensor<2x4x3x3xf32>
  %bb = sinter.broadcast %bias dims [1] : tensor<4xf32> -> tensor<2x4x3x3xf32>
  %y = sinter.add %m, %bb : tensor<2x4x3x3xf32>
  return %y : tensor<2x4x3x3xf32>
}

// -----

// CHECK-LABEL: @attention
// CHECK: sinter.attention %arg0, %arg1, %arg2, %arg3 {scale = 5.000000e-01 : f64}
// CHECK-NEXT: return
func.func @attention(%q: tensor<2x3x4xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x6xf32>,
                     %mask: tensor<2x3x5xf32>) -> tensor<2x3x6xf32> {
  %half = sinter.constant dense<0.5> : tensor<2x3x5xf32>
  %s = sinter.dot_general %q, %k batch [0] x [0] contract [2] x [2]
    : (tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32>
  %t = sinter.mul %s, %half : tensor<2x3x5xf32>
  %m = sinter.add %t, %mask : tensor<2x3x5xf32>
  %p = sinter.softmax %m {axis = 2 : i64} : tensor<2x3x5xf32>
  %y = sinter.dot_general %p, %v batch [0] x [0] contract [2] x [1]
    : (tensor<2x3x5xf32>, tensor<2x5x6xf32>) -> tensor<2x3x6xf32>
  return %y : tensor<2x3x6xf32>
}

// -----

// A scale of the queries or keys becomes that of their products if it is near 1; float16 keeps it in front.
// CHECK-LABEL: @attention_of_scaled
// CHECK: %[[FAR:.*]] = sinter.mul %arg1,
// CHECK: sinter.attention %arg0, %[[FAR]], %arg2 {scale = 1.250000e-01 : f64}
// KEEP-LABEL: @attention_of_scaled
// KEEP-DAG: %[[NEAR:.*]] = sinter.mul %arg0,
// KEEP-DAG: %[[FAR:.*]] = sinter.mul %arg1,
// KEEP: sinter.attention %[[NEAR]], %[[FAR]], %arg2 {scale = 1.000000e+00 : f64}
func.func @attention_of_scaled(%q: tensor<2x3x4xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x6xf32>) -> tensor<2x3x6xf32> {
  %eighth = sinter.constant dense<0.125> : tensor<2x3x4xf32>
  %tiny = sinter.constant dense<1.0e-10> : tensor<2x5x4xf32>
  %qs = sinter.mul %q, %eighth : tensor<2x3x4xf32>
  %ks = sinter.mul %k, %tiny : tensor<2x5x4xf32>
  %s = sinter.dot_general %qs, %ks batch [0] x [0] contract [2] x [2]
    : (tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32>
  %p = sinter.softmax %s {axis = 2 : i64} : tensor<2x3x5xf32>
  %y = sinter.dot_general %p, %v batch [0] x [0] contract [2] x [1]
    : (tensor<2x3x5xf32>, tensor<2x5x6xf32>) -> tensor<2x3x6xf32>
  return %y : tensor<2x3x6xf32>
}

// -----

// The probabilities are a result of their own.
// CHECK-LABEL: @attention_with_used_probabilities_stays
// CHECK-NOT: sinter.attention
// CHECK: return
func.func @attention_with_used_probabilities_stays(%q: tensor<2x3x4xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x6xf32>) -> (tensor<2x3x6xf32>, tensor<2x3x5xf32>) {
  %s = sinter.dot_general %q, %k batch [0] x [0] contract [2] x [2]
    : (tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32>
  %p = sinter.softmax %s {axis = 2 : i64} : tensor<2x3x5xf32>
  %y = sinter.dot_general %p, %v batch [0] x [0] contract [2] x [1]
    : (tensor<2x3x5xf32>, tensor<2x5x6xf32>) -> tensor<2x3x6xf32>
  return %y, %p : tensor<2x3x6xf32>, tensor<2x3x5xf32>
}

// -----

// Heads that a projection left in the hidden dimension; the mask is a constant, added or chosen.
// CHECK-LABEL: @attention_causal
// CHECK: %[[Q:.*]] = sinter.transpose %arg0 perm [0, 2, 1, 3]
// CHECK: %[[K:.*]] = sinter.transpose %arg1 perm [0, 2, 1, 3]
// CHECK: %[[V:.*]] = sinter.transpose %arg2 perm [0, 2, 1, 3]
// CHECK: sinter.attention %[[Q]], %[[K]], %[[V]] {causal, scale = 1.250000e-01 : f64}
// CHECK: sinter.attention %[[K]], %[[Q]], %[[V]] {causal, scale = 1.000000e+00 : f64}
func.func @attention_causal(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x4x8xf32>, %v: tensor<2x3x4x8xf32>)
    -> (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) {
  %eight = sinter.constant dense<8.0> : tensor<2x4x3x3xf32>
  %lowest = sinter.constant dense<-1.0e4> : tensor<2x4x3x3xf32>
  %below = sinter.constant dense<[[true, false, false], [true, true, false], [true, true, true]]> : tensor<3x3xi1>
  %condition = sinter.broadcast %below dims [2, 3] : tensor<3x3xi1> -> tensor<2x4x3x3xi1>
  %s = sinter.dot_general %q, %k batch [0, 2] x [0, 2] contract [3] x [3]
    : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> tensor<2x4x3x3xf32>
  %t = sinter.div %s, %eight : tensor<2x4x3x3xf32>
  %m = sinter.where %condition, %t, %lowest : tensor<2x4x3x3xi1>, tensor<2x4x3x3xf32>
  %p = sinter.softmax %m {axis = 3 : i64} : tensor<2x4x3x3xf32>
  %y = sinter.dot_general %p, %v batch [0, 1] x [0, 2] contract [3] x [1]
    : (tensor<2x4x3x3xf32>, tensor<2x3x4x8xf32>) -> tensor<2x4x3x8xf32>
  %added = sinter.constant dense<[[0.0, 0xFF800000, 0xFF800000], [0.0, 0.0, 0xFF800000], [0.0, 0.0, 0.0]]> : tensor<3x3xf32>
  %mask = sinter.broadcast %added dims [2, 3] : tensor<3x3xf32> -> tensor<2x4x3x3xf32>
  %s2 = sinter.dot_general %k, %q batch [0, 2] x [0, 2] contract [3] x [3]
    : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> tensor<2x4x3x3xf32>
  %m2 = sinter.add %mask, %s2 : tensor<2x4x3x3xf32>
  %p2 = sinter.softmax %m2 {axis = 3 : i64} : tensor<2x4x3x3xf32>
  %y2 = sinter.dot_general %p2, %v batch [0, 1] x [0, 2] contract [3] x [1]
    : (tensor<2x4x3x3xf32>, tensor<2x3x4x8xf32>) -> tensor<2x4x3x8xf32>
  return %y, %y2 : tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>
}

// -----

// Larger masks stay comparisons of positions: torch.triu(.., 1) of -inf, and key <= query of arange.
// CHECK-LABEL: @attention_causal_of_positions
// CHECK: sinter.attention %arg0, %arg1, %arg2 {causal, scale = 1.000000e+00 : f64}
// CHECK: sinter.attention %arg1, %arg0, %arg2 {causal, scale = 1.000000e+00 : f64}
// CHECK-NOT: sinter.attention
// CHECK: return
func.func @attention_causal_of_positions(%q: tensor<2x64x8xf32>, %k: tensor<2x64x8xf32>, %v: tensor<2x64x8xf32>)
    -> (tensor<2x64x8xf32>, tensor<2x64x8xf32>) {
  %zero = sinter.constant dense<0.0> : tensor<64x64xf32>
  %one = sinter.constant dense<1> : tensor<64x64xi64>
  %lowest = sinter.constant dense<0xFF800000> : tensor<64x64xf32>
  %row = sinter.iota {axis = 0 : i64} : tensor<64x64xi64>
  %column = sinter.iota {axis = 1 : i64} : tensor<64x64xi64>
  %diagonal = sinter.add %row, %one : tensor<64x64xi64>
  %beyond = sinter.compare ge %column, %diagonal : tensor<64x64xi64>
  %added = sinter.where %beyond, %lowest, %zero : tensor<64x64xi1>, tensor<64x64xf32>
  %mask = sinter.broadcast %added dims [1, 2] : tensor<64x64xf32> -> tensor<2x64x64xf32>
  %s = sinter.dot_general %q, %k batch [0] x [0] contract [2] x [2]
    : (tensor<2x64x8xf32>, tensor<2x64x8xf32>) -> tensor<2x64x64xf32>
  %m = sinter.add %s, %mask : tensor<2x64x64xf32>
  %p = sinter.softmax %m {axis = 2 : i64} : tensor<2x64x64xf32>
  %y = sinter.dot_general %p, %v batch [0] x [0] contract [2] x [1]
    : (tensor<2x64x64xf32>, tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  %range = sinter.iota {axis = 0 : i64} : tensor<64xi64>
  %queries = sinter.broadcast %range dims [0] : tensor<64xi64> -> tensor<64x64xi64>
  %keys = sinter.broadcast %range dims [1] : tensor<64xi64> -> tensor<64x64xi64>
  %counts = sinter.compare le %keys, %queries : tensor<64x64xi64>
  %condition = sinter.broadcast %counts dims [1, 2] : tensor<64x64xi1> -> tensor<2x64x64xi1>
  %least = sinter.constant dense<-1.0e4> : tensor<2x64x64xf32>
  %s2 = sinter.dot_general %k, %q batch [0] x [0] contract [2] x [2]
    : (tensor<2x64x8xf32>, tensor<2x64x8xf32>) -> tensor<2x64x64xf32>
  %m2 = sinter.where %condition, %s2, %least : tensor<2x64x64xi1>, tensor<2x64x64xf32>
  %p2 = sinter.softmax %m2 {axis = 2 : i64} : tensor<2x64x64xf32>
  %y2 = sinter.dot_general %p2, %v batch [0] x [0] contract [2] x [1]
    : (tensor<2x64x64xf32>, tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  return %y, %y2 : tensor<2x64x8xf32>, tensor<2x64x8xf32>
}

// -----

// triu(.., 0) masks the query's own position too, key < query as well; rows and columns exchanged mask earlier keys.
// CHECK-LABEL: @attention_other_positions
// CHECK-NOT: causal
// CHECK-COUNT-2: sinter.attention
// CHECK-NOT: causal
// CHECK: return
func.func @attention_other_positions(%q: tensor<2x64x8xf32>, %k: tensor<2x64x8xf32>, %v: tensor<2x64x8xf32>)
    -> (tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<2x64x8xf32>) {
  %zero = sinter.constant dense<0.0> : tensor<64x64xf32>
  %lowest = sinter.constant dense<-1.0e30> : tensor<64x64xf32>
  %row = sinter.iota {axis = 0 : i64} : tensor<64x64xi64>
  %column = sinter.iota {axis = 1 : i64} : tensor<64x64xi64>
  %s = sinter.dot_general %q, %k batch [0] x [0] contract [2] x [2]
    : (tensor<2x64x8xf32>, tensor<2x64x8xf32>) -> tensor<2x64x64xf32>
  %ge = sinter.compare ge %column, %row : tensor<64x64xi64>
  %added = sinter.where %ge, %lowest, %zero : tensor<64x64xi1>, tensor<64x64xf32>
  %mask = sinter.broadcast %added dims [1, 2] : tensor<64x64xf32> -> tensor<2x64x64xf32>
  %m = sinter.add %s, %mask : tensor<2x64x64xf32>
  %p = sinter.softmax %m {axis = 2 : i64} : tensor<2x64x64xf32>
  %y = sinter.dot_general %p, %v batch [0] x [0] contract [2] x [1]
    : (tensor<2x64x64xf32>, tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  %added2 = sinter.where %ge, %zero, %lowest : tensor<64x64xi1>, tensor<64x64xf32>
  %mask2 = sinter.broadcast %added2 dims [1, 2] : tensor<64x64xf32> -> tensor<2x64x64xf32>
  %s2 = sinter.dot_general %k, %q batch [0] x [0] contract [2] x [2]
    : (tensor<2x64x8xf32>, tensor<2x64x8xf32>) -> tensor<2x64x64xf32>
  %m2 = sinter.add %s2, %mask2 : tensor<2x64x64xf32>
  %p2 = sinter.softmax %m2 {axis = 2 : i64} : tensor<2x64x64xf32>
  %y2 = sinter.dot_general %p2, %v batch [0] x [0] contract [2] x [1]
    : (tensor<2x64x64xf32>, tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  %lt = sinter.compare lt %column, %row : tensor<64x64xi64>
  %condition = sinter.broadcast %lt dims [1, 2] : tensor<64x64xi1> -> tensor<2x64x64xi1>
  %least = sinter.constant dense<-1.0e4> : tensor<2x64x64xf32>
  %s3 = sinter.dot_general %v, %q batch [0] x [0] contract [2] x [2]
    : (tensor<2x64x8xf32>, tensor<2x64x8xf32>) -> tensor<2x64x64xf32>
  %m3 = sinter.where %condition, %s3, %least : tensor<2x64x64xi1>, tensor<2x64x64xf32>
  %p3 = sinter.softmax %m3 {axis = 2 : i64} : tensor<2x64x64xf32>
  %y3 = sinter.dot_general %p3, %v batch [0] x [0] contract [2] x [1]
    : (tensor<2x64x64xf32>, tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  return %y, %y2, %y3 : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<2x64x8xf32>
}

// -----

// -5 is no "masked", and a window is not causal.
// CHECK-LABEL: @attention_other_masks
// CHECK-NOT: causal
// CHECK: sinter.attention %arg0, %arg1, %arg2, %{{.*}} {scale = 1.000000e+00 : f64}
// CHECK-NOT: sinter.attention
// CHECK: return
func.func @attention_other_masks(%q: tensor<2x3x8xf32>, %k: tensor<2x3x8xf32>, %v: tensor<2x3x8xf32>)
    -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  %added = sinter.constant dense<[[0.0, -5.0, -5.0], [0.0, 0.0, -5.0], [0.0, 0.0, 0.0]]> : tensor<3x3xf32>
  %mask = sinter.broadcast %added dims [1, 2] : tensor<3x3xf32> -> tensor<2x3x3xf32>
  %s = sinter.dot_general %q, %k batch [0] x [0] contract [2] x [2]
    : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x3xf32>
  %m = sinter.add %mask, %s : tensor<2x3x3xf32>
  %p = sinter.softmax %m {axis = 2 : i64} : tensor<2x3x3xf32>
  %y = sinter.dot_general %p, %v batch [0] x [0] contract [2] x [1]
    : (tensor<2x3x3xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %window = sinter.constant dense<[[true, false, false], [true, true, false], [false, true, true]]> : tensor<3x3xi1>
  %condition = sinter.broadcast %window dims [1, 2] : tensor<3x3xi1> -> tensor<2x3x3xi1>
  %lowest = sinter.constant dense<-1.0e4> : tensor<2x3x3xf32>
  %s2 = sinter.dot_general %k, %q batch [0] x [0] contract [2] x [2]
    : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x3xf32>
  %m2 = sinter.where %condition, %s2, %lowest : tensor<2x3x3xi1>, tensor<2x3x3xf32>
  %p2 = sinter.softmax %m2 {axis = 2 : i64} : tensor<2x3x3xf32>
  %y2 = sinter.dot_general %p2, %v batch [0] x [0] contract [2] x [1]
    : (tensor<2x3x3xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  return %y, %y2 : tensor<2x3x8xf32>, tensor<2x3x8xf32>
}

// -----

// Must not fire: where a row keeps nothing, no gradient may go to its scores.
// CHECK-LABEL: @attention_chosen
// CHECK-NOT: sinter.attention
// CHECK: return
func.func @attention_chosen(%q: tensor<2x4x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x8xf32>,
                            %isKept: tensor<2x4x5xi1>) -> tensor<2x4x8xf32> {
  %s = sinter.dot_general %q, %k batch [0] x [0] contract [2] x [2]
    : (tensor<2x4x8xf32>, tensor<2x5x8xf32>) -> tensor<2x4x5xf32>
  %lowest = sinter.constant dense<-3.40282347E+38> : tensor<2x4x5xf32>
  %m = sinter.where %isKept, %s, %lowest : tensor<2x4x5xi1>, tensor<2x4x5xf32>
  %p = sinter.softmax %m {axis = 2 : i64} : tensor<2x4x5xf32>
  %y = sinter.dot_general %p, %v batch [0] x [0] contract [2] x [1]
    : (tensor<2x4x5xf32>, tensor<2x5x8xf32>) -> tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// One position that is repeated: a key counts where it is the first.
// CHECK-LABEL: @attention_repeated_position
// CHECK-NOT: causal
func.func @attention_repeated_position(%q: tensor<2x64x8xf32>, %k: tensor<2x64x8xf32>, %v: tensor<2x64x8xf32>)
    -> tensor<2x64x8xf32> {
  %i0 = sinter.iota {axis = 0 : i64} : tensor<1x64xi64>
  %i = sinter.broadcast %i0 dims [0, 1] : tensor<1x64xi64> -> tensor<64x64xi64>
  %j = sinter.iota {axis = 1 : i64} : tensor<64x64xi64>
  %c = sinter.compare ge %i, %j : tensor<64x64xi64>
  %least = sinter.constant dense<-1.0e30> : tensor<2x64x64xf32>
  %s = sinter.dot_general %q, %k batch [0] x [0] contract [2] x [2] : (tensor<2x64x8xf32>, tensor<2x64x8xf32>) -> tensor<2x64x64xf32>
  %b = sinter.broadcast %c dims [1, 2] : tensor<64x64xi1> -> tensor<2x64x64xi1>
  %m = sinter.where %b, %s, %least : tensor<2x64x64xi1>, tensor<2x64x64xf32>
  %p = sinter.softmax %m {axis = 2 : i64} : tensor<2x64x64xf32>
  %y = sinter.dot_general %p, %v batch [0] x [0] contract [2] x [1] : (tensor<2x64x64xf32>, tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  return %y : tensor<2x64x8xf32>
}

// Sums of sums are not read to their end.
// CHECK-LABEL: @attention_doubled_positions
// CHECK-NOT: causal
func.func @attention_doubled_positions(%q: tensor<2x64x8xf32>, %k: tensor<2x64x8xf32>, %v: tensor<2x64x8xf32>)
    -> tensor<2x64x8xf32> {
  %i0 = sinter.iota {axis = 0 : i64} : tensor<64x64xi64>
  %j = sinter.iota {axis = 1 : i64} : tensor<64x64xi64>
  %i1 = sinter.add %i0, %i0 : tensor<64x64xi64>
  %i2 = sinter.add %i1, %i1 : tensor<64x64xi64>
  %i3 = sinter.add %i2, %i2 : tensor<64x64xi64>
  %i4 = sinter.add %i3, %i3 : tensor<64x64xi64>
  %i5 = sinter.add %i4, %i4 : tensor<64x64xi64>
  %i6 = sinter.add %i5, %i5 : tensor<64x64xi64>
  %i7 = sinter.add %i6, %i6 : tensor<64x64xi64>
  %i8 = sinter.add %i7, %i7 : tensor<64x64xi64>
  %i9 = sinter.add %i8, %i8 : tensor<64x64xi64>
  %i10 = sinter.add %i9, %i9 : tensor<64x64xi64>
  %i11 = sinter.add %i10, %i10 : tensor<64x64xi64>
  %i12 = sinter.add %i11, %i11 : tensor<64x64xi64>
  %i13 = sinter.add %i12, %i12 : tensor<64x64xi64>
  %i14 = sinter.add %i13, %i13 : tensor<64x64xi64>
  %i15 = sinter.add %i14, %i14 : tensor<64x64xi64>
  %i16 = sinter.add %i15, %i15 : tensor<64x64xi64>
  %i17 = sinter.add %i16, %i16 : tensor<64x64xi64>
  %i18 = sinter.add %i17, %i17 : tensor<64x64xi64>
  %i19 = sinter.add %i18, %i18 : tensor<64x64xi64>
  %i20 = sinter.add %i19, %i19 : tensor<64x64xi64>
  %i21 = sinter.add %i20, %i20 : tensor<64x64xi64>
  %i22 = sinter.add %i21, %i21 : tensor<64x64xi64>
  %i23 = sinter.add %i22, %i22 : tensor<64x64xi64>
  %i24 = sinter.add %i23, %i23 : tensor<64x64xi64>
  %i25 = sinter.add %i24, %i24 : tensor<64x64xi64>
  %i26 = sinter.add %i25, %i25 : tensor<64x64xi64>
  %i27 = sinter.add %i26, %i26 : tensor<64x64xi64>
  %i28 = sinter.add %i27, %i27 : tensor<64x64xi64>
  %i29 = sinter.add %i28, %i28 : tensor<64x64xi64>
  %i30 = sinter.add %i29, %i29 : tensor<64x64xi64>
  %i31 = sinter.add %i30, %i30 : tensor<64x64xi64>
  %i32 = sinter.add %i31, %i31 : tensor<64x64xi64>
  %i33 = sinter.add %i32, %i32 : tensor<64x64xi64>
  %i34 = sinter.add %i33, %i33 : tensor<64x64xi64>
  %i35 = sinter.add %i34, %i34 : tensor<64x64xi64>
  %i36 = sinter.add %i35, %i35 : tensor<64x64xi64>
  %c = sinter.compare ge %i36, %j : tensor<64x64xi64>
  %least = sinter.constant dense<-1.0e30> : tensor<2x64x64xf32>
  %s = sinter.dot_general %q, %k batch [0] x [0] contract [2] x [2] : (tensor<2x64x8xf32>, tensor<2x64x8xf32>) -> tensor<2x64x64xf32>
  %b = sinter.broadcast %c dims [1, 2] : tensor<64x64xi1> -> tensor<2x64x64xi1>
  %m = sinter.where %b, %s, %least : tensor<2x64x64xi1>, tensor<2x64x64xf32>
  %p = sinter.softmax %m {axis = 2 : i64} : tensor<2x64x64xf32>
  %y = sinter.dot_general %p, %v batch [0] x [0] contract [2] x [1] : (tensor<2x64x64xf32>, tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  return %y : tensor<2x64x8xf32>
}

// -----

// CHECK-LABEL: @log_of_sigmoid
// CHECK-NOT: sinter.sigmoid
// CHECK-COUNT-2: sinter.log1p
func.func @log_of_sigmoid(%x: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = sinter.constant dense<1.0> : tensor<4xf32>
  %s = sinter.sigmoid %x : tensor<4xf32>
  %y = sinter.log %s : tensor<4xf32>
  %t = sinter.sigmoid %z : tensor<4xf32>
  %u = sinter.sub %one, %t : tensor<4xf32>
  %w = sinter.log %u : tensor<4xf32>
  return %y, %w : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @log_of_a_sum_of_exponentials
// CHECK-NOT: sinter.log %
// CHECK: sinter.log1p
// CHECK: sinter.max
func.func @log_of_a_sum_of_exponentials(%x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %a = sinter.exp %x : tensor<4xf32>
  %b = sinter.exp %z : tensor<4xf32>
  %s = sinter.add %a, %b : tensor<4xf32>
  %y = sinter.log %s : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A composite remembers which node each of its parts is. Its decomposition gives each op its own.
// CHECK-LABEL: @parts_of_attention
// CHECK: sinter.attention
// PARTS-LABEL: @parts_of_attention
// PARTS: sinter.dot_general %arg0, %arg1 {{.*}} loc("QK")
// PARTS: sinter.mul {{.*}} loc("Scale")
// PARTS: sinter.add {{.*}} loc("Mask")
// PARTS: sinter.reduce max {{.*}} loc("Max")
// PARTS: sinter.sub {{.*}} loc("Sub")
// PARTS: sinter.exp {{.*}} loc("Exp")
// PARTS: sinter.reduce sum {{.*}} loc("Sum")
// PARTS: sinter.div {{.*}} loc("Div")
// PARTS: sinter.dot_general {{.*}} loc("PV")
func.func @parts_of_attention(%q: tensor<2x3x4xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x6xf32>,
                              %mask: tensor<2x3x5xf32>) -> tensor<2x3x6xf32> {
  %half = sinter.constant dense<0.5> : tensor<2x3x5xf32>
  %s = sinter.dot_general %q, %k batch [0] x [0] contract [2] x [2]
    : (tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32> loc("QK")
  %t = sinter.mul %s, %half : tensor<2x3x5xf32> loc("Scale")
  %m = sinter.add %t, %mask : tensor<2x3x5xf32> loc("Mask")
  %max = sinter.reduce max %m dims [2] : (tensor<2x3x5xf32>) -> tensor<2x3xf32> loc("Max")
  %maxes = sinter.broadcast %max dims [0, 1] : tensor<2x3xf32> -> tensor<2x3x5xf32> loc("Max")
  %d = sinter.sub %m, %maxes : tensor<2x3x5xf32> loc("Sub")
  %e = sinter.exp %d : tensor<2x3x5xf32> loc("Exp")
  %sum = sinter.reduce sum %e dims [2] : (tensor<2x3x5xf32>) -> tensor<2x3xf32> loc("Sum")
  %sums = sinter.broadcast %sum dims [0, 1] : tensor<2x3xf32> -> tensor<2x3x5xf32> loc("Sum")
  %p = sinter.div %e, %sums : tensor<2x3x5xf32> loc("Div")
  %y = sinter.dot_general %p, %v batch [0] x [0] contract [2] x [1]
    : (tensor<2x3x5xf32>, tensor<2x5x6xf32>) -> tensor<2x3x6xf32> loc("PV")
  return %y : tensor<2x3x6xf32>
}

// -----

// CHECK-LABEL: @parts_of_gelu
// CHECK: sinter.gelu
// PARTS-LABEL: @parts_of_gelu
// PARTS-DAG: sinter.mul %arg0, {{.*}} loc("Scale")
// PARTS-DAG: sinter.erf {{.*}} loc("Erf")
// PARTS-DAG: sinter.add {{.*}} loc("Add")
// PARTS-DAG: sinter.mul %arg0, {{.*}} loc(fused["Half", "Mul"])
// PARTS: sinter.mul {{.*}} loc(fused["Half", "Mul"])
func.func @parts_of_gelu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %root = sinter.constant dense<1.41421354> : tensor<4x8xf32>
  %one = sinter.constant dense<1.0> : tensor<4x8xf32>
  %half = sinter.constant dense<0.5> : tensor<4x8xf32>
  %s = sinter.div %x, %root : tensor<4x8xf32> loc("Scale")
  %e = sinter.erf %s : tensor<4x8xf32> loc("Erf")
  %a = sinter.add %e, %one : tensor<4x8xf32> loc("Add")
  %m = sinter.mul %x, %a : tensor<4x8xf32> loc("Mul")
  %y = sinter.mul %m, %half : tensor<4x8xf32> loc("Half")
  return %y : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: @parts_of_layer_norm
// CHECK: sinter.layer_norm
// PARTS-LABEL: @parts_of_layer_norm
// PARTS: sinter.reduce sum %arg0 {{.*}} loc("Mean")
// PARTS: sinter.sub {{.*}} loc("Sub")
// PARTS: sinter.mul {{.*}} loc("Square")
// PARTS: sinter.reduce sum {{.*}} loc("Variance")
// PARTS: sinter.add {{.*}} loc("Epsilon")
// PARTS: sinter.rsqrt {{.*}} loc("Sqrt")
// PARTS: sinter.mul {{.*}} loc("Div")
// PARTS: sinter.mul {{.*}} loc("Scale")
// PARTS: sinter.add {{.*}} loc("Bias")
func.func @parts_of_layer_norm(%x: tensor<3x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<3x8xf32> {
  %count = sinter.constant dense<8.0> : tensor<3xf32>
  %eps = sinter.constant dense<1.0e-5> : tensor<3xf32>
  %s = sinter.reduce sum %x dims [1] : (tensor<3x8xf32>) -> tensor<3xf32> loc("Mean")
  %mean = sinter.div %s, %count : tensor<3xf32> loc("Mean")
  %means = sinter.broadcast %mean dims [0] : tensor<3xf32> -> tensor<3x8xf32> loc("Mean")
  %d = sinter.sub %x, %means : tensor<3x8xf32> loc("Sub")
  %dd = sinter.mul %d, %d : tensor<3x8xf32> loc("Square")
  %v = sinter.reduce sum %dd dims [1] : (tensor<3x8xf32>) -> tensor<3xf32> loc("Variance")
  %var = sinter.div %v, %count : tensor<3xf32> loc("Variance")
  %ve = sinter.add %var, %eps : tensor<3xf32> loc("Epsilon")
  %r = sinter.sqrt %ve : tensor<3xf32> loc("Sqrt")
  %rs = sinter.broadcast %r dims [0] : tensor<3xf32> -> tensor<3x8xf32> loc("Sqrt")
  %n = sinter.div %d, %rs : tensor<3x8xf32> loc("Div")
  %scales = sinter.broadcast %scale dims [1] : tensor<8xf32> -> tensor<3x8xf32> loc("Scale")
  %biases = sinter.broadcast %bias dims [1] : tensor<8xf32> -> tensor<3x8xf32> loc("Bias")
  %ns = sinter.mul %n, %scales : tensor<3x8xf32> loc("Scale")
  %y = sinter.add %ns, %biases : tensor<3x8xf32> loc("Bias")
  return %y : tensor<3x8xf32>
}
