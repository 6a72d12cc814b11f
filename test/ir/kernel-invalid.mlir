// RUN: sinter-opt %s --split-input-file --verify-diagnostics

// kernel C3: kinds with loops have a domain.
func.func @c3_missing(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.kernel' op of kind loop needs a domain}}
  %0 = sinter.kernel loop(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.exp %a : tensor<4x8xf32>
    sinter.yield %b : tensor<4x8xf32>
  }
  return
}

// -----

// kernel C3: kinds without loops of their own have none.
func.func @c3_surplus(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.kernel' op of kind concat has no loops of its own, but a domain}}
  %0 = sinter.kernel concat(%x) over <[4, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.concat %a axis 0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    sinter.yield %b : tensor<4x8xf32>
  }
  return
}

// -----

// kernel C4: a view for each result.
func.func @c4_count(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{of kind loop has 0 views for 1 results}}
  %0 = sinter.kernel loop(%x) over <[4, 8] views []> : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.exp %a : tensor<4x8xf32>
    sinter.yield %b : tensor<4x8xf32>
  }
  return
}

// -----

// kernel C4: a view of the rank of its result.
func.func @c4_rank(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has a view of 1 dimensions for a result of 2}}
  %0 = sinter.kernel loop(%x) over <[4, 8] views [(d0, d1) -> (d0)]> : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.exp %a : tensor<4x8xf32>
    sinter.yield %b : tensor<4x8xf32>
  }
  return
}

// -----

// kernel C4: a dimension is a loop of its size.
func.func @c4_size(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has a result with a dimension of 4 elements that is not a loop of that size}}
  %0 = sinter.kernel loop(%x) over <[4, 8] views [(d0, d1) -> (d1, d0)]> : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.exp %a : tensor<4x8xf32>
    sinter.yield %b : tensor<4x8xf32>
  }
  return
}

// -----

// kernel C4: a loop of size 0 does not index a dimension of size 1.
func.func @c4_empty(%x: tensor<4x1xf32>) {
  // expected-error @+1 {{has a result with a dimension of 1 elements that is not a loop of that size}}
  %0 = sinter.kernel loop(%x) over <[4, 0] views [(d0, d1) -> (d0, d1)]> : (tensor<4x1xf32>) -> tensor<4x1xf32> {
  ^bb0(%a: tensor<4x1xf32>):
    %b = sinter.exp %a : tensor<4x1xf32>
    sinter.yield %b : tensor<4x1xf32>
  }
  return
}

// -----

// kernel C4: only a dimension of size 1 may be no loop.
func.func @c4_zero(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has a result with a dimension of 8 elements that is not a loop of that size}}
  %0 = sinter.kernel loop(%x) over <[4] views [(d0) -> (d0, 0)]> : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.exp %a : tensor<4x8xf32>
    sinter.yield %b : tensor<4x8xf32>
  }
  return
}

// -----

// kernel C5: results lie over all loops, or over all that are not reduced.
func.func @c5_some(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has a result over some loops only}}
  %0 = sinter.kernel loop(%x) over <[4, 8, 3] views [(d0, d1, d2) -> (d0, d1)]> : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.exp %a : tensor<4x8xf32>
    sinter.yield %b : tensor<4x8xf32>
  }
  return
}

// -----

// kernel C6: only kind reduce has reduced loops.
func.func @c6_loops(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{of kind loop has reduced loops}}
  %0 = sinter.kernel loop(%x) over <[4, 8] reduced [1] views [(d0, d1) -> (d0, d1)]> : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.exp %a : tensor<4x8xf32>
    sinter.yield %b : tensor<4x8xf32>
  }
  return
}

// -----

// kernel C6: only kind reduce has reductions.
func.func @c6_op(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{of kind loop has a reduction}}
  %0 = sinter.kernel loop(%x) over <[4] views [(d0) -> (d0)]> : (tensor<4x8xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.reduce sum %a dims [1] : (tensor<4x8xf32>) -> tensor<4xf32>
    sinter.yield %b : tensor<4xf32>
  }
  return
}

// -----

// kernel C7: kinds matmul and conv have one contraction.
func.func @c7_none(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{of kind matmul must have one contraction}}
  %0 = sinter.kernel matmul(%x) over <[4, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.exp %a : tensor<4x8xf32>
    sinter.yield %b : tensor<4x8xf32>
  }
  return
}

// -----

// kernel C8: kind concat yields one concat.
func.func @c8(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{of kind concat must yield one concat}}
  %0 = sinter.kernel concat(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.exp %a : tensor<4x8xf32>
    sinter.yield %b : tensor<4x8xf32>
  }
  return
}

// -----

// kernel C9: the op of the kind.
func.func @c9_op(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{of kind scan must consist of one such op}}
  %0 = sinter.kernel scan(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.exp %a : tensor<4x8xf32>
    sinter.yield %b : tensor<4x8xf32>
  }
  return
}

// -----

// kernel C9: alone.
func.func @c9_alone(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{of kind scan must consist of one such op}}
  %0 = sinter.kernel scan(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.exp %a : tensor<4x8xf32>
    %c = sinter.cumulative sum %b {axis = 1 : i64} : tensor<4x8xf32>
    sinter.yield %c : tensor<4x8xf32>
  }
  return
}

// -----

// kernel C9: each result is yielded.
func.func @c9_results(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{must yield each result of 'sinter.top_k' once}}
  %0 = sinter.kernel sort(%x) : (tensor<4x8xf32>) -> tensor<4x2xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %v, %i = sinter.top_k %a {axis = 1 : i64, k = 2 : i64, largest} : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
    sinter.yield %v : tensor<4x2xf32>
  }
  return
}

// -----

// kernel C10: kinds multi and staged consist of kernels.
func.func @c10_op(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{of kind multi must consist of kernels}}
  %0 = sinter.kernel multi(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.exp %a : tensor<4x8xf32>
    sinter.yield %b : tensor<4x8xf32>
  }
  return
}

// -----

// kernel C10: parts of kind multi are independent.
func.func @c10_reads(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{of kind multi must consist of independent kernels}}
  %0:2 = sinter.kernel multi(%x) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  ^bb0(%a: tensor<4x8xf32>):
    %1 = sinter.kernel loop(%a) over <[4, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%p: tensor<4x8xf32>):
      %q = sinter.exp %p : tensor<4x8xf32>
      sinter.yield %q : tensor<4x8xf32>
    }
    %2 = sinter.kernel loop(%1) over <[4, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%p: tensor<4x8xf32>):
      %q = sinter.exp %p : tensor<4x8xf32>
      sinter.yield %q : tensor<4x8xf32>
    }
    sinter.yield %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
  }
  return
}

// -----

// kernel C10: each result is yielded once.
func.func @c10_once(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{must yield each result of 'sinter.kernel' once}}
  %0:2 = sinter.kernel multi(%x) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  ^bb0(%a: tensor<4x8xf32>):
    %1 = sinter.kernel loop(%a) over <[4, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%p: tensor<4x8xf32>):
      %q = sinter.exp %p : tensor<4x8xf32>
      sinter.yield %q : tensor<4x8xf32>
    }
    sinter.yield %1, %1 : tensor<4x8xf32>, tensor<4x8xf32>
  }
  return
}

// -----

// kernel C10: a staged kernel has two or more.
func.func @c10_stages(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{of kind staged needs two kernels or more}}
  %0 = sinter.kernel staged(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %1 = sinter.kernel loop(%a) over <[4, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%p: tensor<4x8xf32>):
      %q = sinter.exp %p : tensor<4x8xf32>
      sinter.yield %q : tensor<4x8xf32>
    }
    sinter.yield %1 : tensor<4x8xf32>
  }
  return
}

// -----

// library_call C1: the types of the operands.
func.func @call_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'sinter.library_call' op the body's arguments do not have the types of the operands}}
  %0 = sinter.library_call matmul(%x) : (tensor<4x8xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    sinter.yield %a : tensor<4x4xf32>
  }
  return
}

// -----

// library_call C2: the types of the results.
func.func @call_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{the yielded values do not have the types of the results}}
  %0 = sinter.library_call matmul(%x) : (tensor<4x8xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    sinter.yield %a : tensor<4x8xf32>
  }
  return
}

// -----

// library_call C3: one op of the kind.
func.func @call_c3(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{a call of kind conv must have one op that the library computes}}
  %0 = sinter.library_call conv(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.exp %a : tensor<4x8xf32>
    sinter.yield %b : tensor<4x8xf32>
  }
  return
}

// -----

// domain C1: sizes are not negative.
// expected-error @+1 {{a loop has a negative trip count}}
func.func private @domain_c1() attributes {d = #sinter.domain<[-1] views []>}

// -----

// domain C2: reduced loops ascend.
// expected-error @+1 {{reduced loops must ascend and be below 2}}
func.func private @domain_c2() attributes {d = #sinter.domain<[4, 8] reduced [1, 0] views []>}

// -----

// domain C2: reduced loops exist.
// expected-error @+1 {{reduced loops must ascend and be below 2}}
func.func private @domain_c2_range() attributes {d = #sinter.domain<[4, 8] reduced [2] views []>}

// -----

// domain C3: a view maps all loops.
// expected-error @+1 {{a view must map 2 loops to distinct loops and zeros}}
func.func private @domain_c3_loops() attributes {d = #sinter.domain<[4, 8] views [(d0) -> (d0)]>}

// -----

// domain C3: without symbols.
// expected-error @+1 {{a view must map 1 loops to distinct loops and zeros}}
func.func private @domain_c3_symbols() attributes {d = #sinter.domain<[4] views [(d0)[s0] -> (d0)]>}

// -----

// domain C3: to distinct loops.
// expected-error @+1 {{a view must map 1 loops to distinct loops and zeros}}
func.func private @domain_c3_twice() attributes {d = #sinter.domain<[4] views [(d0) -> (d0, d0)]>}

// -----

// domain C3: or zeros.
// expected-error @+1 {{a view must map 1 loops to distinct loops and zeros}}
func.func private @domain_c3_sum() attributes {d = #sinter.domain<[4] views [(d0) -> (d0 + 1)]>}

// -----

// kernel C10: kind persistent has at least two kernels.
func.func @c10_persistent_one(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{of kind persistent needs two kernels or more}}
  %0 = sinter.kernel persistent(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.kernel loop(%a) over <[4, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%c: tensor<4x8xf32>):
      %d = sinter.exp %c : tensor<4x8xf32>
      sinter.yield %d : tensor<4x8xf32>
    }
    sinter.yield %b : tensor<4x8xf32>
  }
  return
}

// -----

// kernel C10: kind persistent has aliases of results, not of arguments.
func.func @c10_persistent_alias(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{of kind persistent must consist of kernels}}
  %0 = sinter.kernel persistent(%x) : (tensor<4x8xf32>) -> tensor<32xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.reshape %a : tensor<4x8xf32> -> tensor<32xf32>
    %c = sinter.kernel loop(%b) over <[32] views [(d0) -> (d0)]> : (tensor<32xf32>) -> tensor<32xf32> {
    ^bb0(%d: tensor<32xf32>):
      %e = sinter.exp %d : tensor<32xf32>
      sinter.yield %e : tensor<32xf32>
    }
    sinter.yield %c : tensor<32xf32>
  }
  return
}

// -----

// kernel C11: kind rows has at least two kernels.
func.func @c11_one(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{of kind rows needs two kernels or more}}
  %0 = sinter.kernel rows(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.kernel loop(%a) over <[4, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%c: tensor<4x8xf32>):
      %d = sinter.exp %c : tensor<4x8xf32>
      sinter.yield %d : tensor<4x8xf32>
    }
    sinter.yield %b : tensor<4x8xf32>
  }
  return
}

// -----

// kernel C11: the results of the last kernel of kind rows are yielded.
func.func @c11_last(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{of kind rows must yield each result of 'sinter.kernel' once}}
  %0 = sinter.kernel rows(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %b = sinter.kernel loop(%a) over <[4, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%c: tensor<4x8xf32>):
      %d = sinter.exp %c : tensor<4x8xf32>
      sinter.yield %d : tensor<4x8xf32>
    }
    %e = sinter.kernel loop(%b) over <[4, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%c: tensor<4x8xf32>):
      %d = sinter.exp %c : tensor<4x8xf32>
      sinter.yield %d : tensor<4x8xf32>
    }
    sinter.yield %b : tensor<4x8xf32>
  }
  return
}
