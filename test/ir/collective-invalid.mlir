// RUN: sinter-opt %s --verify-diagnostics --split-input-file

func.func @c1() {
  // expected-error @+1 {{'sinter.all_reduce' op has no operand}}
  "sinter.all_reduce"() {axis = #sinter<mesh_axis data>, replicas = 2 : i64} : () -> ()
  return
}

// -----

func.func @c1_types(%x : tensor<4xf32>) {
  // expected-error @+2 {{'sinter.all_reduce' op failed to infer returned types}}
  // expected-error @+1 {{'sinter.all_reduce' op inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  %0 = "sinter.all_reduce"(%x) {axis = #sinter<mesh_axis data>, replicas = 2 : i64} : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @c2(%x : tensor<4xf32>) {
  // expected-error @+1 {{'sinter.all_reduce' op 'replicas' is 0, expected 1 or more}}
  %0 = sinter.all_reduce %x over data of 0 : tensor<4xf32>
  return
}

// -----

func.func @scatter_c1(%x : tensor<9xf32>) {
  // expected-error @+1 {{'sinter.reduce_scatter' op cuts 9 elements into 2 parts}}
  %0 = sinter.reduce_scatter %x over data of 2 : tensor<9xf32>
  return
}

// -----

func.func @scatter_rank(%x : tensor<2x4xf32>) {
  // expected-error @+1 {{'sinter.reduce_scatter' op has an operand of type 'tensor<2x4xf32>', expected one dimension}}
  %0 = sinter.reduce_scatter %x over data of 2 : tensor<2x4xf32>
  return
}

// -----

func.func @gather_c1() {
  // expected-error @+1 {{'sinter.all_gather' op has no operand}}
  "sinter.all_gather"() {axis = #sinter<mesh_axis data>, replicas = 2 : i64} : () -> ()
  return
}

// -----

func.func @gather_c2(%x : tensor<4xf32>) {
  // expected-error @+1 {{'sinter.all_gather' op 'replicas' is -1, expected 1 or more}}
  %0 = sinter.all_gather %x over data of -1 : tensor<4xf32>
  %1 = sinter.add %0, %0 : tensor<4xf32>
  return
}

// -----

func.func @gather_size(%x : tensor<8xf32>) {
  // expected-error @+1 {{'sinter.all_gather' op gathers 2305843009213693952 parts of 8 elements, more than 2^63}}
  %0 = sinter.all_gather %x over data of 2305843009213693952 : tensor<8xf32>
  return
}
