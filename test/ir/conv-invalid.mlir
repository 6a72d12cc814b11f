// RUN: sinter-opt %s --verify-diagnostics --split-input-file

func.func @c1_element(%x : tensor<2x6x8xf32>, %w : tensor<4x6x3xf16>) {
  // expected-error @+1 {{'sinter.conv' op input and filter have element types 'f32' and 'f16', expected equal ones}}
  %y = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>,
         pads_high = array<i64: 0>} : (tensor<2x6x8xf32>, tensor<4x6x3xf16>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @c1_rank(%x : tensor<2x6xf32>, %w : tensor<4x6xf32>) {
  // expected-error @+1 {{'sinter.conv' op the input has rank 2, expected at least 3}}
  %y = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>,
         pads_high = array<i64: 0>} : (tensor<2x6xf32>, tensor<4x6xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @c1_filter_rank(%x : tensor<2x6x8xf32>, %w : tensor<4x6x3x3xf32>) {
  // expected-error @+1 {{'sinter.conv' op the filter has rank 4, expected 3 as the input has}}
  %y = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>,
         pads_high = array<i64: 0>} : (tensor<2x6x8xf32>, tensor<4x6x3x3xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @c2_entries(%x : tensor<2x6x8xf32>, %w : tensor<4x6x3xf32>) {
  // expected-error @+1 {{'sinter.conv' op 'strides' has 2 entries, expected 1}}
  %y = sinter.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>,
         pads_high = array<i64: 0>} : (tensor<2x6x8xf32>, tensor<4x6x3xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @c2_strides(%x : tensor<2x6x8xf32>, %w : tensor<4x6x3xf32>) {
  // expected-error @+1 {{'sinter.conv' op 'strides' holds 0, expected at least 1}}
  %y = sinter.conv %x, %w {strides = array<i64: 0>, dilations = array<i64: 1>, pads_low = array<i64: 0>,
         pads_high = array<i64: 0>} : (tensor<2x6x8xf32>, tensor<4x6x3xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @c2_dilations(%x : tensor<2x6x8xf32>, %w : tensor<4x6x3xf32>) {
  // expected-error @+1 {{'sinter.conv' op 'dilations' holds -1, expected at least 1}}
  %y = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: -1>, pads_low = array<i64: 0>,
         pads_high = array<i64: 0>} : (tensor<2x6x8xf32>, tensor<4x6x3xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @c2_pads_low(%x : tensor<2x6x8xf32>, %w : tensor<4x6x3xf32>) {
  // expected-error @+1 {{'sinter.conv' op 'pads_low' holds -1, expected at least 0}}
  %y = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: -1>,
         pads_high = array<i64: 0>} : (tensor<2x6x8xf32>, tensor<4x6x3xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @c2_pads_high(%x : tensor<2x6x8xf32>, %w : tensor<4x6x3xf32>) {
  // expected-error @+1 {{'sinter.conv' op 'pads_high' holds -2, expected at least 0}}
  %y = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>,
         pads_high = array<i64: -2>} : (tensor<2x6x8xf32>, tensor<4x6x3xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @c3_positive(%x : tensor<2x6x8xf32>, %w : tensor<4x6x3xf32>) {
  // expected-error @+1 {{'sinter.conv' op 'groups' is 0, expected at least 1}}
  %y = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>,
         pads_high = array<i64: 0>, groups = 0 : i64} : (tensor<2x6x8xf32>, tensor<4x6x3xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @c3_divides(%x : tensor<2x6x8xf32>, %w : tensor<4x6x3xf32>) {
  // expected-error @+1 {{'sinter.conv' op 'groups' is 4, which does not divide 6 channels and 4 filters}}
  %y = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>,
         pads_high = array<i64: 0>, groups = 4 : i64} : (tensor<2x6x8xf32>, tensor<4x6x3xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @c3_filter(%x : tensor<2x6x8xf32>, %w : tensor<4x6x3xf32>) {
  // expected-error @+1 {{'sinter.conv' op the filter's second dimension is 6, expected 3 (6 channels in 2 groups)}}
  %y = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>,
         pads_high = array<i64: 0>, groups = 2 : i64} : (tensor<2x6x8xf32>, tensor<4x6x3xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @c4_larger(%x : tensor<2x6x8xf32>, %w : tensor<4x6x3xf32>) {
  // expected-error @+1 {{'sinter.conv' op the dilated window along dimension 2 is larger than the padded size 8}}
  %y = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 4>, pads_low = array<i64: 0>,
         pads_high = array<i64: 0>} : (tensor<2x6x8xf32>, tensor<4x6x3xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @c4_empty(%x : tensor<2x6x8xf32>, %w : tensor<4x6x0xf32>) {
  // expected-error @+1 {{'sinter.conv' op the window along dimension 2 has size 0, expected at least 1}}
  %y = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>,
         pads_high = array<i64: 0>} : (tensor<2x6x8xf32>, tensor<4x6x0xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @c4_overflow(%x : tensor<2x6x8xf32>, %w : tensor<4x6x3xf32>) {
  // expected-error @+1 {{'sinter.conv' op the padded size of dimension 2 overflows}}
  %y = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 9223372036854775807>,
         pads_high = array<i64: 0>} : (tensor<2x6x8xf32>, tensor<4x6x3xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @c4_dilated_overflow(%x : tensor<2x6x8xf32>, %w : tensor<4x6x3xf32>) {
  // expected-error @+1 {{'sinter.conv' op the dilated window along dimension 2 is larger than the padded size 8}}
  %y = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 9223372036854775807>, pads_low = array<i64: 0>,
         pads_high = array<i64: 0>} : (tensor<2x6x8xf32>, tensor<4x6x3xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @result(%x : tensor<2x6x8xf32>, %w : tensor<4x6x3xf32>) {
  // expected-error @+1 {{result #0 has type 'tensor<2x4x7xf32>', expected 'tensor<2x4x6xf32>'}}
  %y = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>,
         pads_high = array<i64: 0>} : (tensor<2x6x8xf32>, tensor<4x6x3xf32>) -> tensor<2x4x7xf32>
  return
}

// -----

func.func @input_grad_c1(%dy : tensor<2x4x7xf32>, %w : tensor<4x6x3xf32>) {
  // expected-error @+1 {{'sinter.conv_input_grad' op 'output_grad' has type 'tensor<2x4x7xf32>', but the convolution has type 'tensor<2x4x6xf32>'}}
  %dx = sinter.conv_input_grad %dy, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>,
          pads_high = array<i64: 0>} : (tensor<2x4x7xf32>, tensor<4x6x3xf32>) -> tensor<2x6x8xf32>
  return
}

// -----

func.func @filter_grad_c1(%x : tensor<2x6x8xf32>, %dy : tensor<2x4x6xf32>) {
  // expected-error @+1 {{'sinter.conv_filter_grad' op 'output_grad' has type 'tensor<2x4x6xf32>', but the convolution has type 'tensor<2x4x7xf32>'}}
  %dw = sinter.conv_filter_grad %x, %dy {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>,
          pads_high = array<i64: 0>} : (tensor<2x6x8xf32>, tensor<2x4x6xf32>) -> tensor<4x6x2xf32>
  return
}

// -----

func.func @c1_bytes(%x : tensor<1x2x8xi8>, %w : tensor<4x2x3xi8>) {
  // expected-error @+1 {{'sinter.conv' op operand #0 must be float or int32 tensor of static shape, but got 'tensor<1x2x8xi8>'}}
  %y = sinter.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>,
         pads_high = array<i64: 0>} : (tensor<1x2x8xi8>, tensor<4x2x3xi8>) -> tensor<1x4x6xi8>
  return
}
