// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: @gathers
func.func @gathers(%x : tensor<9x4xf32>, %i : tensor<2x3xi64>, %j : tensor<9x2xi32>, %k : tensor<5x2xi64>) {
  // CHECK: sinter.gather %arg0, %arg1 axis 0 : (tensor<9x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  %0 = sinter.gather %x, %i axis 0 : (tensor<9x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  // CHECK: sinter.gather_elements %arg0, %arg2 axis 1 : (tensor<9x4xf32>, tensor<9x2xi32>) -> tensor<9x2xf32>
  %1 = sinter.gather_elements %x, %j axis 1 : (tensor<9x4xf32>, tensor<9x2xi32>) -> tensor<9x2xf32>
  // CHECK: sinter.gather_nd %arg0, %arg3 batch_dims 0 : (tensor<9x4xf32>, tensor<5x2xi64>) -> tensor<5xf32>
  %2 = sinter.gather_nd %x, %k batch_dims 0 : (tensor<9x4xf32>, tensor<5x2xi64>) -> tensor<5xf32>
  return
}

// CHECK-LABEL: @scatters
func.func @scatters(%x : tensor<9x4xf32>, %i : tensor<2x3xi64>, %u : tensor<2x3x4xf32>, %j : tensor<9x2xi64>,
                    %v : tensor<9x2xf32>, %k : tensor<5x1xi64>, %w : tensor<5x4xf32>) {
  // CHECK: sinter.scatter sum %arg0, %arg1, %arg2 axis 0
  %0 = sinter.scatter sum %x, %i, %u axis 0
     : (tensor<9x4xf32>, tensor<2x3xi64>, tensor<2x3x4xf32>) -> tensor<9x4xf32>
  // CHECK: sinter.scatter_elements set %arg0, %arg3, %arg4 axis 1
  %1 = sinter.scatter_elements set %x, %j, %v axis 1
     : (tensor<9x4xf32>, tensor<9x2xi64>, tensor<9x2xf32>) -> tensor<9x4xf32>
  // CHECK: sinter.scatter_nd max %arg0, %arg5, %arg6
  %2 = sinter.scatter_nd max %x, %k, %w
     : (tensor<9x4xf32>, tensor<5x1xi64>, tensor<5x4xf32>) -> tensor<9x4xf32>
  return
}
