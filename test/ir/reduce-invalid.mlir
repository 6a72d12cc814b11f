// RUN: sinter-opt %s --verify-diagnostics --split-input-file

func.func @reduce_c1_distinct(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.reduce' op 'dims' holds 1 twice}}
  %0 = sinter.reduce sum %x dims [1, 1] : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c1_ascending(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.reduce' op 'dims' are not ascending}}
  %0 = sinter.reduce sum %x dims [1, 0] : (tensor<4x8xf32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_c1_range(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.reduce' op 'dims' holds 2, but the rank is 2}}
  %0 = sinter.reduce sum %x dims [2] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @reduce_c2_truth(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.reduce' op kind all takes i1, but the operand has element type 'f32'}}
  %0 = sinter.reduce all %x dims [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c2_number(%x : tensor<4xi1>) {
  // expected-error @+1 {{'sinter.reduce' op kind sum takes numbers, but the operand has element type 'i1'}}
  %0 = sinter.reduce sum %x dims [0] : (tensor<4xi1>) -> tensor<i1>
  return
}

// -----

func.func @reduce_result(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{result #0 has type 'tensor<4x1xf32>', expected 'tensor<4xf32>'}}
  %0 = sinter.reduce sum %x dims [1] : (tensor<4x8xf32>) -> tensor<4x1xf32>
  return
}

// -----

func.func @arg_reduce_c1(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.arg_reduce' op kind is sum, expected max or min}}
  %0 = sinter.arg_reduce sum %x {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4xi64>
  return
}

// -----

func.func @arg_reduce_c2_range(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.arg_reduce' op 'axis' is -1, but the rank is 2}}
  %0 = sinter.arg_reduce max %x {axis = -1 : i64} : (tensor<4x8xf32>) -> tensor<4xi64>
  return
}

// -----

func.func @arg_reduce_c2_empty(%x : tensor<4x0xf32>) {
  // expected-error @+1 {{'sinter.arg_reduce' op dimension 1 is empty and has no greatest or smallest element}}
  %0 = sinter.arg_reduce max %x {axis = 1 : i64} : (tensor<4x0xf32>) -> tensor<4xi64>
  return
}

// -----

func.func @window_c1_kind(%x : tensor<8xf32>) {
  // expected-error @+1 {{'sinter.reduce_window' op kind is prod, expected sum, max or min}}
  %0 = sinter.reduce_window prod %x {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>,
         pads_low = array<i64: 0>, pads_high = array<i64: 0>}
     : (tensor<8xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @window_c1_entries(%x : tensor<8xf32>) {
  // expected-error @+1 {{'sinter.reduce_window' op 'window' has 2 entries, expected 1}}
  %0 = sinter.reduce_window max %x {window = array<i64: 2, 2>, strides = array<i64: 1>, dilations = array<i64: 1>,
         pads_low = array<i64: 0>, pads_high = array<i64: 0>}
     : (tensor<8xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @window_c2_window(%x : tensor<8xf32>) {
  // expected-error @+1 {{'sinter.reduce_window' op 'window' holds 0, expected at least 1}}
  %0 = sinter.reduce_window max %x {window = array<i64: 0>, strides = array<i64: 1>, dilations = array<i64: 1>,
         pads_low = array<i64: 0>, pads_high = array<i64: 0>}
     : (tensor<8xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @window_c2_strides(%x : tensor<8xf32>) {
  // expected-error @+1 {{'sinter.reduce_window' op 'strides' holds -9223372036854775808, expected at least 1}}
  %0 = sinter.reduce_window max %x {window = array<i64: 2>, strides = array<i64: -9223372036854775808>, dilations = array<i64: 1>,
         pads_low = array<i64: 0>, pads_high = array<i64: 0>}
     : (tensor<8xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @window_c2_dilations(%x : tensor<8xf32>) {
  // expected-error @+1 {{'sinter.reduce_window' op 'dilations' holds 0, expected at least 1}}
  %0 = sinter.reduce_window max %x {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 0>,
         pads_low = array<i64: 0>, pads_high = array<i64: 0>}
     : (tensor<8xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @window_c2_pads(%x : tensor<8xf32>) {
  // expected-error @+1 {{'sinter.reduce_window' op 'pads_low' holds -1, expected at least 0}}
  %0 = sinter.reduce_window max %x {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>,
         pads_low = array<i64: -1>, pads_high = array<i64: 0>}
     : (tensor<8xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @window_c3(%x : tensor<8xf32>) {
  // expected-error @+1 {{'sinter.reduce_window' op the dilated window along dimension 0 is larger than the padded size 9}}
  %0 = sinter.reduce_window max %x {window = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 5>,
         pads_low = array<i64: 0>, pads_high = array<i64: 1>}
     : (tensor<8xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @window_grad_c1(%x : tensor<8xf32>, %dy : tensor<7xf32>) {
  // expected-error @+1 {{'sinter.reduce_window_grad' op kind is min, expected max or sum}}
  %0 = sinter.reduce_window_grad min %x, %dy {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>,
         pads_low = array<i64: 0>, pads_high = array<i64: 0>}
     : (tensor<8xf32>, tensor<7xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @window_grad_c2(%x : tensor<8xf32>, %dy : tensor<6xf32>) {
  // expected-error @+1 {{'sinter.reduce_window_grad' op 'output_grad' has type 'tensor<6xf32>', but the reduce_window has type 'tensor<7xf32>'}}
  %0 = sinter.reduce_window_grad max %x, %dy {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>,
         pads_low = array<i64: 0>, pads_high = array<i64: 0>}
     : (tensor<8xf32>, tensor<6xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @cumulative_c1(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.cumulative' op kind is max, expected sum or prod}}
  %0 = sinter.cumulative max %x {axis = 1 : i64} : tensor<4x8xf32>
  return
}

// -----

func.func @cumulative_c2(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.cumulative' op 'axis' is 2, but the rank is 2}}
  %0 = sinter.cumulative sum %x {axis = 2 : i64} : tensor<4x8xf32>
  return
}

// -----

func.func @cumulative_parts_c1(%x : tensor<4x8xf32>, %s : tensor<4x2xf32>) {
  // expected-error @+1 {{'sinter.cumulative_parts' op kind is max, expected sum or prod}}
  %0 = sinter.cumulative_parts max %x, %s {axis = 1 : i64, part = 3 : i64} : tensor<4x8xf32>, tensor<4x2xf32>
  return
}

// -----

func.func @cumulative_parts_c2(%x : tensor<4x8xf32>, %s : tensor<4x2xf32>) {
  // expected-error @+1 {{'sinter.cumulative_parts' op 'axis' is 2, but the rank is 2}}
  %0 = sinter.cumulative_parts sum %x, %s {axis = 2 : i64, part = 3 : i64} : tensor<4x8xf32>, tensor<4x2xf32>
  return
}

// -----

func.func @cumulative_parts_c3(%x : tensor<4x8xf32>, %s : tensor<4x2xf32>) {
  // expected-error @+1 {{'sinter.cumulative_parts' op 'part' is 0, expected at least 1}}
  %0 = sinter.cumulative_parts sum %x, %s {axis = 1 : i64, part = 0 : i64} : tensor<4x8xf32>, tensor<4x2xf32>
  return
}

// -----

func.func @cumulative_parts_c4(%x : tensor<4x8xf32>, %s : tensor<4x3xf32>) {
  // expected-error @+1 {{'sinter.cumulative_parts' op 'starts' has type 'tensor<4x3xf32>', expected 'tensor<4x2xf32>'}}
  %0 = sinter.cumulative_parts sum %x, %s {axis = 1 : i64, part = 3 : i64} : tensor<4x8xf32>, tensor<4x3xf32>
  return
}

// -----

func.func @cumulative_parts_c5(%x : tensor<4x8xf16>, %s : tensor<4x2xf16>) {
  // expected-error @+1 {{'sinter.cumulative_parts' op 'starts' has type 'tensor<4x2xf16>', expected 'tensor<4x2xf32>'}}
  %0 = sinter.cumulative_parts sum %x, %s {axis = 1 : i64, part = 3 : i64} : tensor<4x8xf16>, tensor<4x2xf16>
  return
}

// -----

func.func @top_k_c1(%x : tensor<f32>) {
  // expected-error @+1 {{'sinter.top_k' op 'axis' is 0, but the rank is 0}}
  %0, %1 = sinter.top_k %x {axis = 0 : i64, k = 0 : i64} : (tensor<f32>) -> (tensor<f32>, tensor<i64>)
  return
}

// -----

func.func @top_k_c2(%x : tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.top_k' op 'k' is 9, expected 0 to 8, the size of dimension 1}}
  %0, %1 = sinter.top_k %x {axis = 1 : i64, k = 9 : i64} : (tensor<4x8xf32>) -> (tensor<4x9xf32>, tensor<4x9xi64>)
  return
}
