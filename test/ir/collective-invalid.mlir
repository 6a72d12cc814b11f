// RUN: sinter-opt %s --verify-diagnostics --split-input-file

func.func @c1() {
  // expected-error @+1 {{'sinter.all_reduce' op has no operand}}
  "sinter.all_reduce"() {replicas = 2 : i64} : () -> ()
  return
}

// -----

func.func @c1_types(%x : tensor<4xf32>) {
  // expected-error @+2 {{'sinter.all_reduce' op failed to infer returned types}}
  // expected-error @+1 {{'sinter.all_reduce' op inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  %0 = "sinter.all_reduce"(%x) {replicas = 2 : i64} : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @c2(%x : tensor<4xf32>) {
  // expected-error @+1 {{'sinter.all_reduce' op 'replicas' is 0, expected 1 or more}}
  %0 = sinter.all_reduce %x {replicas = 0 : i64} : tensor<4xf32>
  return
}
