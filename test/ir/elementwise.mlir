// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: @unary
func.func @unary(%x : tensor<4xf32>, %i : tensor<4xui8>, %b : tensor<4xi1>) -> tensor<4xf32> {
  // CHECK: sinter.abs %{{.*}} : tensor<4xf32>
  %0 = sinter.abs %x : tensor<4xf32>
  %1 = sinter.neg %0 : tensor<4xf32>
  %2 = sinter.sign %1 : tensor<4xf32>
  %3 = sinter.exp %2 : tensor<4xf32>
  %4 = sinter.expm1 %3 : tensor<4xf32>
  %5 = sinter.log %4 : tensor<4xf32>
  %6 = sinter.log1p %5 : tensor<4xf32>
  %7 = sinter.sqrt %6 : tensor<4xf32>
  %8 = sinter.rsqrt %7 : tensor<4xf32>
  %9 = sinter.tanh %8 : tensor<4xf32>
  %10 = sinter.sigmoid %9 : tensor<4xf32>
  %11 = sinter.erf %10 : tensor<4xf32>
  %12 = sinter.sin %11 : tensor<4xf32>
  %13 = sinter.cos %12 : tensor<4xf32>
  %14 = sinter.tan %13 : tensor<4xf32>
  %15 = sinter.asin %14 : tensor<4xf32>
  %16 = sinter.acos %15 : tensor<4xf32>
  %17 = sinter.atan %16 : tensor<4xf32>
  %18 = sinter.sinh %17 : tensor<4xf32>
  %19 = sinter.cosh %18 : tensor<4xf32>
  %20 = sinter.asinh %19 : tensor<4xf32>
  %21 = sinter.acosh %20 : tensor<4xf32>
  %22 = sinter.atanh %21 : tensor<4xf32>
  %23 = sinter.floor %22 : tensor<4xf32>
  %24 = sinter.ceil %23 : tensor<4xf32>
  %25 = sinter.round %24 : tensor<4xf32>
  %26 = sinter.relu %25 : tensor<4xf32>
  // CHECK: sinter.stop_gradient %{{.*}} : tensor<4xf32>
  %27 = sinter.stop_gradient %26 : tensor<4xf32>
  // CHECK: sinter.gelu erf %{{.*}} : tensor<4xf32>
  %28 = sinter.gelu erf %27 : tensor<4xf32>
  // CHECK: sinter.gelu tanh %{{.*}} : tensor<4xf32>
  %29 = sinter.gelu tanh %28 : tensor<4xf32>
  // CHECK: sinter.gelu_grad tanh %{{.*}}, %{{.*}} : tensor<4xf32>
  %gelu_grad = sinter.gelu_grad tanh %29, %28 : tensor<4xf32>
  // CHECK: sinter.bit_not %{{.*}} : tensor<4xui8>
  %30 = sinter.bit_not %i : tensor<4xui8>
  // CHECK: sinter.not %{{.*}} : tensor<4xi1>
  %31 = sinter.not %b : tensor<4xi1>
  return %29 : tensor<4xf32>
}

// CHECK-LABEL: @binary
func.func @binary(%x : tensor<2x0xf64>, %i : tensor<4xi32>, %b : tensor<i1>) -> tensor<2x0xf64> {
  // CHECK: sinter.add %{{.*}}, %{{.*}} : tensor<2x0xf64>
  %0 = sinter.add %x, %x : tensor<2x0xf64>
  %1 = sinter.sub %0, %x : tensor<2x0xf64>
  %2 = sinter.mul %1, %x : tensor<2x0xf64>
  %3 = sinter.div %2, %x : tensor<2x0xf64>
  %4 = sinter.pow %3, %x : tensor<2x0xf64>
  %5 = sinter.max %4, %x : tensor<2x0xf64>
  %6 = sinter.min %5, %x : tensor<2x0xf64>
  %7 = sinter.mod %6, %x : tensor<2x0xf64>
  %8 = sinter.rem %7, %x : tensor<2x0xf64>
  %9 = sinter.and %i, %i : tensor<4xi32>
  %10 = sinter.or %9, %i : tensor<4xi32>
  // CHECK: sinter.xor %{{.*}}, %{{.*}} : tensor<i1>
  %11 = sinter.xor %b, %b : tensor<i1>
  // CHECK: sinter.shift_left %{{.*}}, %{{.*}} : tensor<4xi32>
  %12 = sinter.shift_left %10, %i : tensor<4xi32>
  %13 = sinter.shift_right %12, %i : tensor<4xi32>
  return %8 : tensor<2x0xf64>
}

// CHECK-LABEL: @choice
func.func @choice(%x : tensor<4xbf16>, %y : tensor<4xbf16>) -> tensor<4xi64> {
  // CHECK: %[[C:.*]] = sinter.compare lt %{{.*}}, %{{.*}} : tensor<4xbf16>
  %0 = sinter.compare lt %x, %y : tensor<4xbf16>
  // CHECK: sinter.is_nan %{{.*}} : tensor<4xbf16>
  %1 = sinter.is_nan %x : tensor<4xbf16>
  // CHECK: sinter.where %[[C]], %{{.*}}, %{{.*}} : tensor<4xi1>, tensor<4xbf16>
  %2 = sinter.where %0, %x, %y : tensor<4xi1>, tensor<4xbf16>
  // CHECK: sinter.cast %{{.*}} : tensor<4xbf16> -> tensor<4xi64>
  %3 = sinter.cast %2 : tensor<4xbf16> -> tensor<4xi64>
  return %3 : tensor<4xi64>
}
