// RUN: sinter-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @identities
func.func @identities(%x : tensor<4x1xf32>, %v : tensor<f32>) -> (tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>) {
  // CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0, %arg0, %arg0, %arg0
  %0 = sinter.broadcast %x dims [0, 1] : tensor<4x1xf32> -> tensor<4x1xf32>
  %1 = sinter.reshape %x : tensor<4x1xf32> -> tensor<4x1xf32>
  %2 = sinter.transpose %x perm [0, 1] : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %3 = sinter.slice %x starts [0, 0] limits [4, 1] strides [1, 7] : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %4 = sinter.pad %x, %v low [0, 0] high [0, 0] interior [0, 5] : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %5 = sinter.concat %x axis 0 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %6 = sinter.reverse %x dims [1] : tensor<4x1xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>
}

// CHECK-LABEL: @compositions
func.func @compositions(%x : tensor<2x3x4xf32>) -> (tensor<3x4x2xf32>, tensor<24xf32>, tensor<5x2x3x4x6xf32>, tensor<2x3x4xf32>) {
  // CHECK-DAG: %[[T:.*]] = sinter.transpose %arg0 perm [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  // CHECK-DAG: %[[R:.*]] = sinter.reshape %arg0 : tensor<2x3x4xf32> -> tensor<24xf32>
  // CHECK-DAG: %[[B:.*]] = sinter.broadcast %arg0 dims [1, 2, 3] : tensor<2x3x4xf32> -> tensor<5x2x3x4x6xf32>
  // CHECK: return %[[T]], %[[R]], %[[B]], %arg0
  %0 = sinter.transpose %x perm [2, 1, 0] : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  %1 = sinter.transpose %0 perm [1, 0, 2] : (tensor<4x3x2xf32>) -> tensor<3x4x2xf32>
  %2 = sinter.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %3 = sinter.reshape %2 : tensor<6x4xf32> -> tensor<24xf32>
  %4 = sinter.broadcast %x dims [1, 2, 3] : tensor<2x3x4xf32> -> tensor<5x2x3x4xf32>
  %5 = sinter.broadcast %4 dims [0, 1, 2, 3] : tensor<5x2x3x4xf32> -> tensor<5x2x3x4x6xf32>
  %6 = sinter.transpose %0 perm [2, 1, 0] : (tensor<4x3x2xf32>) -> tensor<2x3x4xf32>
  return %1, %3, %5, %6 : tensor<3x4x2xf32>, tensor<24xf32>, tensor<5x2x3x4x6xf32>, tensor<2x3x4xf32>
}

// CHECK-LABEL: @slice_of_slice
func.func @slice_of_slice(%x : tensor<20xf32>) -> (tensor<3xf32>, tensor<0xf32>) {
  // CHECK-DAG: %[[A:.*]] = sinter.slice %arg0 starts [5] limits [18] strides [6] : (tensor<20xf32>) -> tensor<3xf32>
  // CHECK-DAG: %[[B:.*]] = sinter.slice %arg0 starts [1] limits [1] strides [1] : (tensor<20xf32>) -> tensor<0xf32>
  // CHECK: return %[[A]], %[[B]]
  %0 = sinter.slice %x starts [1] limits [20] strides [2] : (tensor<20xf32>) -> tensor<10xf32>
  %1 = sinter.slice %0 starts [2] limits [9] strides [3] : (tensor<10xf32>) -> tensor<3xf32>
  %2 = sinter.slice %0 starts [10] limits [10] strides [3] : (tensor<10xf32>) -> tensor<0xf32>
  return %1, %2 : tensor<3xf32>, tensor<0xf32>
}

// CHECK-LABEL: @slice_of_concat
func.func @slice_of_concat(%a : tensor<4x3xf32>, %b : tensor<4x5xf32>) -> (tensor<4x5xf32>, tensor<2x2xf32>, tensor<4x4xf32>) {
  // CHECK-DAG: %[[C:.*]] = sinter.concat %arg0, %arg1 axis 1
  // CHECK-DAG: %[[PART:.*]] = sinter.slice %arg0 starts [1, 1] limits [3, 3] strides [1, 1] : (tensor<4x3xf32>) -> tensor<2x2xf32>
  // CHECK-DAG: %[[BOTH:.*]] = sinter.slice %[[C]] starts [0, 1] limits [4, 5]
  // CHECK: return %arg1, %[[PART]], %[[BOTH]]
  %c = sinter.concat %a, %b axis 1 : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<4x8xf32>
  %0 = sinter.slice %c starts [0, 3] limits [4, 8] strides [1, 1] : (tensor<4x8xf32>) -> tensor<4x5xf32>
  %1 = sinter.slice %c starts [1, 1] limits [3, 3] strides [1, 1] : (tensor<4x8xf32>) -> tensor<2x2xf32>
  %2 = sinter.slice %c starts [0, 1] limits [4, 5] strides [1, 1] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  return %0, %1, %2 : tensor<4x5xf32>, tensor<2x2xf32>, tensor<4x4xf32>
}

// CHECK-LABEL: @concat_of_concat
func.func @concat_of_concat(%a : tensor<4xf32>, %b : tensor<0xf32>) -> (tensor<12xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[C:.*]] = sinter.concat %arg0, %arg0, %arg0 axis 0
  // CHECK-NEXT: return %[[C]], %arg0
  %0 = sinter.concat %a, %b, %a axis 0 : (tensor<4xf32>, tensor<0xf32>, tensor<4xf32>) -> tensor<8xf32>
  %1 = sinter.concat %0, %a axis 0 : (tensor<8xf32>, tensor<4xf32>) -> tensor<12xf32>
  %2 = sinter.concat %b, %a axis 0 : (tensor<0xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1, %2 : tensor<12xf32>, tensor<4xf32>
}

// CHECK-LABEL: @splats
func.func @splats() -> (tensor<2x3xf32>, tensor<3x2xf32>, tensor<1x3xf32>) {
  // CHECK-DAG: %[[A:.*]] = sinter.constant dense<1.000000e+00> : tensor<2x3xf32>
  // CHECK-DAG: %[[B:.*]] = sinter.constant dense<1.000000e+00> : tensor<3x2xf32>
  // CHECK-DAG: %[[C:.*]] = sinter.constant dense<1.000000e+00> : tensor<1x3xf32>
  // CHECK: return %[[A]], %[[B]], %[[C]]
  %v = sinter.constant dense<1.0> : tensor<f32>
  %0 = sinter.broadcast %v dims [] : tensor<f32> -> tensor<2x3xf32>
  %1 = sinter.transpose %0 perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = sinter.slice %0 starts [0, 0] limits [1, 3] strides [1, 1] : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return %0, %1, %2 : tensor<2x3xf32>, tensor<3x2xf32>, tensor<1x3xf32>
}

// A reshaped constant is the same blob.
// CHECK-LABEL: @reshaped_resource
func.func @reshaped_resource() -> tensor<2x1xf32> {
  // CHECK-NEXT: sinter.constant dense_resource<weights> : tensor<2x1xf32>
  %0 = sinter.constant dense_resource<weights> : tensor<2xf32>
  %1 = sinter.reshape %0 : tensor<2xf32> -> tensor<2x1xf32>
  return %1 : tensor<2x1xf32>
}

// CHECK-LABEL: @one_element_repeated
func.func @one_element_repeated(%x : tensor<1x1xf32>) -> (tensor<6xf32>, tensor<3x2xf32>) {
  // CHECK: %[[S:.*]] = sinter.reshape %arg0 : tensor<1x1xf32> -> tensor<f32>
  // CHECK: sinter.broadcast %[[S]] dims [] : tensor<f32> -> tensor<6xf32>
  // CHECK: sinter.broadcast %{{.*}} dims [] : tensor<f32> -> tensor<3x2xf32>
  %0 = sinter.broadcast %x dims [0, 1] : tensor<1x1xf32> -> tensor<2x3xf32>
  %1 = sinter.reshape %0 : tensor<2x3xf32> -> tensor<6xf32>
  %2 = sinter.transpose %0 perm [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %1, %2 : tensor<6xf32>, tensor<3x2xf32>
}

// CHECK-LABEL: @units_moved
func.func @units_moved(%x : tensor<4x1x8xf32>, %v : tensor<8xf32>) -> (tensor<1x4x8xf32>, tensor<1x8xf32>, tensor<8x1x4xf32>) {
  // CHECK-DAG: %[[A:.*]] = sinter.reshape %arg0 : tensor<4x1x8xf32> -> tensor<1x4x8xf32>
  // CHECK-DAG: %[[B:.*]] = sinter.reshape %arg1 : tensor<8xf32> -> tensor<1x8xf32>
  // CHECK-DAG: %[[C:.*]] = sinter.transpose %arg0 perm [2, 1, 0]
  // CHECK: return %[[A]], %[[B]], %[[C]]
  %0 = sinter.transpose %x perm [1, 0, 2] : (tensor<4x1x8xf32>) -> tensor<1x4x8xf32>
  %1 = sinter.broadcast %v dims [1] : tensor<8xf32> -> tensor<1x8xf32>
  %2 = sinter.transpose %x perm [2, 1, 0] : (tensor<4x1x8xf32>) -> tensor<8x1x4xf32>
  return %0, %1, %2 : tensor<1x4x8xf32>, tensor<1x8xf32>, tensor<8x1x4xf32>
}

// CHECK-LABEL: @keepdims_broadcast
func.func @keepdims_broadcast(%x : tensor<4xf32>, %y : tensor<2x2xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK-DAG: %[[A:.*]] = sinter.broadcast %arg0 dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  // CHECK-DAG: %[[R:.*]] = sinter.reshape %arg1 : tensor<2x2xf32> -> tensor<4x1xf32>
  // CHECK-DAG: %[[B:.*]] = sinter.broadcast %[[R]] dims [0, 1]
  // CHECK: return %[[A]], %[[B]]
  %0 = sinter.reshape %x : tensor<4xf32> -> tensor<4x1xf32>
  %1 = sinter.broadcast %0 dims [0, 1] : tensor<4x1xf32> -> tensor<4x8xf32>
  %2 = sinter.reshape %y : tensor<2x2xf32> -> tensor<4x1xf32>
  %3 = sinter.broadcast %2 dims [0, 1] : tensor<4x1xf32> -> tensor<4x8xf32>
  return %1, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}

{-#
  dialect_resources: { builtin: { weights: "0x400000000000803F00000040" } }
#-}
