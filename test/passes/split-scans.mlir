// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-split-scans))' | FileCheck %s

// What is before each part, and the parts from there; the last is shorter.
// CHECK-LABEL: @long_line
// CHECK: %[[C:.*]] = sinter.slice %arg0 starts [0, 0] limits [2, 69632] strides [1, 1]
// CHECK: %[[R:.*]] = sinter.reshape %[[C]] : tensor<2x69632xf32> -> tensor<2x4x17408xf32>
// CHECK: %[[S:.*]] = sinter.reduce sum %[[R]] dims [2] : (tensor<2x4x17408xf32>) -> tensor<2x4xf32>
// CHECK: %[[B:.*]] = sinter.cumulative sum %[[S]] {axis = 1 : i64} : tensor<2x4xf32>
// CHECK: %[[Y:.*]] = sinter.cumulative_parts sum %arg0, %[[B]] {axis = 1 : i64, exclusive, part = 17408 : i64} : tensor<2x83000xf32>, tensor<2x4xf32>
// CHECK: return %[[Y]]
func.func @long_line(%x: tensor<2x83000xf32>) -> tensor<2x83000xf32> {
  %y = sinter.cumulative sum %x {axis = 1 : i64, exclusive} : tensor<2x83000xf32>
  return %y : tensor<2x83000xf32>
}

// From the end: what is over lies in front. 16-bit floats are not rounded on the way.
// CHECK-LABEL: @reverse
// CHECK: %[[C:.*]] = sinter.slice %arg0 starts [14704, 0] limits [70000, 3] strides [1, 1]
// CHECK: %[[R:.*]] = sinter.reshape %[[C]] : tensor<{{.*}}> -> tensor<{{[0-9]+}}x[[L:[0-9]+]]x3xf16>
// CHECK: %[[W:.*]] = sinter.cast %[[R]]
// CHECK: %[[S:.*]] = sinter.reduce prod %[[W]] dims [1]
// CHECK: %[[B:.*]] = sinter.cumulative prod %[[S]] {axis = 0 : i64, reverse} : tensor<{{.*}}xf32>
// CHECK: sinter.cumulative_parts prod %arg0, %[[B]] {axis = 0 : i64, part = [[L]] : i64, reverse} : tensor<70000x3xf16>, tensor<{{.*}}xf32>
func.func @reverse(%x: tensor<70000x3xf16>) -> tensor<70000x3xf16> {
  %y = sinter.cumulative prod %x {axis = 0 : i64, reverse} : tensor<70000x3xf16>
  return %y : tensor<70000x3xf16>
}

// Must not fire: short lines, lines enough for all, and none.
// CHECK-LABEL: @left_alone
// CHECK-NOT: sinter.cumulative_parts
func.func @left_alone(%a: tensor<65535xf32>, %b: tensor<200x70000xf32>, %c: tensor<0x70000xf32>)
    -> (tensor<65535xf32>, tensor<200x70000xf32>, tensor<0x70000xf32>) {
  %x = sinter.cumulative sum %a {axis = 0 : i64} : tensor<65535xf32>
  %y = sinter.cumulative sum %b {axis = 1 : i64} : tensor<200x70000xf32>
  %z = sinter.cumulative sum %c {axis = 1 : i64} : tensor<0x70000xf32>
  return %x, %y, %z : tensor<65535xf32>, tensor<200x70000xf32>, tensor<0x70000xf32>
}
