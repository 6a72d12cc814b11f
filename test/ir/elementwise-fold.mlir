// RUN: sinter-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @add_zero
func.func @add_zero(%x : tensor<4xi32>, %y : tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) {
  %i = sinter.constant dense<0> : tensor<4xi32>
  %f = sinter.constant dense<0.0> : tensor<4xf32>
  %n = sinter.constant dense<-0.0> : tensor<4xf32>
  // -0.0 + 0.0 is 0.0, so only -0.0 is neutral.
  // CHECK: %[[KEPT:.*]] = sinter.add %{{.*}}, %{{.*}} : tensor<4xf32>
  // CHECK: return %arg0, %[[KEPT]], %arg1
  %0 = sinter.add %i, %x : tensor<4xi32>
  %1 = sinter.add %y, %f : tensor<4xf32>
  %2 = sinter.add %y, %n : tensor<4xf32>
  return %0, %1, %2 : tensor<4xi32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @sub_zero
func.func @sub_zero(%y : tensor<4xf32>, %i : tensor<4xi8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi8>, tensor<4xf32>) {
  %f = sinter.constant dense<0.0> : tensor<4xf32>
  %n = sinter.constant dense<-0.0> : tensor<4xf32>
  // CHECK-DAG: %[[ZERO:.*]] = sinter.constant dense<0> : tensor<4xi8>
  // CHECK-DAG: %[[NEG:.*]] = sinter.sub %arg0, %{{.*}} : tensor<4xf32>
  // CHECK-DAG: %[[SAME:.*]] = sinter.sub %arg0, %arg0 : tensor<4xf32>
  // CHECK: return %arg0, %[[NEG]], %[[ZERO]], %[[SAME]]
  %0 = sinter.sub %y, %f : tensor<4xf32>
  %1 = sinter.sub %y, %n : tensor<4xf32>
  %2 = sinter.sub %i, %i : tensor<4xi8>
  %3 = sinter.sub %y, %y : tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xi8>, tensor<4xf32>
}

// CHECK-LABEL: @mul_div_pow_one
func.func @mul_div_pow_one(%x : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = sinter.constant dense<1.0> : tensor<4xf32>
  %zero = sinter.constant dense<0.0> : tensor<4xf32>
  // x * 0.0 is NaN where x is infinite.
  // CHECK: %[[KEPT:.*]] = sinter.mul
  // CHECK: return %arg0, %arg0, %arg0, %[[KEPT]]
  %0 = sinter.mul %one, %x : tensor<4xf32>
  %1 = sinter.div %x, %one : tensor<4xf32>
  %2 = sinter.pow %x, %one : tensor<4xf32>
  %3 = sinter.mul %x, %zero : tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @twice
func.func @twice(%x : tensor<4xf32>, %b : tensor<4xi1>) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-DAG: %[[R:.*]] = sinter.relu %arg0
  // CHECK-DAG: %[[A:.*]] = sinter.abs %arg0
  // CHECK: return %arg0, %arg1, %[[R]], %[[A]]
  %0 = sinter.neg %x : tensor<4xf32>
  %1 = sinter.neg %0 : tensor<4xf32>
  %2 = sinter.not %b : tensor<4xi1>
  %3 = sinter.not %2 : tensor<4xi1>
  %4 = sinter.relu %x : tensor<4xf32>
  %5 = sinter.relu %4 : tensor<4xf32>
  %6 = sinter.abs %0 : tensor<4xf32>
  return %1, %3, %5, %6 : tensor<4xf32>, tensor<4xi1>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @bits
func.func @bits(%x : tensor<4xui8>) -> (tensor<4xui8>, tensor<4xui8>, tensor<4xui8>, tensor<4xui8>) {
  %zero = sinter.constant dense<0> : tensor<4xui8>
  %ones = sinter.constant dense<255> : tensor<4xui8>
  // CHECK-DAG: %[[ZERO:.*]] = sinter.constant dense<0> : tensor<4xui8>
  // CHECK: return %arg0, %[[ZERO]], %arg0, %[[ZERO]]
  %0 = sinter.and %x, %ones : tensor<4xui8>
  %1 = sinter.and %x, %zero : tensor<4xui8>
  %2 = sinter.or %x, %zero : tensor<4xui8>
  %3 = sinter.xor %x, %x : tensor<4xui8>
  return %0, %1, %2, %3 : tensor<4xui8>, tensor<4xui8>, tensor<4xui8>, tensor<4xui8>
}

// CHECK-LABEL: @where_known
func.func @where_known(%x : tensor<4xf32>, %y : tensor<4xf32>, %c : tensor<4xi1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %t = sinter.constant dense<true> : tensor<4xi1>
  %f = sinter.constant dense<false> : tensor<4xi1>
  // CHECK: return %arg0, %arg1, %arg0
  %0 = sinter.where %t, %x, %y : tensor<4xi1>, tensor<4xf32>
  %1 = sinter.where %f, %x, %y : tensor<4xi1>, tensor<4xf32>
  %2 = sinter.where %c, %x, %x : tensor<4xi1>, tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @cast_lossless
func.func @cast_lossless(%x : tensor<4xf16>, %i : tensor<4xi8>) -> (tensor<4xf16>, tensor<4xi64>, tensor<4xi16>) {
  // CHECK-DAG: %[[A:.*]] = sinter.cast %arg0 : tensor<4xf16> -> tensor<4xi64>
  // CHECK-DAG: %[[B:.*]] = sinter.cast %arg1 : tensor<4xi8> -> tensor<4xi16>
  // CHECK: return %arg0, %[[A]], %[[B]]
  %0 = sinter.cast %x : tensor<4xf16> -> tensor<4xf32>
  %1 = sinter.cast %0 : tensor<4xf32> -> tensor<4xf16>
  %2 = sinter.cast %0 : tensor<4xf32> -> tensor<4xi64>
  %3 = sinter.cast %i : tensor<4xi8> -> tensor<4xf32>
  %4 = sinter.cast %3 : tensor<4xf32> -> tensor<4xi16>
  return %1, %2, %4 : tensor<4xf16>, tensor<4xi64>, tensor<4xi16>
}

// What is multiplied in 16 bits stays a value of 16 bits.
// CHECK-LABEL: @cast_small_integer
func.func @cast_small_integer(%i : tensor<4xi8>, %b : tensor<4xi1>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-DAG: %[[A:.*]] = sinter.cast %arg0 : tensor<4xi8> -> tensor<4xbf16>
  // CHECK-DAG: %[[B:.*]] = sinter.cast %arg1 : tensor<4xi1> -> tensor<4xf16>
  // CHECK-DAG: sinter.cast %[[A]] : tensor<4xbf16> -> tensor<4xf32>
  // CHECK-DAG: sinter.cast %[[B]] : tensor<4xf16> -> tensor<4xf32>
  %0 = sinter.cast %i : tensor<4xi8> -> tensor<4xf32>
  %1 = sinter.cast %0 : tensor<4xf32> -> tensor<4xbf16>
  %2 = sinter.cast %1 : tensor<4xbf16> -> tensor<4xf32>
  %3 = sinter.cast %b : tensor<4xi1> -> tensor<4xf32>
  %4 = sinter.cast %3 : tensor<4xf32> -> tensor<4xf16>
  %5 = sinter.cast %4 : tensor<4xf16> -> tensor<4xf32>
  return %2, %5 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @cast_lossy
func.func @cast_lossy(%x : tensor<4xf32>, %i : tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi8>) {
  // CHECK-COUNT-4: sinter.cast
  %0 = sinter.cast %x : tensor<4xf32> -> tensor<4xbf16>
  %1 = sinter.cast %0 : tensor<4xbf16> -> tensor<4xf32>
  // Integers wrap, floats saturate.
  %2 = sinter.cast %i : tensor<4xi32> -> tensor<4xf64>
  %3 = sinter.cast %2 : tensor<4xf64> -> tensor<4xi8>
  return %1, %3 : tensor<4xf32>, tensor<4xi8>
}

// CHECK-LABEL: @extremum_of_itself
func.func @extremum_of_itself(%x : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: return %arg0, %arg0
  %0 = sinter.max %x, %x : tensor<4xf32>
  %1 = sinter.min %x, %x : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
