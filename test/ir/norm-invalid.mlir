// RUN: sinter-opt %s --verify-diagnostics --split-input-file

func.func @softmax_c1(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.softmax' op 'axis' is 2, but the rank is 2}}
  %0 = sinter.softmax %x {axis = 2 : i64} : tensor<4x8xf32>
  return
}

// -----

func.func @log_softmax_c1(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.log_softmax' op 'axis' is -1, but the rank is 2}}
  %0 = sinter.log_softmax %x {axis = -1 : i64} : tensor<4x8xf32>
  return
}

// -----

func.func @layer_norm_c1(%x : tensor<4x8xf32>, %s : tensor<8xf32>) {
  // expected-error @+1 {{'sinter.layer_norm' op 'axis' is 3, but the rank is 2}}
  %0 = sinter.layer_norm %x, %s {axis = 3 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @layer_norm_c2_scale(%x : tensor<4x8xf32>, %s : tensor<4xf32>) {
  // expected-error @+1 {{'sinter.layer_norm' op 'scale' has shape 4, expected 8}}
  %0 = sinter.layer_norm %x, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @layer_norm_c2_bias(%x : tensor<4x8xf32>, %s : tensor<8xf32>, %b : tensor<f32>) {
  // expected-error @+1 {{'sinter.layer_norm' op 'bias' has shape scalar, expected 8}}
  %0 = sinter.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @layer_norm_c2_element(%x : tensor<4x8xf32>, %s : tensor<8xf64>) {
  // expected-error @+1 {{'sinter.layer_norm' op 'scale' has element type 'f64', expected 'f32'}}
  %0 = sinter.layer_norm %x, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf64>) -> tensor<4x8xf32>
  return
}

// -----

func.func @batch_norm_c1(%x : tensor<3xf32>, %s : tensor<3xf32>) {
  // expected-error @+1 {{'sinter.batch_norm' op 'x' has rank 1, expected at least 2}}
  %0 = sinter.batch_norm %x, %s, %s, %s, %s {epsilon = 1.0e-5 : f64} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @batch_norm_c2(%x : tensor<4x8xf32>, %s : tensor<3xf32>) {
  // expected-error @+1 {{'sinter.batch_norm' op 'scale' has shape 3, expected 8}}
  %0 = sinter.batch_norm %x, %s, %s, %s, %s {epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @batch_norm_training_c1(%x : tensor<3xf32>, %s : tensor<3xf32>) {
  // expected-error @+1 {{'sinter.batch_norm_training' op 'x' has rank 1, expected at least 2}}
  %0, %1, %2 = sinter.batch_norm_training %x, %s, %s {epsilon = 1.0e-5 : f64} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_training_c2(%x : tensor<4x8xf32>, %s : tensor<3xf32>) {
  // expected-error @+1 {{'sinter.batch_norm_training' op 'scale' has shape 3, expected 8}}
  %0, %1, %2 = sinter.batch_norm_training %x, %s, %s {epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x8xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @group_norm_c1(%x : tensor<3xf32>, %s : tensor<3xf32>) {
  // expected-error @+1 {{'sinter.group_norm' op 'x' has rank 1, expected at least 2}}
  %0 = sinter.group_norm %x, %s, %s {groups = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @group_norm_c2(%x : tensor<4x8xf32>, %s : tensor<8xf32>) {
  // expected-error @+1 {{'sinter.group_norm' op 'groups' is 3, which does not divide 8 channels}}
  %0 = sinter.group_norm %x, %s, %s {groups = 3 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @group_norm_c3(%x : tensor<4x8xf32>, %s : tensor<3xf32>) {
  // expected-error @+1 {{'sinter.group_norm' op 'scale' has shape 3, expected 8}}
  %0 = sinter.group_norm %x, %s, %s {groups = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x8xf32>
  return
}
