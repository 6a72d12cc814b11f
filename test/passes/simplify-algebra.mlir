// RUN: sinter-opt %s --sinter-simplify-algebra --split-input-file | FileCheck %s
// RUN: sinter-opt %s --sinter-simplify-algebra --split-input-file --mlir-print-debuginfo \
// RUN:   | FileCheck %s --check-prefix=LOC
// RUN: sinter-opt %s --sinter-simplify-algebra=keep-derivatives --split-input-file \
// RUN:   | FileCheck %s --check-prefix=KEEP

// CHECK-LABEL: @divide_by_power_of_two
// CHECK: %[[C:.*]] = sinter.constant dense<1.250000e-01>
// CHECK: sinter.mul %{{.*}}, %[[C]]
func.func @divide_by_power_of_two(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = sinter.constant dense<8.0> : tensor<4xf32>
  %y = sinter.div %x, %c : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// 1/3 is not exact.
// CHECK-LABEL: @divide_by_three_stays
// CHECK: sinter.div
func.func @divide_by_three_stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = sinter.constant dense<3.0> : tensor<4xf32>
  %y = sinter.div %x, %c : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @powers_of_two_merge
// CHECK: %[[C:.*]] = sinter.constant dense<8.0{{0*}}e+00>
// CHECK: %[[Y:.*]] = sinter.mul %{{.*}}, %[[C]]
// CHECK-NEXT: return %[[Y]]
func.func @powers_of_two_merge(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = sinter.constant dense<2.0> : tensor<4xf32>
  %four = sinter.constant dense<4.0> : tensor<4xf32>
  %a = sinter.mul %x, %two : tensor<4xf32>
  %y = sinter.mul %a, %four : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Multiplication of floats is not associative.
// CHECK-LABEL: @other_factors_stay
// CHECK-COUNT-2: sinter.mul
func.func @other_factors_stay(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = sinter.constant dense<0.1> : tensor<4xf32>
  %four = sinter.constant dense<0.3> : tensor<4xf32>
  %a = sinter.mul %x, %two : tensor<4xf32>
  %y = sinter.mul %a, %four : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @integer_self_difference
// CHECK: %[[C:.*]] = sinter.constant dense<0> : tensor<4xi32>
// CHECK-NEXT: return %[[C]]
func.func @integer_self_difference(%x: tensor<4xi32>) -> tensor<4xi32> {
  %y = sinter.sub %x, %x : tensor<4xi32>
  return %y : tensor<4xi32>
}

// -----

// inf - inf is NaN.
// CHECK-LABEL: @float_self_difference_stays
// CHECK: sinter.sub
func.func @float_self_difference_stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = sinter.sub %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @max_with_zero_is_relu
// CHECK: sinter.relu
// CHECK-NOT: sinter.max
func.func @max_with_zero_is_relu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = sinter.constant dense<0.0> : tensor<4xf32>
  %y = sinter.max %x, %zero : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @bounds_merge
// CHECK-DAG: %[[LOW:.*]] = sinter.constant dense<1.0{{0*}}e+00>
// CHECK: sinter.max %{{.*}}, %[[LOW]]
// CHECK-NOT: sinter.max
func.func @bounds_merge(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = sinter.constant dense<-1.0> : tensor<4xf32>
  %b = sinter.constant dense<1.0> : tensor<4xf32>
  %l = sinter.max %x, %a : tensor<4xf32>
  %y = sinter.max %l, %b : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @square
// CHECK: sinter.mul %[[X:.*]], %[[X]]
func.func @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = sinter.constant dense<2.0> : tensor<4xf32>
  %y = sinter.pow %x, %two : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @lossless_cast_goes
// CHECK-NEXT: return %arg0
func.func @lossless_cast_goes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = sinter.cast %x : tensor<4xf32> -> tensor<4xf64>
  %y = sinter.cast %a : tensor<4xf64> -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @rounding_cast_stays
// CHECK-COUNT-2: sinter.cast
func.func @rounding_cast_stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = sinter.cast %x : tensor<4xf32> -> tensor<4xf16>
  %y = sinter.cast %a : tensor<4xf16> -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A float saturates where an integer wraps.
// CHECK-LABEL: @cast_through_float_stays
// CHECK-COUNT-2: sinter.cast
func.func @cast_through_float_stays(%x: tensor<4xi32>) -> tensor<4xi8> {
  %a = sinter.cast %x : tensor<4xi32> -> tensor<4xf64>
  %y = sinter.cast %a : tensor<4xf64> -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

// CHECK-LABEL: @moves_cancel_around_elementwise
// CHECK-NEXT: %[[Y:.*]] = sinter.exp %arg0 : tensor<2x3xf32>
// CHECK-NEXT: return %[[Y]]
func.func @moves_cancel_around_elementwise(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = sinter.transpose %x perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %b = sinter.exp %a : tensor<3x2xf32>
  %y = sinter.transpose %b perm [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// The value between them has another user.
// CHECK-LABEL: @moves_with_other_users_stay
// CHECK-COUNT-2: sinter.transpose
func.func @moves_with_other_users_stay(%x: tensor<2x3xf32>, %z: tensor<3x2xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>) {
  %a = sinter.transpose %x perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %b = sinter.mul %a, %z : tensor<3x2xf32>
  %y = sinter.transpose %b perm [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  return %y, %b : tensor<2x3xf32>, tensor<3x2xf32>
}

// -----

// The scaling of queries comes before they are divided among heads.
// CHECK-LABEL: @compute_before_move
// CHECK: %[[S:.*]] = sinter.slice
// CHECK: %[[D:.*]] = sinter.div %[[S]], %{{.*}} : tensor<5x24xf32>
// CHECK: %[[R:.*]] = sinter.reshape %[[D]]
// CHECK: sinter.transpose %[[R]]
func.func @compute_before_move(%x: tensor<5x72xf32>) -> tensor<3x5x8xf32> {
  %c = sinter.constant dense<3.0> : tensor<3x5x8xf32>
  %q = sinter.slice %x starts [0, 0] limits [5, 24] strides [1, 1] : (tensor<5x72xf32>) -> tensor<5x24xf32>
  %r = sinter.reshape %q : tensor<5x24xf32> -> tensor<5x3x8xf32>
  %t = sinter.transpose %r perm [1, 0, 2] : (tensor<5x3x8xf32>) -> tensor<3x5x8xf32>
  %y = sinter.div %t, %c : tensor<3x5x8xf32>
  return %y : tensor<3x5x8xf32>
}

// -----

// What is stored anyway is not computed on before its reshape.
// CHECK-LABEL: @compute_after_reshape_of_input
// CHECK: sinter.reshape %arg0
// CHECK: sinter.exp
func.func @compute_after_reshape_of_input(%x: tensor<5x24xf32>) -> tensor<5x3x8xf32> {
  %r = sinter.reshape %x : tensor<5x24xf32> -> tensor<5x3x8xf32>
  %y = sinter.exp %r : tensor<5x3x8xf32>
  return %y : tensor<5x3x8xf32>
}

// -----

// CHECK-LABEL: @compute_before_broadcast
// CHECK: sinter.rsqrt %{{.*}} : tensor<4xf32>
// CHECK: sinter.broadcast
func.func @compute_before_broadcast(%x: tensor<4xf32>) -> tensor<4x8xf32> {
  %a = sinter.broadcast %x dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %eps = sinter.constant dense<1.0e-5> : tensor<4x8xf32>
  %b = sinter.add %a, %eps : tensor<4x8xf32>
  %y = sinter.rsqrt %b : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: @kept_dimension_of_a_reduction
// CHECK: %[[S:.*]] = sinter.reduce sum
// CHECK-NEXT: sinter.broadcast %[[S]] dims [0] : tensor<4xf32> -> tensor<4x8xf32>
func.func @kept_dimension_of_a_reduction(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = sinter.reduce sum %x dims [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %k = sinter.reshape %s : tensor<4xf32> -> tensor<4x1xf32>
  %y = sinter.broadcast %k dims [0, 1] : tensor<4x1xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: @gather_of_one_row
// CHECK: %[[S:.*]] = sinter.slice %arg0 starts [0, 2, 0] limits [4, 3, 8]
// CHECK: sinter.reshape %[[S]]
// CHECK-NOT: sinter.gather
func.func @gather_of_one_row(%x: tensor<4x5x8xf32>) -> tensor<4x8xf32> {
  %i = sinter.constant dense<2> : tensor<i64>
  %y = sinter.gather %x, %i axis 1 : (tensor<4x5x8xf32>, tensor<i64>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// As exporters write as_strided.
// CHECK-LABEL: @gather_of_transpose
// CHECK: %[[R:.*]] = sinter.reshape %arg0 : tensor<24xf32> -> tensor<2x3x4xf32>
// CHECK-NEXT: %[[T:.*]] = sinter.transpose %[[R]] perm [0, 2, 1]
// CHECK-NEXT: return %[[T]]
func.func @gather_of_transpose(%x: tensor<24xf32>) -> tensor<2x4x3xf32> {
  %i = sinter.constant dense<[[[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]],
                              [[12, 16, 20], [13, 17, 21], [14, 18, 22], [15, 19, 23]]]> : tensor<2x4x3xi64>
  %y = sinter.gather %x, %i axis 0 : (tensor<24xf32>, tensor<2x4x3xi64>) -> tensor<2x4x3xf32>
  return %y : tensor<2x4x3xf32>
}

// -----

// The columns 1 and 3 of three rows of five, in reverse order.
// CHECK-LABEL: @gather_of_slice
// CHECK: sinter.slice
// CHECK: sinter.reverse
// CHECK-NOT: sinter.gather
func.func @gather_of_slice(%x: tensor<2x16xf32>) -> tensor<2x3x2xf32> {
  %i = sinter.constant dense<[[3, 1], [8, 6], [13, 11]]> : tensor<3x2xi64>
  %y = sinter.gather %x, %i axis 1 : (tensor<2x16xf32>, tensor<3x2xi64>) -> tensor<2x3x2xf32>
  return %y : tensor<2x3x2xf32>
}

// -----

// CHECK-LABEL: @gather_of_broadcast
// CHECK: %[[S:.*]] = sinter.slice %arg0 starts [2] limits [5]
// CHECK: sinter.broadcast %[[S]] dims [1] : tensor<3xf32> -> tensor<2x3xf32>
// CHECK-NOT: sinter.gather
func.func @gather_of_broadcast(%x: tensor<16xf32>) -> tensor<2x3xf32> {
  %i = sinter.constant dense<[[2, 3, 4], [2, 3, 4]]> : tensor<2x3xi64>
  %y = sinter.gather %x, %i axis 0 : (tensor<16xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// Windows overlap, those of two rows do not.
// CHECK-LABEL: @gather_in_rows
// CHECK: %[[I:.*]] = sinter.constant dense<{{\[}}[0, 1], [1, 2], [2, 3]]>
// CHECK: %[[R:.*]] = sinter.reshape %arg0 : tensor<12xf32> -> tensor<2x6xf32>
// CHECK: sinter.gather %[[R]], %[[I]] axis 1
func.func @gather_in_rows(%x: tensor<12xf32>) -> tensor<2x3x2xf32> {
  %i = sinter.constant dense<[[[0, 1], [1, 2], [2, 3]], [[6, 7], [7, 8], [8, 9]]]> : tensor<2x3x2xi64>
  %y = sinter.gather %x, %i axis 0 : (tensor<12xf32>, tensor<2x3x2xi64>) -> tensor<2x3x2xf32>
  return %y : tensor<2x3x2xf32>
}

// -----

// CHECK-LABEL: @gather_without_form_stays
// CHECK: sinter.gather %arg0
func.func @gather_without_form_stays(%x: tensor<12xf32>) -> tensor<2x2xf32> {
  %i = sinter.constant dense<[[0, 5], [3, 9]]> : tensor<2x2xi64>
  %y = sinter.gather %x, %i axis 0 : (tensor<12xf32>, tensor<2x2xi64>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

// CHECK-LABEL: @split_of_concat
// CHECK-NEXT: return %arg1
func.func @split_of_concat(%a: tensor<2x3xf32>, %b: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %c = sinter.concat %a, %b axis 0 : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
  %y = sinter.slice %c starts [2, 0] limits [6, 3] strides [1, 1] : (tensor<6x3xf32>) -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// -----

// The gradient of a split is a concat.
// CHECK-LABEL: @sum_of_pads_side_by_side
// CHECK-NEXT: %[[Y:.*]] = sinter.concat %arg0, %arg1, %arg2 axis 1
// CHECK-NEXT: return %[[Y]]
func.func @sum_of_pads_side_by_side(%a: tensor<2x3xf32>, %b: tensor<2x1xf32>, %c: tensor<2x2xf32>) -> tensor<2x6xf32> {
  %z = sinter.constant dense<0.0> : tensor<f32>
  %pa = sinter.pad %a, %z low [0, 0] high [0, 3] interior [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x6xf32>
  %pb = sinter.pad %b, %z low [0, 3] high [0, 2] interior [0, 0] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x6xf32>
  %pc = sinter.pad %c, %z low [0, 4] high [0, 0] interior [0, 0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x6xf32>
  %s = sinter.add %pc, %pb : tensor<2x6xf32>
  %y = sinter.add %s, %pa : tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// -----

// The first two do not lie side by side; the third joins them.
// CHECK-LABEL: @sum_of_pads_in_any_order
// CHECK-NEXT: %[[ALL:.*]] = sinter.concat %arg0, %arg1, %arg2 axis 1
// CHECK-NEXT: %[[SUM:.*]] = sinter.add %arg3, %[[ALL]]
// CHECK-NEXT: return %[[SUM]]
func.func @sum_of_pads_in_any_order(%a: tensor<2x3xf32>, %b: tensor<2x1xf32>, %c: tensor<2x2xf32>, %x: tensor<2x6xf32>) -> tensor<2x6xf32> {
  %z = sinter.constant dense<0.0> : tensor<f32>
  %pa = sinter.pad %a, %z low [0, 0] high [0, 3] interior [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x6xf32>
  %pb = sinter.pad %b, %z low [0, 3] high [0, 2] interior [0, 0] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x6xf32>
  %pc = sinter.pad %c, %z low [0, 4] high [0, 0] interior [0, 0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x6xf32>
  %0 = sinter.add %x, %pa : tensor<2x6xf32>
  %1 = sinter.add %pc, %0 : tensor<2x6xf32>
  %2 = sinter.add %1, %pb : tensor<2x6xf32>
  return %2 : tensor<2x6xf32>
}

// -----

// CHECK-LABEL: @sum_of_overlapping_pads_stays
// CHECK: sinter.add
func.func @sum_of_overlapping_pads_stays(%a: tensor<3xf32>, %b: tensor<2xf32>) -> tensor<4xf32> {
  %z = sinter.constant dense<0.0> : tensor<f32>
  %pa = sinter.pad %a, %z low [0] high [1] interior [0] : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  %pb = sinter.pad %b, %z low [2] high [0] interior [0] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %y = sinter.add %pa, %pb : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @transposes_into_dot
// CHECK-NEXT: sinter.dot_general %arg0, %arg1 batch [] x [] contract [0] x [1]
func.func @transposes_into_dot(%a: tensor<8x4xf32>, %b: tensor<3x8xf32>) -> tensor<4x3xf32> {
  %s = sinter.transpose %a perm [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %t = sinter.transpose %b perm [1, 0] : (tensor<3x8xf32>) -> tensor<8x3xf32>
  %y = sinter.dot_general %s, %t batch [] x [] contract [1] x [0]
    : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// -----

// The free dimensions would change their order.
// CHECK-LABEL: @transpose_of_free_dimensions_stays
// CHECK: sinter.transpose
func.func @transpose_of_free_dimensions_stays(%a: tensor<4x2x8xf32>, %b: tensor<8x3xf32>) -> tensor<2x4x3xf32> {
  %s = sinter.transpose %a perm [1, 0, 2] : (tensor<4x2x8xf32>) -> tensor<2x4x8xf32>
  %y = sinter.dot_general %s, %b batch [] x [] contract [2] x [0]
    : (tensor<2x4x8xf32>, tensor<8x3xf32>) -> tensor<2x4x3xf32>
  return %y : tensor<2x4x3xf32>
}

// -----

// CHECK-LABEL: @transpose_of_dot
// CHECK-NEXT: sinter.dot_general %arg1, %arg0 batch [] x [] contract [0] x [1]
func.func @transpose_of_dot(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>) -> tensor<3x4xf32> {
  %d = sinter.dot_general %a, %b batch [] x [] contract [1] x [0]
    : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %y = sinter.transpose %d perm [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

// -----

// What is left of the transpose moves whole rows.
// CHECK-LABEL: @transpose_of_batched_dot
// CHECK-NEXT: %[[D:.*]] = sinter.dot_general %arg1, %arg0 batch [0] x [0] contract [2] x [1]
// CHECK-NEXT: sinter.transpose %[[D]] perm [1, 0, 2]
func.func @transpose_of_batched_dot(%a: tensor<2x8x4xf32>, %b: tensor<2x3x8xf32>) -> tensor<3x2x4xf32> {
  %d = sinter.dot_general %a, %b batch [0] x [0] contract [1] x [2]
    : (tensor<2x8x4xf32>, tensor<2x3x8xf32>) -> tensor<2x4x3xf32>
  %y = sinter.transpose %d perm [2, 0, 1] : (tensor<2x4x3xf32>) -> tensor<3x2x4xf32>
  return %y : tensor<3x2x4xf32>
}

// -----

// Must not fire: the rows are the right operand's already.
// CHECK-LABEL: @transpose_of_rows
// CHECK-NEXT: %[[D:.*]] = sinter.dot_general %arg0, %arg1
// CHECK-NEXT: sinter.transpose %[[D]] perm [1, 0, 2]
func.func @transpose_of_rows(%a: tensor<2x8x4xf32>, %b: tensor<2x3x8xf32>) -> tensor<4x2x3xf32> {
  %d = sinter.dot_general %a, %b batch [0] x [0] contract [1] x [2]
    : (tensor<2x8x4xf32>, tensor<2x3x8xf32>) -> tensor<2x4x3xf32>
  %y = sinter.transpose %d perm [1, 0, 2] : (tensor<2x4x3xf32>) -> tensor<4x2x3xf32>
  return %y : tensor<4x2x3xf32>
}

// -----

// Contractions store what is concatenated in its new order.
// CHECK-LABEL: @transpose_of_concat
// CHECK-NOT: sinter.concat
// CHECK: sinter.transpose %{{.*}} perm [1, 0, 2]
// CHECK: sinter.transpose %{{.*}} perm [1, 0, 2]
// CHECK: %[[C:.*]] = sinter.concat %{{.*}}, %{{.*}} axis 2 : (tensor<4x2x1x3xf32>, tensor<4x2x1x3xf32>) -> tensor<4x2x2x3xf32>
// CHECK-NEXT: return %[[C]]
func.func @transpose_of_concat(%a: tensor<2x4x8xf32>, %b: tensor<2x8x3xf32>, %c: tensor<2x8x3xf32>) -> tensor<4x2x2x3xf32> {
  %d = sinter.dot_general %a, %b batch [0] x [0] contract [2] x [1]
    : (tensor<2x4x8xf32>, tensor<2x8x3xf32>) -> tensor<2x4x3xf32>
  %e = sinter.dot_general %a, %c batch [0] x [0] contract [2] x [1]
    : (tensor<2x4x8xf32>, tensor<2x8x3xf32>) -> tensor<2x4x3xf32>
  %0 = sinter.reshape %d : tensor<2x4x3xf32> -> tensor<1x2x4x3xf32>
  %1 = sinter.reshape %e : tensor<2x4x3xf32> -> tensor<1x2x4x3xf32>
  %2 = sinter.concat %0, %1 axis 0 : (tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>) -> tensor<2x2x4x3xf32>
  %y = sinter.transpose %2 perm [2, 1, 0, 3] : (tensor<2x2x4x3xf32>) -> tensor<4x2x2x3xf32>
  return %y : tensor<4x2x2x3xf32>
}

// -----

// Must not fire: a kernel computes what is concatenated.
// CHECK-LABEL: @transpose_of_other_concat
// CHECK: sinter.concat %{{.*}}, %{{.*}} axis 0
// CHECK: sinter.transpose
func.func @transpose_of_other_concat(%a: tensor<2x4x3xf32>, %b: tensor<2x4x3xf32>) -> tensor<3x4x4xf32> {
  %0 = sinter.exp %a : tensor<2x4x3xf32>
  %1 = sinter.concat %0, %b axis 0 : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<4x4x3xf32>
  %y = sinter.transpose %1 perm [2, 1, 0] : (tensor<4x4x3xf32>) -> tensor<3x4x4xf32>
  return %y : tensor<3x4x4xf32>
}

// -----

// CHECK-LABEL: @batch_norm_into_weights
// CHECK-NOT: sinter.batch_norm
// CHECK: sinter.conv
// CHECK: sinter.add
func.func @batch_norm_into_weights(%x: tensor<1x1x4xf32>) -> tensor<1x2x2xf32> {
  %w = sinter.constant dense<[[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]]> : tensor<2x1x3xf32>
  %s = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = sinter.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %c = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>,
    pads_low = array<i64: 0>, pads_high = array<i64: 0>}
    : (tensor<1x1x4xf32>, tensor<2x1x3xf32>) -> tensor<1x2x2xf32>
  %y = sinter.batch_norm %c, %s, %b, %b, %s {epsilon = 1.0e-5 : f64}
    : (tensor<1x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x2xf32>
  return %y : tensor<1x2x2xf32>
}

// -----

// With weights in state nothing is folded into them.
// CHECK-LABEL: @batch_norm_with_state_stays
// CHECK: sinter.batch_norm
func.func @batch_norm_with_state_stays(%x: tensor<1x1x4xf32>, %s: tensor<2xf32>) -> tensor<1x2x2xf32> {
  %w = sinter.constant dense<[[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]]> : tensor<2x1x3xf32>
  %c = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>,
    pads_low = array<i64: 0>, pads_high = array<i64: 0>}
    : (tensor<1x1x4xf32>, tensor<2x1x3xf32>) -> tensor<1x2x2xf32>
  %y = sinter.batch_norm %c, %s, %s, %s, %s {epsilon = 1.0e-5 : f64}
    : (tensor<1x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x2xf32>
  return %y : tensor<1x2x2xf32>
}

// -----

// Equal ops become one that carries both names.
// CHECK-LABEL: @equal_ops_merge
// CHECK: %[[E:.*]] = sinter.exp
// CHECK-NEXT: sinter.mul %[[E]], %[[E]]
// LOC-LABEL: @equal_ops_merge
// LOC: sinter.exp {{.*}} loc(#[[MERGED:.*]])
// LOC-DAG: #[[FIRST:.*]] = loc("first")
// LOC-DAG: #[[SECOND:.*]] = loc("second")
// LOC: #[[MERGED]] = loc(fused[#[[FIRST]], #[[SECOND]]])
func.func @equal_ops_merge(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = sinter.exp %x : tensor<4xf32> loc("first")
  %b = sinter.exp %x : tensor<4xf32> loc("second")
  %y = sinter.mul %a, %b : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// From channels-last and back, with a reshape between: nothing moves.
// CHECK-LABEL: @moves_that_keep_the_order
// CHECK-NEXT: %[[Y:.*]] = sinter.reshape %arg0 : tensor<2x4x4x3xf32> -> tensor<2x16x3xf32>
// CHECK-NEXT: return %[[Y]]
func.func @moves_that_keep_the_order(%x: tensor<2x4x4x3xf32>) -> tensor<2x16x3xf32> {
  %a = sinter.transpose %x perm [0, 3, 1, 2] : (tensor<2x4x4x3xf32>) -> tensor<2x3x4x4xf32>
  %b = sinter.reshape %a : tensor<2x3x4x4xf32> -> tensor<2x3x16xf32>
  %y = sinter.transpose %b perm [0, 2, 1] : (tensor<2x3x16xf32>) -> tensor<2x16x3xf32>
  return %y : tensor<2x16x3xf32>
}

// Must not fire: a flattened transpose changes the order.
// CHECK-LABEL: @flattened_transpose
// CHECK: sinter.transpose
// CHECK: sinter.reshape
func.func @flattened_transpose(%x: tensor<2x4x4x3xf32>) -> tensor<2x48xf32> {
  %a = sinter.transpose %x perm [0, 3, 1, 2] : (tensor<2x4x4x3xf32>) -> tensor<2x3x4x4xf32>
  %y = sinter.reshape %a : tensor<2x3x4x4xf32> -> tensor<2x48xf32>
  return %y : tensor<2x48xf32>
}

// -----

// A sum of no products is zero.
// CHECK-LABEL: @empty_product
func.func @empty_product(%a: tensor<3x0xf32>, %b: tensor<0x7xf32>) -> tensor<3x7xf32> {
  // CHECK-NEXT: %[[ZERO:.*]] = sinter.constant dense<0.000000e+00> : tensor<3x7xf32>
  // CHECK-NEXT: return %[[ZERO]]
  %0 = sinter.dot_general %a, %b batch [] x [] contract [1] x [0] : (tensor<3x0xf32>, tensor<0x7xf32>) -> tensor<3x7xf32>
  return %0 : tensor<3x7xf32>
}

// -----

// CHECK-LABEL: @scatter_of_slices
// CHECK: %[[I:.*]] = sinter.reshape %arg1 : tensor<i64> -> tensor<1xi64>
// CHECK: sinter.scatter set %arg0, %[[I]], %arg2 axis 1
func.func @scatter_of_slices(%x: tensor<2x5x3xf32>, %i: tensor<i64>, %u: tensor<2x1x3xf32>) -> tensor<2x5x3xf32> {
  %b = sinter.broadcast %i dims [] : tensor<i64> -> tensor<2x1x3xi64>
  %y = sinter.scatter_elements set %x, %b, %u axis 1 : (tensor<2x5x3xf32>, tensor<2x1x3xi64>, tensor<2x1x3xf32>) -> tensor<2x5x3xf32>
  return %y : tensor<2x5x3xf32>
}

// -----

// CHECK-LABEL: @scatter_of_several_slices
// CHECK: sinter.scatter sum %arg0, %arg1, %arg2 axis 0
func.func @scatter_of_several_slices(%x: tensor<5x3xf32>, %i: tensor<2xi64>, %u: tensor<2x3xf32>) -> tensor<5x3xf32> {
  %b = sinter.broadcast %i dims [0] : tensor<2xi64> -> tensor<2x3xi64>
  %y = sinter.scatter_elements sum %x, %b, %u axis 0 : (tensor<5x3xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
  return %y : tensor<5x3xf32>
}

// -----

// Slices that are not whole, or whose elements go to several places.
// CHECK-LABEL: @scatter_of_elements
// CHECK-COUNT-2: sinter.scatter_elements
func.func @scatter_of_elements(%x: tensor<5x3xf32>, %i: tensor<2xi64>, %u: tensor<2x2xf32>, %j: tensor<3xi64>, %v: tensor<2x3xf32>) -> tensor<5x3xf32> {
  %b = sinter.broadcast %i dims [0] : tensor<2xi64> -> tensor<2x2xi64>
  %y = sinter.scatter_elements set %x, %b, %u axis 0 : (tensor<5x3xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<5x3xf32>
  %c = sinter.broadcast %j dims [1] : tensor<3xi64> -> tensor<2x3xi64>
  %z = sinter.scatter_elements set %y, %c, %v axis 0 : (tensor<5x3xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
  return %z : tensor<5x3xf32>
}

// -----

// CHECK-LABEL: @empty_convolutions
// CHECK-NOT: sinter.conv
func.func @empty_convolutions(%x: tensor<2x0x4x4xf32>, %w: tensor<3x0x3x3xf32>, %g: tensor<0x3x2x2xf32>, %v: tensor<3x1x3x3xf32>, %y: tensor<0x1x4x4xf32>) -> (tensor<2x3x2x2xf32>, tensor<0x1x4x4xf32>, tensor<3x1x3x3xf32>) {
  %0 = sinter.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<2x0x4x4xf32>, tensor<3x0x3x3xf32>) -> tensor<2x3x2x2xf32>
  %1 = sinter.conv_input_grad %g, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<0x3x2x2xf32>, tensor<3x1x3x3xf32>) -> tensor<0x1x4x4xf32>
  %2 = sinter.conv_filter_grad %y, %g {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<0x1x4x4xf32>, tensor<0x3x2x2xf32>) -> tensor<3x1x3x3xf32>
  return %0, %1, %2 : tensor<2x3x2x2xf32>, tensor<0x1x4x4xf32>, tensor<3x1x3x3xf32>
}

// -----

// CHECK-LABEL: @integer_constants_merge
// CHECK: %[[M:.*]] = sinter.mul %[[A:.*]], %[[B:.*]] :
// CHECK: sinter.mul %arg0, %[[M]]
// CHECK: %[[S:.*]] = sinter.add %[[A]], %[[B]] :
// CHECK: sinter.add %arg0, %[[S]]
func.func @integer_constants_merge(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %three = sinter.constant dense<3> : tensor<4xi32>
  %five = sinter.constant dense<5> : tensor<4xi32>
  %a = sinter.mul %x, %three : tensor<4xi32>
  %b = sinter.mul %a, %five : tensor<4xi32>
  %c = sinter.add %x, %three : tensor<4xi32>
  %d = sinter.add %c, %five : tensor<4xi32>
  return %b, %d : tensor<4xi32>, tensor<4xi32>
}

// -----

// CHECK-LABEL: @bound_below_a_relu
// CHECK: %[[R:.*]] = sinter.relu
// CHECK-NEXT: return %[[R]], %[[R]]
func.func @bound_below_a_relu(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %low = sinter.constant dense<-1.0> : tensor<4xf32>
  %zero = sinter.constant dense<0.0> : tensor<4xf32>
  %r = sinter.relu %x : tensor<4xf32>
  %y = sinter.max %r, %low : tensor<4xf32>
  %z = sinter.max %r, %zero : tensor<4xf32>
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @negations_are_absorbed
// CHECK-NEXT: %[[D:.*]] = sinter.sub %arg0, %arg1
// CHECK-NEXT: %[[S:.*]] = sinter.add %arg0, %arg1
// CHECK-NEXT: return %[[D]], %[[S]]
func.func @negations_are_absorbed(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %n = sinter.neg %y : tensor<4xf32>
  %d = sinter.add %x, %n : tensor<4xf32>
  %s = sinter.sub %x, %n : tensor<4xf32>
  return %d, %s : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @signs_move_into_factors
// CHECK: %[[C:.*]] = sinter.constant dense<-3.000000e+00>
// CHECK-DAG: sinter.neg %arg0
// CHECK-DAG: sinter.mul %arg0, %[[C]]
func.func @signs_move_into_factors(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %minus = sinter.constant dense<-1.0> : tensor<4xf32>
  %three = sinter.constant dense<3.0> : tensor<4xf32>
  %a = sinter.mul %x, %minus : tensor<4xf32>
  %b = sinter.mul %a, %three : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @inverted_condition
// CHECK-NEXT: sinter.where %arg0, %arg2, %arg1
func.func @inverted_condition(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %n = sinter.not %c : tensor<4xi1>
  %z = sinter.where %n, %x, %y : tensor<4xi1>, tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

// CHECK-LABEL: @reduction_of_units
// CHECK-NOT: sinter.reduce
func.func @reduction_of_units(%x: tensor<4x1xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = sinter.reduce sum %x dims [1] : (tensor<4x1xf32>) -> tensor<4xf32>
  %z = sinter.reduce max %x dims [1] : (tensor<4x1xf32>) -> tensor<4xf32>
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// -----

// What differentiation follows: a bound has no derivative, or none of its own.
// CHECK-LABEL: @selected_bounds
// CHECK-DAG: %[[LOW:.*]] = sinter.constant dense<-1.0
// CHECK-DAG: %[[HIGH:.*]] = sinter.constant dense<2.0
// CHECK: %[[M:.*]] = sinter.max %arg0, %[[LOW]]
// CHECK-NEXT: %[[Y:.*]] = sinter.min %[[M]], %[[HIGH]]
// CHECK-NEXT: return %[[Y]]
func.func @selected_bounds(%x: tensor<4xf32>) -> tensor<4xf32> {
  %low = sinter.constant dense<-1.0> : tensor<4xf32>
  %high = sinter.constant dense<2.0> : tensor<4xf32>
  %below = sinter.compare le %x, %low : tensor<4xf32>
  %l = sinter.where %below, %low, %x : tensor<4xi1>, tensor<4xf32>
  %above = sinter.compare gt %l, %high : tensor<4xf32>
  %y = sinter.where %above, %high, %l : tensor<4xi1>, tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// max would spread what may be NaN.
// CHECK-LABEL: @selected_value_stays
// CHECK-NOT: sinter.max
func.func @selected_value_stays(%x: tensor<4xf32>, %low: tensor<4xf32>) -> tensor<4xf32> {
  %below = sinter.compare lt %x, %low : tensor<4xf32>
  %y = sinter.where %below, %low, %x : tensor<4xi1>, tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @upper_bounds_merge
// CHECK-COUNT-1: sinter.min
func.func @upper_bounds_merge(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = sinter.constant dense<3.0> : tensor<4xf32>
  %l = sinter.min %x, %a : tensor<4xf32>
  %y = sinter.min %l, %a : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Only the first is a relu in its derivative, too.
// CHECK-LABEL: @relu_beside_maximum
// CHECK: %[[R:.*]] = sinter.relu
// CHECK-NEXT: return %[[R]], %[[R]]
// KEEP-LABEL: @relu_beside_maximum
// KEEP: sinter.relu
// KEEP: sinter.max
func.func @relu_beside_maximum(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = sinter.constant dense<0.0> : tensor<4xf32>
  %r = sinter.relu %x : tensor<4xf32>
  %y = sinter.max %x, %zero : tensor<4xf32>
  return %r, %y : tensor<4xf32>, tensor<4xf32>
}

// -----

// Gradients need the result alone, not what was bounded.
// CHECK-LABEL: @comparisons_of_the_bounded
// CHECK: %[[R:.*]] = sinter.relu %arg0
// CHECK-NEXT: %[[Y:.*]] = sinter.min %[[R]], %[[SIX:.*]] :
// CHECK-DAG: sinter.compare le %[[Y]]
// CHECK-DAG: sinter.compare ge %[[Y]], %[[SIX]]
// CHECK-NOT: sinter.compare
func.func @comparisons_of_the_bounded(%x: tensor<4xf32>, %g: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = sinter.constant dense<0.0> : tensor<4xf32>
  %six = sinter.constant dense<6.0> : tensor<4xf32>
  %below = sinter.compare le %x, %zero : tensor<4xf32>
  %l = sinter.where %below, %zero, %x : tensor<4xi1>, tensor<4xf32>
  %above = sinter.compare ge %l, %six : tensor<4xf32>
  %y = sinter.where %above, %six, %l : tensor<4xi1>, tensor<4xf32>
  %dl = sinter.where %above, %zero, %g : tensor<4xi1>, tensor<4xf32>
  %dx = sinter.where %below, %zero, %dl : tensor<4xi1>, tensor<4xf32>
  return %y, %dx : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @other_comparisons_stay
// CHECK: sinter.relu %arg0
// CHECK: sinter.compare lt %arg0
// CHECK: sinter.compare ge %arg0
func.func @other_comparisons_stay(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xi1>) {
  %zero = sinter.constant dense<0.0> : tensor<4xf32>
  %minus = sinter.constant dense<-1.0> : tensor<4xf32>
  %below = sinter.compare lt %x, %zero : tensor<4xf32>
  %y = sinter.where %below, %zero, %x : tensor<4xi1>, tensor<4xf32>
  %c = sinter.compare lt %x, %zero : tensor<4xf32>
  %d = sinter.compare ge %x, %minus : tensor<4xf32>
  return %y, %c, %d : tensor<4xf32>, tensor<4xi1>, tensor<4xi1>
}

// -----

// Windows side by side on few channels: a product. The last row and column of
// the input are in no window.
// CHECK-LABEL: @patches
func.func @patches(%x: tensor<2x3x9x9xf32>, %w: tensor<8x3x4x4xf32>, %b: tensor<8xf32>) -> tensor<2x8x2x2xf32> {
  // CHECK-DAG: %[[SLICE:.*]] = sinter.slice %{{.*}} limits [2, 3, 8, 8]
  // CHECK-DAG: %[[SPLIT:.*]] = sinter.reshape %[[SLICE]] : tensor<2x3x8x8xf32> -> tensor<2x3x2x4x2x4xf32>
  // CHECK-DAG: %[[MOVED:.*]] = sinter.transpose %[[SPLIT]] perm [0, 2, 4, 1, 3, 5]
  // CHECK-DAG: %[[PATCHES:.*]] = sinter.reshape %[[MOVED]] {{.*}} -> tensor<2x2x2x48xf32>
  // CHECK-DAG: %[[WEIGHTS:.*]] = sinter.reshape {{.*}} : tensor<8x3x4x4xf32> -> tensor<8x48xf32>
  // CHECK: %[[DOT:.*]] = sinter.dot_general %[[PATCHES]], %[[WEIGHTS]] batch [] x [] contract [3] x [1]
  // CHECK: %[[SUM:.*]] = sinter.add %[[DOT]], {{.*}} : tensor<2x2x2x8xf32>
  // CHECK: sinter.transpose %[[SUM]] perm [0, 3, 1, 2]
  %c = sinter.conv %x, %w {strides = array<i64: 4, 4>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<2x3x9x9xf32>, tensor<8x3x4x4xf32>) -> tensor<2x8x2x2xf32>
  %bias = sinter.broadcast %b dims [1] : tensor<8xf32> -> tensor<2x8x2x2xf32>
  %y = sinter.add %c, %bias : tensor<2x8x2x2xf32>
  return %y : tensor<2x8x2x2xf32>
}

// Overlapping windows, padding and many channels stay convolutions.
// CHECK-LABEL: @no_patches
// CHECK-COUNT-3: sinter.conv
// CHECK-NOT: sinter.dot_general
func.func @no_patches(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x4x4xf32>, %many: tensor<1x8x8x8xf32>, %v: tensor<4x8x4x4xf32>) -> (tensor<1x4x3x3xf32>, tensor<1x4x3x3xf32>, tensor<1x4x2x2xf32>) {
  %a = sinter.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x3x8x8xf32>, tensor<4x3x4x4xf32>) -> tensor<1x4x3x3xf32>
  %b = sinter.conv %x, %w {strides = array<i64: 4, 4>, dilations = array<i64: 1, 1>, pads_low = array<i64: 2, 2>, pads_high = array<i64: 2, 2>} : (tensor<1x3x8x8xf32>, tensor<4x3x4x4xf32>) -> tensor<1x4x3x3xf32>
  %c = sinter.conv %many, %v {strides = array<i64: 4, 4>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x8x8x8xf32>, tensor<4x8x4x4xf32>) -> tensor<1x4x2x2xf32>
  return %a, %b, %c : tensor<1x4x3x3xf32>, tensor<1x4x3x3xf32>, tensor<1x4x2x2xf32>
}

// -----

// What a trip computes from whole operands alone is computed once, in front of
// the scan; broadcasts and widening casts are not.
// CHECK-LABEL: @scan_invariants
// CHECK-NEXT: %[[SCALED:.*]] = sinter.exp %arg2
// CHECK-NEXT: sinter.scan trips 3 stacks(%arg0) initial(%arg1) whole(%arg3, %arg4, %[[SCALED]])
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<2x4xf32>, %[[H:.*]]: tensor<2x4xf32>, %[[B:.*]]: tensor<4xf32>, %[[N:.*]]: tensor<2x4xbf16>, %[[W:.*]]: tensor<4x4xf32>):
// CHECK-NOT: sinter.exp
// CHECK-DAG: sinter.broadcast %[[B]]
// CHECK-DAG: sinter.cast %[[N]]
func.func @scan_invariants(%xs: tensor<3x2x4xf32>, %h: tensor<2x4xf32>, %r: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<2x4xbf16>) -> tensor<2x4xf32> {
  %last = sinter.scan trips 3 stacks(%xs) initial(%h) whole(%r, %b, %n)
      : (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<2x4xbf16>) -> tensor<2x4xf32> {
  ^bb0(%x: tensor<2x4xf32>, %before: tensor<2x4xf32>, %weights: tensor<4x4xf32>, %bias: tensor<4xf32>, %narrow: tensor<2x4xbf16>):
    %scaled = sinter.exp %weights : tensor<4x4xf32>
    %product = sinter.dot_general %before, %scaled batch [] x [] contract [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %biases = sinter.broadcast %bias dims [1] : tensor<4xf32> -> tensor<2x4xf32>
    %sum = sinter.add %product, %biases : tensor<2x4xf32>
    %wide = sinter.cast %narrow : tensor<2x4xbf16> -> tensor<2x4xf32>
    %more = sinter.mul %sum, %wide : tensor<2x4xf32>
    %after = sinter.add %more, %x : tensor<2x4xf32>
    sinter.yield %after : tensor<2x4xf32>
  }
  return %last : tensor<2x4xf32>
}

// -----

// Results, carried values and operands that nothing depends on are dropped.
// CHECK-LABEL: @scan_unused
// CHECK: %[[LAST:.*]] = sinter.scan trips 3 stacks(%arg0) initial(%arg1) whole() : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NOT: sinter.exp
// CHECK: return %[[LAST]]
func.func @scan_unused(%xs: tensor<3x4xf32>, %h: tensor<4xf32>, %c: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %r:3 = sinter.scan trips 3 stacks(%xs) initial(%h, %c) whole(%w)
      : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>) {
  ^bb0(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>, %f: tensor<4xf32>):
    %after = sinter.add %a, %x : tensor<4xf32>
    %scaled = sinter.mul %b, %f : tensor<4xf32>
    %other = sinter.exp %scaled : tensor<4xf32>
    sinter.yield %after, %other, %scaled : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#0 : tensor<4xf32>
}

// -----

// A value that a carried one needs stays, even if its own result is unused.
// CHECK-LABEL: @scan_needed
// CHECK: sinter.scan trips 3 stacks() initial(%arg0, %arg1) whole() : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
func.func @scan_needed(%h: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
  %r:2 = sinter.scan trips 3 stacks() initial(%h, %c) whole() : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %sum = sinter.add %a, %b : tensor<4xf32>
    %next = sinter.exp %b : tensor<4xf32>
    sinter.yield %sum, %next : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0 : tensor<4xf32>
}

// -----

// A carried value that no trip changes is a whole operand; equal stacked results
// are one; a small constant, and a stack of equal elements, are in the body.
// CHECK-LABEL: @scan_parts
// CHECK: %[[R:.*]]:2 = sinter.scan trips 3 stacks(%arg0) initial(%arg1) whole(%arg2) : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>)
// CHECK-DAG: sinter.constant dense<2.000000e+00> : tensor<4xf32>
// CHECK-DAG: sinter.constant dense<[0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<4xf32>
// CHECK: return %[[R]]#0, %arg2, %[[R]]#1, %[[R]]#1
func.func @scan_parts(%xs: tensor<3x4xf32>, %h: tensor<4xf32>, %c: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  %twos = sinter.constant dense<2.0> : tensor<3x4xf32>
  %table = sinter.constant dense<[0.0, 1.0, 2.0, 3.0]> : tensor<4xf32>
  %r:4 = sinter.scan trips 3 stacks(%xs, %twos) initial(%h, %c) whole(%table)
      : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
        -> (tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  ^bb0(%x: tensor<4xf32>, %two: tensor<4xf32>, %a: tensor<4xf32>, %same: tensor<4xf32>, %t: tensor<4xf32>):
    %scaled = sinter.mul %a, %two : tensor<4xf32>
    %more = sinter.add %scaled, %same : tensor<4xf32>
    %moved = sinter.max %more, %t : tensor<4xf32>
    %after = sinter.add %moved, %x : tensor<4xf32>
    %again = sinter.add %moved, %x : tensor<4xf32>
    sinter.yield %after, %same, %after, %again : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1, %r#2, %r#3 : tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}

// -----

// Equal stacks are one, as are equal whole operands. A stacked result that is a
// slice of a stack is that stack.
// CHECK-LABEL: @scan_equal_parts
// CHECK-NEXT: %[[R:.*]] = sinter.scan trips 3 stacks(%arg0) initial(%arg1) whole(%arg2) : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<4xf32>, %[[A:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<4xf32>):
// CHECK-NEXT: %[[SCALED:.*]] = sinter.mul %[[A]], %[[W]]
// CHECK-NEXT: %[[MOVED:.*]] = sinter.max %[[SCALED]], %[[X]]
// CHECK-NEXT: %[[SUM:.*]] = sinter.add %[[MOVED]], %[[X]]
// CHECK-NEXT: sinter.mul %[[SUM]], %[[W]]
// CHECK: return %[[R]], %arg0
func.func @scan_equal_parts(%xs: tensor<3x4xf32>, %h: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  %last, %same = sinter.scan trips 3 stacks(%xs, %xs) initial(%h) whole(%w, %w)
      : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>, %a: tensor<4xf32>, %v: tensor<4xf32>, %u: tensor<4xf32>):
    %scaled = sinter.mul %a, %v : tensor<4xf32>
    %moved = sinter.max %scaled, %x : tensor<4xf32>
    %sum = sinter.add %moved, %y : tensor<4xf32>
    %after = sinter.mul %sum, %u : tensor<4xf32>
    sinter.yield %after, %y : tensor<4xf32>, tensor<4xf32>
  }
  return %last, %same : tensor<4xf32>, tensor<3x4xf32>
}

// -----

// A contraction in the body multiplies the 16-bit floats that it reads.
// CHECK-LABEL: @scan_widening
// CHECK-NEXT: sinter.scan trips 3 stacks(%arg0) initial(%arg1) whole(%arg2) : (tensor<3x2x4xbf16>, tensor<2x4xf32>, tensor<4x4xbf16>) -> tensor<2x4xf32>
// CHECK: sinter.cast
// CHECK: sinter.cast
func.func @scan_widening(%xs: tensor<3x2x4xbf16>, %h: tensor<2x4xf32>, %r: tensor<4x4xbf16>) -> tensor<2x4xf32> {
  %wide = sinter.cast %r : tensor<4x4xbf16> -> tensor<4x4xf32>
  %stack = sinter.cast %xs : tensor<3x2x4xbf16> -> tensor<3x2x4xf32>
  %last = sinter.scan trips 3 stacks(%stack) initial(%h) whole(%wide)
      : (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%x: tensor<2x4xf32>, %before: tensor<2x4xf32>, %weights: tensor<4x4xf32>):
    %product = sinter.dot_general %before, %weights batch [] x [] contract [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %after = sinter.add %product, %x : tensor<2x4xf32>
    sinter.yield %after : tensor<2x4xf32>
  }
  return %last : tensor<2x4xf32>
}

// -----

// What a trip takes by its number is a slice of a stack.
// CHECK-LABEL: @scan_gather
// CHECK: %[[S:.*]] = sinter.slice %arg0 starts [0, 0] limits [2, 3]
// CHECK-NEXT: %[[T:.*]] = sinter.transpose %[[S]] perm [1, 0]
// CHECK-NEXT: %[[R:.*]] = sinter.scan trips 3 stacks(%[[T]]) initial(%arg1) whole()
// CHECK-NOT: sinter.gather
// CHECK: return %[[R]]
func.func @scan_gather(%x: tensor<2x5xf32>, %h: tensor<2x1xf32>) -> tensor<2x1xf32> {
  %numbers = sinter.constant dense<[0, 1, 2]> : tensor<3xi64>
  %last = sinter.scan trips 3 stacks(%numbers) initial(%h) whole(%x)
      : (tensor<3xi64>, tensor<2x1xf32>, tensor<2x5xf32>) -> tensor<2x1xf32> {
  ^bb0(%trip: tensor<i64>, %before: tensor<2x1xf32>, %table: tensor<2x5xf32>):
    %index = sinter.reshape %trip : tensor<i64> -> tensor<1xi64>
    %column = sinter.gather %table, %index axis 1 : (tensor<2x5xf32>, tensor<1xi64>) -> tensor<2x1xf32>
    %after = sinter.add %before, %column : tensor<2x1xf32>
    sinter.yield %after : tensor<2x1xf32>
  }
  return %last : tensor<2x1xf32>
}

// -----

// Other indices are not slices.
// CHECK-LABEL: @scan_other_gather
// CHECK: sinter.scan
// CHECK: sinter.gather
func.func @scan_other_gather(%x: tensor<5x2xf32>, %h: tensor<2xf32>) -> tensor<2xf32> {
  %numbers = sinter.constant dense<[0, 2, 1]> : tensor<3xi64>
  %last = sinter.scan trips 3 stacks(%numbers) initial(%h) whole(%x)
      : (tensor<3xi64>, tensor<2xf32>, tensor<5x2xf32>) -> tensor<2xf32> {
  ^bb0(%trip: tensor<i64>, %before: tensor<2xf32>, %table: tensor<5x2xf32>):
    %row = sinter.gather %table, %trip axis 0 : (tensor<5x2xf32>, tensor<i64>) -> tensor<2xf32>
    %after = sinter.add %before, %row : tensor<2xf32>
    sinter.yield %after : tensor<2xf32>
  }
  return %last : tensor<2xf32>
}

// -----

// The maximum of codes, quantised again with the same scale and zero point, is a maximum of integers.
// CHECK-LABEL: @maximum_of_codes
// CHECK-NEXT: %[[MAX:.*]] = sinter.reduce_window max %arg0 {{.*}}pads_low = array<i64: 1, 0>{{.*}}(tensor<8x6xui8>) -> tensor<4x5xui8>
// CHECK-NEXT: return %[[MAX]]
// KEEP-LABEL: @maximum_of_codes
// KEEP: sinter.reduce_window max {{.*}} -> tensor<4x5xf32>
func.func @maximum_of_codes(%q: tensor<8x6xui8>) -> tensor<4x5xui8> {
  %z = sinter.constant dense<3> : tensor<8x6xi32>
  %s = sinter.constant dense<0.3> : tensor<8x6xf32>
  %i = sinter.cast %q : tensor<8x6xui8> -> tensor<8x6xi32>
  %c = sinter.sub %i, %z : tensor<8x6xi32>
  %f = sinter.cast %c : tensor<8x6xi32> -> tensor<8x6xf32>
  %x = sinter.mul %f, %s : tensor<8x6xf32>
  %m = sinter.reduce_window max %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>,
         pads_low = array<i64: 1, 0>, pads_high = array<i64: 0, 0>} : (tensor<8x6xf32>) -> tensor<4x5xf32>
  %ms = sinter.constant dense<0.3> : tensor<4x5xf32>
  %mz = sinter.constant dense<3.0> : tensor<4x5xf32>
  %ml = sinter.constant dense<0.0> : tensor<4x5xf32>
  %mh = sinter.constant dense<255.0> : tensor<4x5xf32>
  %m0 = sinter.div %m, %ms : tensor<4x5xf32>
  %m1 = sinter.round %m0 : tensor<4x5xf32>
  %m2 = sinter.add %m1, %mz : tensor<4x5xf32>
  %m3 = sinter.max %m2, %ml : tensor<4x5xf32>
  %m4 = sinter.min %m3, %mh : tensor<4x5xf32>
  %y = sinter.cast %m4 : tensor<4x5xf32> -> tensor<4x5xui8>
  return %y : tensor<4x5xui8>
}

// -----

// Another scale.
// CHECK-LABEL: @maximum_of_other_codes
// CHECK: sinter.reduce_window max {{.*}} -> tensor<4x5xf32>
func.func @maximum_of_other_codes(%q: tensor<8x6xui8>) -> tensor<4x5xui8> {
  %s = sinter.constant dense<0.3> : tensor<8x6xf32>
  %f = sinter.cast %q : tensor<8x6xui8> -> tensor<8x6xf32>
  %x = sinter.mul %f, %s : tensor<8x6xf32>
  %m = sinter.reduce_window max %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>,
         pads_low = array<i64: 1, 0>, pads_high = array<i64: 0, 0>} : (tensor<8x6xf32>) -> tensor<4x5xf32>
  %ms = sinter.constant dense<0.4> : tensor<4x5xf32>
  %ml = sinter.constant dense<0.0> : tensor<4x5xf32>
  %mh = sinter.constant dense<255.0> : tensor<4x5xf32>
  %m0 = sinter.div %m, %ms : tensor<4x5xf32>
  %m1 = sinter.round %m0 : tensor<4x5xf32>
  %m3 = sinter.max %m1, %ml : tensor<4x5xf32>
  %m4 = sinter.min %m3, %mh : tensor<4x5xf32>
  %y = sinter.cast %m4 : tensor<4x5xf32> -> tensor<4x5xui8>
  return %y : tensor<4x5xui8>
}
