// RUN: sinter-opt %s --verify-diagnostics --split-input-file

func.func @constant_kind() {
  // expected-error @+1 {{'sinter.constant' op the value must be dense or dense_resource}}
  %0 = sinter.constant sparse<[[0]], [1.0]> : tensor<4xf32>
  return
}

// -----

func.func @constant_element() {
  // expected-error @+1 {{'sinter.constant' op result #0 must be element tensor of static shape, but got 'tensor<4xi4>'}}
  %0 = sinter.constant dense<1> : tensor<4xi4>
  return
}

// -----

func.func @iota_c1() {
  // expected-error @+1 {{'sinter.iota' op 'axis' is 0, but the rank is 0}}
  %0 = sinter.iota {axis = 0 : i64} : tensor<i64>
  return
}

// -----

func.func @broadcast_c1_entries(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.broadcast' op 'dims' has 1 entries, expected 2}}
  %0 = sinter.broadcast %x dims [1] : tensor<4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @broadcast_c1_ascending(%x : tensor<4x4xf32>) {
  // expected-error @+1 {{'sinter.broadcast' op 'dims' are not ascending}}
  %0 = sinter.broadcast %x dims [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @broadcast_c1_range(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.broadcast' op 'dims' holds 3, but the rank is 3}}
  %0 = sinter.broadcast %x dims [1, 3] : tensor<4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @broadcast_c2(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.broadcast' op dimension 1 of size 8 cannot become dimension 2 of size 9}}
  %0 = sinter.broadcast %x dims [1, 2] : tensor<4x8xf32> -> tensor<2x4x9xf32>
  return
}

// -----

func.func @broadcast_c3(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.broadcast' op operand and result have element types 'f32' and 'f64', expected equal ones}}
  %0 = sinter.broadcast %x dims [1, 2] : tensor<4x8xf32> -> tensor<2x4x8xf64>
  return
}

// -----

func.func @reshape_c1(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.reshape' op turns 32 elements into 31}}
  %0 = sinter.reshape %x : tensor<4x8xf32> -> tensor<31xf32>
  return
}

// -----

func.func @reshape_c1_element(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.reshape' op operand and result have element types 'f32' and 'i32', expected equal ones}}
  %0 = sinter.reshape %x : tensor<4x8xf32> -> tensor<32xi32>
  return
}

// -----

func.func @transpose_c1_entries(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.transpose' op 'perm' has 1 entries, expected 2}}
  %0 = sinter.transpose %x perm [0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @transpose_c1(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.transpose' op 'perm' holds 0 twice}}
  %0 = sinter.transpose %x perm [0, 0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @transpose_result(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{result #0 has type 'tensor<4x8xf32>', expected 'tensor<8x4xf32>'}}
  %0 = sinter.transpose %x perm [1, 0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @slice_c1_entries(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.slice' op 'limits' has 1 entries, expected 2}}
  %0 = sinter.slice %x starts [0, 0] limits [4] strides [1, 1] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @slice_c1_start(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.slice' op 'starts' holds -1, expected at least 0}}
  %0 = sinter.slice %x starts [-1, 0] limits [4, 8] strides [1, 1] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @slice_c1_order(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.slice' op dimension 1 starts at 5, after its limit 4}}
  %0 = sinter.slice %x starts [0, 5] limits [4, 4] strides [1, 1] : (tensor<4x8xf32>) -> tensor<4x0xf32>
  return
}

// -----

func.func @slice_c1_limit(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.slice' op the limit of dimension 1 is 9, but its size is 8}}
  %0 = sinter.slice %x starts [0, 0] limits [4, 9] strides [1, 1] : (tensor<4x8xf32>) -> tensor<4x9xf32>
  return
}

// -----

func.func @slice_c1_stride(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.slice' op 'strides' holds 0, expected at least 1}}
  %0 = sinter.slice %x starts [0, 0] limits [4, 8] strides [1, 0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @pad_c1(%x : tensor<4x8xf32>, %v : tensor<f32>) {
  // expected-error @+1 {{'sinter.pad' op 'low' holds -1, expected at least 0}}
  %0 = sinter.pad %x, %v low [0, -1] high [0, 0] interior [0, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x7xf32>
  return
}

// -----

func.func @pad_c1_overflow(%x : tensor<4x8xf32>, %v : tensor<f32>) {
  // expected-error @+1 {{'sinter.pad' op the padded size of dimension 1 overflows}}
  %0 = sinter.pad %x, %v low [0, 0] high [0, 0] interior [0, 9223372036854775807] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @pad_c2(%x : tensor<4x8xf32>, %v : tensor<1xf32>) {
  // expected-error @+1 {{'sinter.pad' op the padding value has type 'tensor<1xf32>', expected 'tensor<f32>'}}
  %0 = sinter.pad %x, %v low [0, 1] high [0, 0] interior [0, 0] : (tensor<4x8xf32>, tensor<1xf32>) -> tensor<4x9xf32>
  return
}

// -----

func.func @pad_unbounded(%x : tensor<4x8xf32>, %v : tensor<f32>) {
  // expected-error @+1 {{'sinter.pad' op result #0 must be element tensor of static shape}}
  %0 = sinter.pad %x, %v low [0, 4611686018427387904] high [0, 0] interior [0, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x4611686018427387912xf32>
  return
}

// -----

func.func @concat_c1_none() {
  // expected-error @+1 {{'sinter.concat' op has no operand}}
  %0 = "sinter.concat"() {axis = 0 : i64} : () -> tensor<4xf32>
  return
}

// -----

func.func @concat_c1_axis(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.concat' op 'axis' is 2, but the rank is 2}}
  %0 = sinter.concat %x axis 2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @concat_c1_sizes(%x : tensor<4x8xf32>, %y : tensor<4x7xf32>) {
  // expected-error @+1 {{'sinter.concat' op operand 1 has type 'tensor<4x7xf32>', which does not continue 'tensor<4x8xf32>' along dimension 0}}
  %0 = sinter.concat %x, %y axis 0 : (tensor<4x8xf32>, tensor<4x7xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @concat_c1_rank(%x : tensor<4x8xf32>, %y : tensor<4xf32>) {
  // expected-error @+1 {{'sinter.concat' op operand 1 has type 'tensor<4xf32>', which does not continue}}
  %0 = sinter.concat %x, %y axis 0 : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @concat_c1_element(%x : tensor<4x8xf32>, %y : tensor<4x8xf64>) {
  // expected-error @+1 {{'sinter.concat' op operand 1 has type 'tensor<4x8xf64>', which does not continue}}
  %0 = sinter.concat %x, %y axis 0 : (tensor<4x8xf32>, tensor<4x8xf64>) -> tensor<8x8xf32>
  return
}

// -----

func.func @reverse_c1(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.reverse' op 'dims' holds 0 twice}}
  %0 = sinter.reverse %x dims [0, 0] : tensor<4x8xf32>
  return
}

// -----

func.func @index_fault_c1(%i: tensor<3xi64>) {
  // expected-error @+1 {{'sinter.index_fault' op no index is in the range from 4 to 4}}
  %0 = sinter.index_fault %i from 4 to 4 : (tensor<3xi64>) -> tensor<2xi64>
  return
}

// -----

// expected-error @+1 {{result 0: attribute 'sinter.index_checks' must list {node, lower, upper} for each row of a tensor of two columns of i64}}
func.func @index_checks(%i: tensor<1x2xi64>) -> (tensor<1x2xi64> {sinter.index_checks = [{node = "n"}]}) {
  return %i : tensor<1x2xi64>
}
