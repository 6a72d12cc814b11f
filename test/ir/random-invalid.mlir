// RUN: sinter-opt %s --verify-diagnostics --split-input-file

func.func @c1_one(%x : tensor<4x8xf32>, %s : tensor<i64>) {
  // expected-error @+1 {{'sinter.dropout' op 'ratio' is}}
  %0 = sinter.dropout %x, %s, %s {ratio = 1.0 : f64, op_id = 3 : i64}
     : (tensor<4x8xf32>, tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
  return
}

// -----

func.func @c1_negative(%x : tensor<4x8xf32>, %s : tensor<i64>) {
  // expected-error @+1 {{'sinter.dropout' op 'ratio' is}}
  %0 = sinter.dropout %x, %s, %s {ratio = -0.5 : f64, op_id = 3 : i64}
     : (tensor<4x8xf32>, tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
  return
}

// -----

func.func @c2(%x : tensor<4x8xf32>, %s : tensor<i64>) {
  // expected-error @+1 {{'sinter.dropout' op failed to verify that all of {x, result} have same type}}
  %0 = sinter.dropout %x, %s, %s {ratio = 0.5 : f64, op_id = 3 : i64}
     : (tensor<4x8xf32>, tensor<i64>, tensor<i64>) -> tensor<4x9xf32>
  return
}
