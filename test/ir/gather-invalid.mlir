// RUN: sinter-opt %s --verify-diagnostics --split-input-file

func.func @gather_c1(%x : tensor<4x8xf32>, %i : tensor<3xi64>) {
  // expected-error @+1 {{'sinter.gather' op 'axis' is 2, but the rank is 2}}
  %0 = sinter.gather %x, %i axis 2 : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @gather_c2(%x : tensor<4x8xf32>, %i : tensor<3xi8>) {
  // expected-error @+1 {{'sinter.gather' op operand #1 must be}}
  %0 = sinter.gather %x, %i axis 1 : (tensor<4x8xf32>, tensor<3xi8>) -> tensor<4x3xf32>
  return
}

// -----

func.func @gather_c3(%x : tensor<4x0xf32>, %i : tensor<3xi64>) {
  // expected-error @+1 {{'sinter.gather' op dimension 1 of 'x' is empty, but the result is not}}
  %0 = sinter.gather %x, %i axis 1 : (tensor<4x0xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @gather_elements_c1_rank(%x : tensor<4x8xf32>, %i : tensor<3xi64>) {
  // expected-error @+1 {{'sinter.gather_elements' op 'indices' has rank 1, expected 2}}
  %0 = sinter.gather_elements %x, %i axis 1 : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @gather_elements_c1_axis(%x : tensor<4x8xf32>, %i : tensor<4x3xi64>) {
  // expected-error @+1 {{'sinter.gather_elements' op 'axis' is -1, but the rank is 2}}
  %0 = sinter.gather_elements %x, %i axis -1 : (tensor<4x8xf32>, tensor<4x3xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @gather_elements_c1_sizes(%x : tensor<4x8xf32>, %i : tensor<5x3xi64>) {
  // expected-error @+1 {{'sinter.gather_elements' op dimension 0 of 'indices' has size 5, but that of 'x' only 4}}
  %0 = sinter.gather_elements %x, %i axis 1 : (tensor<4x8xf32>, tensor<5x3xi64>) -> tensor<5x3xf32>
  return
}

// -----

func.func @gather_elements_c2(%x : tensor<4x0xf32>, %i : tensor<4x3xi64>) {
  // expected-error @+1 {{'sinter.gather_elements' op dimension 1 of 'x' is empty, but the result is not}}
  %0 = sinter.gather_elements %x, %i axis 1 : (tensor<4x0xf32>, tensor<4x3xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @gather_nd_c1_range(%x : tensor<4x8xf32>, %i : tensor<3xi64>) {
  // expected-error @+1 {{'sinter.gather_nd' op 'batch_dims' is 1, but 'x' has rank 2 and 'indices' has rank 1}}
  %0 = sinter.gather_nd %x, %i batch_dims 1 : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<f32>
  return
}

// -----

func.func @gather_nd_c1(%x : tensor<4x8xf32>, %i : tensor<3x1xi64>) {
  // expected-error @+1 {{'sinter.gather_nd' op 'x' and 'indices' differ in the 1 batch dimensions}}
  %0 = sinter.gather_nd %x, %i batch_dims 1 : (tensor<4x8xf32>, tensor<3x1xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @gather_nd_c2(%x : tensor<4x8xf32>, %i : tensor<3xi64>) {
  // expected-error @+1 {{'sinter.gather_nd' op the index tuples have 3 entries, but 'x' has only 2 dimensions after the batch}}
  %0 = sinter.gather_nd %x, %i batch_dims 0 : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<f32>
  return
}

// -----

func.func @gather_nd_c3(%x : tensor<0x8xf32>, %i : tensor<3x1xi64>) {
  // expected-error @+1 {{'sinter.gather_nd' op dimension 0 of 'x' is empty, but the result is not}}
  %0 = sinter.gather_nd %x, %i batch_dims 0 : (tensor<0x8xf32>, tensor<3x1xi64>) -> tensor<3x8xf32>
  return
}

// -----

func.func @scatter_c1(%x : tensor<4x8xf32>, %i : tensor<3xi64>, %u : tensor<4x2xf32>) {
  // expected-error @+1 {{'sinter.scatter' op 'updates' has shape 4x2, expected 4x3}}
  %0 = sinter.scatter sum %x, %i, %u axis 1 : (tensor<4x8xf32>, tensor<3xi64>, tensor<4x2xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @scatter_c1_element(%x : tensor<4x8xf32>, %i : tensor<3xi64>, %u : tensor<4x3xf64>) {
  // expected-error @+1 {{'sinter.scatter' op 'updates' have element type 'f64', expected 'f32'}}
  %0 = sinter.scatter sum %x, %i, %u axis 1 : (tensor<4x8xf32>, tensor<3xi64>, tensor<4x3xf64>) -> tensor<4x8xf32>
  return
}

// -----

func.func @scatter_c2(%x : tensor<4xi1>, %i : tensor<3xi64>, %u : tensor<3xi1>) {
  // expected-error @+1 {{'sinter.scatter' op kind sum takes numbers, but the operand has element type i1}}
  %0 = sinter.scatter sum %x, %i, %u axis 0 : (tensor<4xi1>, tensor<3xi64>, tensor<3xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @scatter_elements_c1(%x : tensor<4x8xf32>, %i : tensor<4x2xi64>, %u : tensor<4x3xf32>) {
  // expected-error @+1 {{'sinter.scatter_elements' op 'updates' has shape 4x3, expected 4x2}}
  %0 = sinter.scatter_elements set %x, %i, %u axis 1 : (tensor<4x8xf32>, tensor<4x2xi64>, tensor<4x3xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @scatter_elements_c1_sizes(%x : tensor<4x8xf32>, %i : tensor<5x2xi64>, %u : tensor<5x2xf32>) {
  // expected-error @+1 {{'sinter.scatter_elements' op dimension 0 of 'indices' has size 5, but that of 'x' only 4}}
  %0 = sinter.scatter_elements set %x, %i, %u axis 1 : (tensor<4x8xf32>, tensor<5x2xi64>, tensor<5x2xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @scatter_nd_c1(%x : tensor<4x8xf32>, %i : tensor<3x1xi64>, %u : tensor<3xf32>) {
  // expected-error @+1 {{'sinter.scatter_nd' op 'updates' has shape 3, expected 3x8}}
  %0 = sinter.scatter_nd max %x, %i, %u : (tensor<4x8xf32>, tensor<3x1xi64>, tensor<3xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @scatter_nd_c1_scalar(%x : tensor<4xf32>, %i : tensor<i64>) {
  // expected-error @+1 {{'sinter.scatter_nd' op 'indices' is a scalar, expected a tensor of index tuples}}
  %0 = sinter.scatter_nd set %x, %i, %x : (tensor<4xf32>, tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return
}
