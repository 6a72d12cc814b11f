// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-fuse-loops))' | FileCheck %s

// A softmax is one kernel: two reductions over the loops of the result.
// CHECK-LABEL: @softmax
// CHECK: sinter.kernel reduce(%arg0) over <[4, 10] reduced [1] views [(d0, d1) -> (d0, d1)]>
// CHECK-NOT: sinter.kernel
func.func @softmax(%x: tensor<4x10xf32>) -> tensor<4x10xf32> {
  %0 = sinter.reduce max %x dims [1] : (tensor<4x10xf32>) -> tensor<4xf32>
  %1 = sinter.broadcast %0 dims [0] : tensor<4xf32> -> tensor<4x10xf32>
  %2 = sinter.sub %x, %1 : tensor<4x10xf32>
  %3 = sinter.exp %2 : tensor<4x10xf32>
  %4 = sinter.reduce sum %3 dims [1] : (tensor<4x10xf32>) -> tensor<4xf32>
  %5 = sinter.broadcast %4 dims [0] : tensor<4xf32> -> tensor<4x10xf32>
  %6 = sinter.div %3, %5 : tensor<4x10xf32>
  return %6 : tensor<4x10xf32>
}

// A value with another user is a further result of the kernel.
// CHECK-LABEL: @second_result
// CHECK: %[[F:.*]]:2 = sinter.kernel loop(%arg0)
// CHECK: return %[[F]]#0, %[[F]]#1
func.func @second_result(%x: tensor<4x10xf32>) -> (tensor<4x10xf32>, tensor<4x10xf32>) {
  %0 = sinter.exp %x : tensor<4x10xf32>
  %1 = sinter.neg %0 : tensor<4x10xf32>
  return %1, %0 : tensor<4x10xf32>, tensor<4x10xf32>
}

// Must not fire: a slice is not the whole of what it reads, so that is no result beside it.
// CHECK-LABEL: @slice_beside_whole
// CHECK-COUNT-2: sinter.kernel loop
func.func @slice_beside_whole(%x: tensor<3x8xf32>) -> (tensor<1x8xf32>, tensor<3x8xf32>) {
  %0 = sinter.exp %x : tensor<3x8xf32>
  %1 = sinter.slice %0 starts [0, 0] limits [1, 8] strides [1, 1] : (tensor<3x8xf32>) -> tensor<1x8xf32>
  return %1, %0 : tensor<1x8xf32>, tensor<3x8xf32>
}

// Must not fire: between the two uses of %0 lies a library call that needs the first.
// CHECK-LABEL: @no_cycle
// CHECK: sinter.kernel
// CHECK: sinter.dot_general
// CHECK: sinter.kernel
func.func @no_cycle(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = sinter.exp %x : tensor<4x4xf32>
  %1 = sinter.dot_general %0, %w batch [] x [] contract [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = sinter.mul %0, %1 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// The gradient of a softmax that is stored anyway lies with the sums over its
// rows, not with the sum over columns that also reads it: two kernels.
// CHECK-LABEL: @rows_before_columns
// CHECK: %[[ROWS:.*]]:2 = sinter.kernel reduce(%arg0, %arg1) over <[4, 10] reduced [1]
// CHECK: sinter.reduce sum {{.*}} dims [1]
// CHECK: sinter.log
// CHECK: sinter.kernel reduce(%[[ROWS]]#{{[01]}}) over <[4, 10] reduced [0]
// CHECK-NOT: sinter.kernel
func.func @rows_before_columns(%x: tensor<4x10xf32>, %g: tensor<4x10xf32>)
    -> (tensor<4x10xf32>, tensor<10xf32>, tensor<4xf32>) {
  %0 = sinter.exp %x : tensor<4x10xf32>
  %1 = sinter.reduce sum %0 dims [1] : (tensor<4x10xf32>) -> tensor<4xf32>
  %2 = sinter.broadcast %1 dims [0] : tensor<4xf32> -> tensor<4x10xf32>
  %3 = sinter.div %0, %2 : tensor<4x10xf32>
  %4 = sinter.sub %3, %g : tensor<4x10xf32>
  %5 = sinter.reduce sum %4 dims [0] : (tensor<4x10xf32>) -> tensor<10xf32>
  %6 = sinter.log %1 : tensor<4xf32>
  return %4, %5, %6 : tensor<4x10xf32>, tensor<10xf32>, tensor<4xf32>
}

// Two sums over the same elements read them once.
// CHECK-LABEL: @two_sums
// CHECK: sinter.kernel reduce(%arg0, %arg1) over <[4, 10] reduced [0] views [(d0, d1) -> (d1), (d0, d1) -> (d1)]>
// CHECK-NOT: sinter.kernel
func.func @two_sums(%x: tensor<4x10xf32>, %y: tensor<4x10xf32>) -> (tensor<10xf32>, tensor<10xf32>) {
  %0 = sinter.reduce sum %x dims [0] : (tensor<4x10xf32>) -> tensor<10xf32>
  %1 = sinter.mul %x, %y : tensor<4x10xf32>
  %2 = sinter.reduce sum %1 dims [0] : (tensor<4x10xf32>) -> tensor<10xf32>
  return %0, %2 : tensor<10xf32>, tensor<10xf32>
}

// Must not fire: sums over rows and over columns have no loops in common.
// CHECK-LABEL: @rows_and_columns
// CHECK-COUNT-2: sinter.kernel reduce
func.func @rows_and_columns(%x: tensor<4x10xf32>) -> (tensor<10xf32>, tensor<4xf32>) {
  %0 = sinter.reduce sum %x dims [0] : (tensor<4x10xf32>) -> tensor<10xf32>
  %1 = sinter.reduce sum %x dims [1] : (tensor<4x10xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<10xf32>, tensor<4xf32>
}

// Must not fire: one sum needs the other, by way of a library call.
// CHECK-LABEL: @no_merge_cycle
// CHECK: sinter.kernel reduce
// CHECK: sinter.dot_general
// CHECK: sinter.kernel reduce
func.func @no_merge_cycle(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = sinter.reduce sum %x dims [1] : (tensor<4x4xf32>) -> tensor<4xf32>
  %1 = sinter.dot_general %0, %w batch [] x [] contract [0] x [0] : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  %2 = sinter.broadcast %1 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %3 = sinter.mul %x, %2 : tensor<4x4xf32>
  %4 = sinter.reduce sum %3 dims [1] : (tensor<4x4xf32>) -> tensor<4xf32>
  return %0, %4 : tensor<4xf32>, tensor<4xf32>
}

// Must not fire: one sum needs the other, by way of a library call and of a fusion
// that is entered at its last op and left at its first.
// CHECK-LABEL: @no_cycle_by_wide_fusion
// CHECK: sinter.kernel reduce
// CHECK: sinter.dot_general
// CHECK: sinter.kernel reduce
// CHECK: sinter.kernel reduce
func.func @no_cycle_by_wide_fusion(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %w: tensor<4x4xf32>)
    -> (tensor<4x4xf32>, tensor<4xf32>) {
  %0 = sinter.exp %x : tensor<4x4xf32>
  %1 = sinter.reduce sum %0 dims [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  %2 = sinter.reduce sum %y dims [1] : (tensor<4x4xf32>) -> tensor<4xf32>
  %3 = sinter.broadcast %1 dims [] : tensor<f32> -> tensor<4x4xf32>
  %4 = sinter.mul %y, %3 : tensor<4x4xf32>
  %5 = sinter.reduce sum %4 dims [1] : (tensor<4x4xf32>) -> tensor<4xf32>
  %6 = sinter.dot_general %2, %w batch [] x [] contract [0] x [0] : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  %7 = sinter.broadcast %6 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %8 = sinter.add %0, %7 : tensor<4x4xf32>
  return %8, %5 : tensor<4x4xf32>, tensor<4xf32>
}

sinter.state @w : tensor<64xf32> {role = #sinter<role param>, trainable}

// A sum over many elements ends before the update of the state, so that its
// input need not be kept until all updates run.
// CHECK-LABEL: @long_sum_before_update
// CHECK: %[[G:.*]] = sinter.kernel reduce(%arg1)
// CHECK: sinter.kernel loop({{.*}}%[[G]]
func.func @long_sum_before_update(%w: tensor<64xf32> {sinter.state = @w}, %x: tensor<512x64xf32>)
    -> (tensor<64xf32> {sinter.state = @w}) {
  %0 = sinter.exp %x : tensor<512x64xf32>
  %1 = sinter.reduce sum %0 dims [0] : (tensor<512x64xf32>) -> tensor<64xf32>
  %2 = sinter.sub %w, %1 : tensor<64xf32>
  return %2 : tensor<64xf32>
}

// CHECK-LABEL: @short_sum_with_update
// CHECK: sinter.kernel reduce
// CHECK-NOT: sinter.kernel
func.func @short_sum_with_update(%w: tensor<64xf32> {sinter.state = @w}, %x: tensor<4x64xf32>)
    -> (tensor<64xf32> {sinter.state = @w}) {
  %0 = sinter.reduce sum %x dims [0] : (tensor<4x64xf32>) -> tensor<64xf32>
  %1 = sinter.sub %w, %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}

// Sums that are put side by side are parts of one kernel: the norm of all
// gradients.
// CHECK-LABEL: @concat_of_sums
// CHECK: sinter.kernel concat(%arg0, %arg1)
// CHECK: sinter.reduce sum
// CHECK: sinter.reduce sum
// CHECK: sinter.concat
// CHECK-NOT: sinter.kernel
// CHECK: return
func.func @concat_of_sums(%a: tensor<4x100xf32>, %b: tensor<1x7xf32>) -> tensor<5xf32> {
  %0 = sinter.mul %a, %a : tensor<4x100xf32>
  %1 = sinter.reduce sum %0 dims [1] : (tensor<4x100xf32>) -> tensor<4xf32>
  %2 = sinter.mul %b, %b : tensor<1x7xf32>
  %3 = sinter.reduce sum %2 dims [1] : (tensor<1x7xf32>) -> tensor<1xf32>
  %4 = sinter.concat %1, %3 axis 0 : (tensor<4xf32>, tensor<1xf32>) -> tensor<5xf32>
  return %4 : tensor<5xf32>
}

// Must not fire: the sum has another user.
// CHECK-LABEL: @concat_of_used_sum
// CHECK: sinter.kernel reduce
// CHECK: sinter.kernel concat
func.func @concat_of_used_sum(%a: tensor<4x100xf32>, %b: tensor<1xf32>) -> (tensor<5xf32>, tensor<4xf32>) {
  %1 = sinter.reduce sum %a dims [1] : (tensor<4x100xf32>) -> tensor<4xf32>
  %4 = sinter.concat %1, %b axis 0 : (tensor<4xf32>, tensor<1xf32>) -> tensor<5xf32>
  return %4, %1 : tensor<5xf32>, tensor<4xf32>
}

// The statistics of a batch norm, split (see split-reductions.mlir): the sums of a part and its
// squares in one kernel, all that joins the parts in the next.
// CHECK-LABEL: @statistics_in_parts
// CHECK: %[[PARTS:.*]]:3 = sinter.kernel reduce(%arg0)
// CHECK-COUNT-2: sinter.reduce
// CHECK-NOT: sinter.reduce
// CHECK: %[[ALL:.*]] = sinter.kernel reduce(%[[PARTS]]#
// CHECK-COUNT-2: sinter.reduce
// CHECK-NOT: sinter.kernel
// CHECK: return %[[ALL]]
func.func @statistics_in_parts(%x: tensor<32x28x28x16xf32>) -> tensor<16xf32> {
  %p = sinter.reduce sum %x dims [1, 2] : (tensor<32x28x28x16xf32>) -> tensor<32x16xf32>
  %s = sinter.reduce sum %p dims [0] : (tensor<32x16xf32>) -> tensor<16xf32>
  %c = sinter.constant dense<25088.0> : tensor<16xf32>
  %m = sinter.div %s, %c : tensor<16xf32>
  %n = sinter.constant dense<784.0> : tensor<32x16xf32>
  %pm = sinter.div %p, %n : tensor<32x16xf32>
  %pb = sinter.broadcast %pm dims [0, 3] : tensor<32x16xf32> -> tensor<32x28x28x16xf32>
  %d = sinter.sub %x, %pb : tensor<32x28x28x16xf32>
  %dd = sinter.mul %d, %d : tensor<32x28x28x16xf32>
  %q = sinter.reduce sum %dd dims [1, 2] : (tensor<32x28x28x16xf32>) -> tensor<32x16xf32>
  %mb = sinter.broadcast %m dims [1] : tensor<16xf32> -> tensor<32x16xf32>
  %e = sinter.sub %pm, %mb : tensor<32x16xf32>
  %ee = sinter.mul %e, %e : tensor<32x16xf32>
  %ne = sinter.mul %ee, %n : tensor<32x16xf32>
  %a = sinter.add %q, %ne : tensor<32x16xf32>
  %v = sinter.reduce sum %a dims [0] : (tensor<32x16xf32>) -> tensor<16xf32>
  return %v : tensor<16xf32>
}

// What two kernels make of indices and shared numbers is computed in each, not stored.
// CHECK-LABEL: @counters
// CHECK-NOT: -> tensor<4x8xui64>
// CHECK: sinter.kernel loop
// CHECK: sinter.mul {{.*}} : tensor<4x8xui64>
// CHECK: sinter.dot_general
// CHECK: sinter.kernel loop
// CHECK: sinter.mul {{.*}} : tensor<4x8xui64>
// CHECK-NOT: sinter.kernel
// CHECK: return
func.func @counters(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %seed: tensor<ui64>) -> tensor<4x8xf32> {
  %zero = sinter.constant dense<0.0> : tensor<4x8xf32>
  %factor = sinter.constant dense<3> : tensor<4x8xui64>
  %half = sinter.constant dense<99> : tensor<4x8xui64>
  %index = sinter.iota {axis = 1 : i64} : tensor<4x8xui64>
  %key = sinter.broadcast %seed dims [] : tensor<ui64> -> tensor<4x8xui64>
  %product = sinter.mul %index, %factor : tensor<4x8xui64>
  %first = sinter.xor %product, %key : tensor<4x8xui64>
  %a = sinter.compare ge %first, %half : tensor<4x8xui64>
  %y = sinter.where %a, %x, %zero : tensor<4x8xi1>, tensor<4x8xf32>
  %z = sinter.dot_general %y, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %second = sinter.add %product, %key : tensor<4x8xui64>
  %b = sinter.compare ge %second, %half : tensor<4x8xui64>
  %r = sinter.where %b, %z, %zero : tensor<4x8xi1>, tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// The parts of a slice are read where they are; alone the slice would be a copy. Without a slice a
// reshape is the operand's bytes.
// CHECK-LABEL: @parts_of_slice
// CHECK: sinter.kernel reduce(%arg0) over <[3, 4, 5] reduced [2]
// CHECK: sinter.slice
// CHECK: sinter.reshape
// CHECK: sinter.reduce
// CHECK: %[[R:.*]] = sinter.reshape %arg0 : tensor<64xf32> -> tensor<4x16xf32>
// CHECK: sinter.kernel reduce(%[[R]])
func.func @parts_of_slice(%x: tensor<64xf32>) -> (tensor<3x4xf32>, tensor<4xf32>) {
  %0 = sinter.slice %x starts [2] limits [62] strides [1] : (tensor<64xf32>) -> tensor<60xf32>
  %1 = sinter.reshape %0 : tensor<60xf32> -> tensor<3x4x5xf32>
  %2 = sinter.reduce sum %1 dims [2] : (tensor<3x4x5xf32>) -> tensor<3x4xf32>
  %3 = sinter.reshape %x : tensor<64xf32> -> tensor<4x16xf32>
  %4 = sinter.reduce sum %3 dims [1] : (tensor<4x16xf32>) -> tensor<4xf32>
  return %2, %4 : tensor<3x4xf32>, tensor<4xf32>
}

// Must not fire: a reshape that joins dimensions is no element at one place.
// CHECK-LABEL: @joined_slice
// CHECK: sinter.kernel loop
// CHECK: %[[R:.*]] = sinter.reshape
// CHECK: sinter.kernel reduce(%[[R]])
func.func @joined_slice(%x: tensor<8x8xf32>) -> tensor<f32> {
  %0 = sinter.slice %x starts [1, 1] limits [7, 7] strides [1, 1] : (tensor<8x8xf32>) -> tensor<6x6xf32>
  %1 = sinter.reshape %0 : tensor<6x6xf32> -> tensor<36xf32>
  %2 = sinter.reduce sum %1 dims [0] : (tensor<36xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// A step that fails keeps its states: the new momentum is selected once, and the parameter is computed from what was
// selected, so that a sum and both updates are one kernel.
sinter.state @p : tensor<64xf32> {role = #sinter<role param>, trainable}
sinter.state @m : tensor<64xf32> {role = #sinter<role slot>, slot = "m", of = @p}
// CHECK-LABEL: @kept_states
// CHECK: sinter.kernel reduce
// CHECK: %[[M:.*]] = sinter.where %{{.*}}, %{{.*}}, %{{.*}} : tensor<64xi1>
// CHECK: %[[P:.*]] = sinter.sub %{{.*}}, %[[M]]
// CHECK: %[[NEW:.*]] = sinter.where %{{.*}}, %[[P]]
// CHECK: sinter.yield %[[NEW]], %[[M]]
// CHECK-NOT: sinter.kernel
func.func @kept_states(%p: tensor<64xf32> {sinter.state = @p}, %m: tensor<64xf32> {sinter.state = @m},
                       %x: tensor<4x64xf32>, %c: tensor<i1>)
    -> (tensor<64xf32> {sinter.state = @p}, tensor<64xf32> {sinter.state = @m}) {
  %g = sinter.reduce sum %x dims [0] : (tensor<4x64xf32>) -> tensor<64xf32>
  %new_m = sinter.add %m, %g : tensor<64xf32>
  %new_p = sinter.sub %p, %new_m : tensor<64xf32>
  %all = sinter.broadcast %c dims [] : tensor<i1> -> tensor<64xi1>
  %kept_p = sinter.where %all, %new_p, %p : tensor<64xi1>, tensor<64xf32>
  %kept_m = sinter.where %all, %new_m, %m : tensor<64xi1>, tensor<64xf32>
  return %kept_p, %kept_m : tensor<64xf32>, tensor<64xf32>
}

// Must not fire: the new momentum is an output, too, which is not selected.
// CHECK-LABEL: @reported_state
// CHECK: %[[RAW:.*]] = sinter.add
// CHECK-DAG: sinter.sub %{{.*}}, %[[RAW]]
// CHECK-DAG: sinter.where %{{.*}}, %[[RAW]]
func.func @reported_state(%p: tensor<64xf32> {sinter.state = @p}, %m: tensor<64xf32> {sinter.state = @m},
                          %g: tensor<64xf32>, %c: tensor<i1>)
    -> (tensor<64xf32> {sinter.output = "m"}, tensor<64xf32> {sinter.state = @p}, tensor<64xf32> {sinter.state = @m}) {
  %new_m = sinter.add %m, %g : tensor<64xf32>
  %new_p = sinter.sub %p, %new_m : tensor<64xf32>
  %all = sinter.broadcast %c dims [] : tensor<i1> -> tensor<64xi1>
  %kept_p = sinter.where %all, %new_p, %p : tensor<64xi1>, tensor<64xf32>
  %kept_m = sinter.where %all, %new_m, %m : tensor<64xi1>, tensor<64xf32>
  return %new_m, %kept_p, %kept_m : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// Must not fire: the parameter is selected by another condition.
// CHECK-LABEL: @other_condition
// CHECK: %[[RAW:.*]] = sinter.add
// CHECK-DAG: sinter.sub %{{.*}}, %[[RAW]]
// CHECK-DAG: sinter.where %{{.*}}, %[[RAW]]
func.func @other_condition(%p: tensor<64xf32> {sinter.state = @p}, %m: tensor<64xf32> {sinter.state = @m},
                           %g: tensor<64xf32>, %c: tensor<i1>, %d: tensor<i1>)
    -> (tensor<64xf32> {sinter.state = @p}, tensor<64xf32> {sinter.state = @m}) {
  %new_m = sinter.add %m, %g : tensor<64xf32>
  %new_p = sinter.sub %p, %new_m : tensor<64xf32>
  %all = sinter.broadcast %c dims [] : tensor<i1> -> tensor<64xi1>
  %others = sinter.broadcast %d dims [] : tensor<i1> -> tensor<64xi1>
  %kept_p = sinter.where %others, %new_p, %p : tensor<64xi1>, tensor<64xf32>
  %kept_m = sinter.where %all, %new_m, %m : tensor<64xi1>, tensor<64xf32>
  return %kept_p, %kept_m : tensor<64xf32>, tensor<64xf32>
}

// A kernel with the loops of the sum in another order would add in another order: the two stay
// apart.
// CHECK-LABEL: @reduced_in_another_order
// CHECK: sinter.kernel loop({{.*}} over <[2, 5, 3] views
// CHECK: sinter.kernel reduce({{.*}} over <[2, 3, 5] reduced [0, 1, 2] views
func.func @reduced_in_another_order(%x: tensor<2x5x3xf32>, %w: tensor<2x5x3xf32>)
    -> (tensor<2x5x3xf32>, tensor<f32>, tensor<2x5x3xf32>) {
  %y = sinter.exp %x : tensor<2x5x3xf32>
  %t = sinter.transpose %y perm [0, 2, 1] : (tensor<2x5x3xf32>) -> tensor<2x3x5xf32>
  %s = sinter.reduce sum %t dims [0, 1, 2] : (tensor<2x3x5xf32>) -> tensor<f32>
  %z = sinter.mul %y, %w : tensor<2x5x3xf32>
  %v = sinter.sub %z, %y : tensor<2x5x3xf32>
  return %z, %s, %v : tensor<2x5x3xf32>, tensor<f32>, tensor<2x5x3xf32>
}

// The distance from the mean is computed by each kernel from the 16 bits, instead of being kept in float32 for the second
// one. The result of a kernel that has no other is kept.
// CHECK-LABEL: @distance_from_mean
// CHECK: sinter.kernel reduce(%arg0, %arg1) over
// CHECK-SAME: -> (tensor<64xf32>, tensor<64x64xbf16>)
// CHECK: sinter.kernel loop(%arg0, %arg1, %{{.*}}) over
// CHECK: %[[WIDE:.*]] = sinter.cast %{{.*}} : tensor<64x64xbf16> -> tensor<64x64xf32>
// CHECK: %[[MEAN:.*]] = sinter.broadcast
// CHECK: sinter.sub %[[WIDE]], %[[MEAN]]
// CHECK: return
func.func @distance_from_mean(%x: tensor<64x64xbf16>, %mean: tensor<64xf32>, %w: tensor<64x64xf32>) -> (tensor<64x64xbf16>, tensor<64x64xbf16>) {
  %0 = sinter.cast %x : tensor<64x64xbf16> -> tensor<64x64xf32>
  %1 = sinter.broadcast %mean dims [1] : tensor<64xf32> -> tensor<64x64xf32>
  %2 = sinter.sub %0, %1 : tensor<64x64xf32>
  %3 = sinter.mul %2, %2 : tensor<64x64xf32>
  %4 = sinter.cast %3 : tensor<64x64xf32> -> tensor<64x64xbf16>
  %5 = sinter.reduce sum %3 dims [0] : (tensor<64x64xf32>) -> tensor<64xf32>
  %6 = sinter.dot_general %5, %w batch [] x [] contract [0] x [0] : (tensor<64xf32>, tensor<64x64xf32>) -> tensor<64xf32>
  %7 = sinter.broadcast %6 dims [1] : tensor<64xf32> -> tensor<64x64xf32>
  %8 = sinter.mul %2, %7 : tensor<64x64xf32>
  %9 = sinter.cast %8 : tensor<64x64xf32> -> tensor<64x64xbf16>
  return %4, %9 : tensor<64x64xbf16>, tensor<64x64xbf16>
}

// Must not fire: float32 is no narrower than the result, which is kept.
// CHECK-LABEL: @distance_in_float32
// CHECK: %[[OUT:.*]]:3 = sinter.kernel reduce(
// CHECK-SAME: -> ({{.*}}tensor<64x64xf32>
// CHECK: sinter.kernel loop(%{{[0-9]+}}, %[[OUT]]#1) over
// CHECK: return
func.func @distance_in_float32(%x: tensor<64x64xf32>, %mean: tensor<64xf32>, %w: tensor<64x64xf32>) -> (tensor<64x64xbf16>, tensor<64x64xbf16>) {
  %1 = sinter.broadcast %mean dims [1] : tensor<64xf32> -> tensor<64x64xf32>
  %2 = sinter.sub %x, %1 : tensor<64x64xf32>
  %3 = sinter.mul %2, %2 : tensor<64x64xf32>
  %4 = sinter.cast %3 : tensor<64x64xf32> -> tensor<64x64xbf16>
  %5 = sinter.reduce sum %3 dims [0] : (tensor<64x64xf32>) -> tensor<64xf32>
  %6 = sinter.dot_general %5, %w batch [] x [] contract [0] x [0] : (tensor<64xf32>, tensor<64x64xf32>) -> tensor<64xf32>
  %7 = sinter.broadcast %6 dims [1] : tensor<64xf32> -> tensor<64x64xf32>
  %8 = sinter.mul %2, %7 : tensor<64x64xf32>
  %9 = sinter.cast %8 : tensor<64x64xf32> -> tensor<64x64xbf16>
  return %4, %9 : tensor<64x64xbf16>, tensor<64x64xbf16>
}
