// RUN: sinter-opt %s --sinter-plan-memory --split-input-file | FileCheck %s

// A chain of kernels that may run in place needs one buffer.
module @chain {
  // CHECK-LABEL: module @chain
  // CHECK: exec.program @main("x" : tensor<64xf32>) -> ("y" : tensor<64xf32>) arena 256 unshared 512 max_live 256 {
  // CHECK-NEXT: %[[X:.*]] = exec.buffer input[0] 0 + 256
  // CHECK-NEXT: %[[A:.*]] = exec.buffer arena[0] 0 + 256
  // CHECK-NEXT: exec.launch @k0_exp(%[[X]]) -> (%[[A]])
  // CHECK-NEXT: %[[B:.*]] = exec.buffer arena[0] 0 + 256
  // CHECK-NEXT: exec.launch @k1_tanh(%[[A]]) -> (%[[B]])
  // CHECK-NEXT: %[[Y:.*]] = exec.buffer output[0] 0 + 256
  // CHECK-NEXT: exec.launch @k2_neg(%[[B]]) -> (%[[Y]])
  func.func @main(%x: tensor<64xf32> {sinter.input = "x"}) -> (tensor<64xf32> {sinter.output = "y"}) {
    %a = sinter.kernel loop(%x) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.exp %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %b = sinter.kernel loop(%a) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.tanh %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %c = sinter.kernel loop(%b) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.neg %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    return %c : tensor<64xf32>
  }
}

// -----

// Without that the next result lies beside its operand: two buffers for a chain of any length.
module @chain_not_in_place {
  // CHECK-LABEL: module @chain_not_in_place
  // CHECK-COUNT-1: exec.kernel
  // CHECK-NOT: exec.kernel
  // CHECK: arena 512 unshared 768 max_live 512
  // CHECK-COUNT-4: exec.launch @k0_transpose
  func.func @main(%x: tensor<8x8xf32> {sinter.input = "x"}) -> (tensor<8x8xf32> {sinter.output = "y"}) {
    %a = sinter.kernel loop(%x) over <[8, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%0: tensor<8x8xf32>):
      %1 = sinter.transpose %0 perm [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
      sinter.yield %1 : tensor<8x8xf32>
    }
    %b = sinter.kernel loop(%a) over <[8, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%0: tensor<8x8xf32>):
      %1 = sinter.transpose %0 perm [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
      sinter.yield %1 : tensor<8x8xf32>
    }
    %c = sinter.kernel loop(%b) over <[8, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%0: tensor<8x8xf32>):
      %1 = sinter.transpose %0 perm [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
      sinter.yield %1 : tensor<8x8xf32>
    }
    %d = sinter.kernel loop(%c) over <[8, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%0: tensor<8x8xf32>):
      %1 = sinter.transpose %0 perm [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
      sinter.yield %1 : tensor<8x8xf32>
    }
    return %d : tensor<8x8xf32>
  }
}

// -----

// The value at the fork is needed by the second branch: the first does not run in place.
module @diamond {
  // CHECK-LABEL: module @diamond
  // CHECK: arena 512 unshared 768 max_live 512
  // CHECK: %[[A:.*]] = exec.buffer arena[0] 0 + 256
  // CHECK: exec.launch @k0_exp(%{{.*}}) -> (%[[A]])
  // CHECK: %[[B:.*]] = exec.buffer arena[0] 256 + 256
  // CHECK: exec.launch @k1_tanh(%[[A]]) -> (%[[B]])
  // CHECK: %[[C:.*]] = exec.buffer arena[0] 0 + 256
  // CHECK: exec.launch @k2_neg(%[[A]]) -> (%[[C]])
  // CHECK: exec.launch @k3_add(%[[B]], %[[C]]) -> (%output)
  func.func @main(%x: tensor<64xf32> {sinter.input = "x"}) -> (tensor<64xf32> {sinter.output = "y"}) {
    %a = sinter.kernel loop(%x) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.exp %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %b = sinter.kernel loop(%a) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.tanh %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %c = sinter.kernel loop(%a) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.neg %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %d = sinter.kernel loop(%b, %c) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>, %1: tensor<64xf32>):
      %2 = sinter.add %0, %1 : tensor<64xf32>
      sinter.yield %2 : tensor<64xf32>
    }
    return %d : tensor<64xf32>
  }
}

// -----

// Residual blocks of a layer with a wider hidden value: the shared kernels are one, and the arena
// has room for the residual, the hidden value and no more.
module @residual {
  // CHECK-LABEL: module @residual
  // CHECK-COUNT-1: exec.kernel
  // CHECK-NOT: exec.kernel
  // CHECK: arena 1536 unshared 2816 max_live 1536
  // CHECK: exec.matmul(%input, %[[W:.*]]) -> %[[H:.*]] m 4 n 64 k 16 batch [] a [16, 1] b [64, 1] c [64, 1] post [#exec.post_op<relu>]
  // CHECK: exec.matmul(%[[H]], %[[V:.*]], %input) -> %[[R:.*]] m 4 n 16 k 64 {{.*}} post [#exec.post_op<add read 2>]
  // CHECK: exec.launch @k0_exp(%[[R]]) -> (%[[E:.*]])
  // CHECK: exec.matmul(%[[E]], %[[W]]) -> %[[I:.*]] m 4
  // CHECK: exec.matmul(%[[I]], %[[V]], %[[E]])
  // CHECK: exec.launch @k0_exp
  func.func @main(%x: tensor<4x16xf32> {sinter.input = "x"}, %w: tensor<16x64xf32> {sinter.input = "w"},
                  %v: tensor<64x16xf32> {sinter.input = "v"}) -> (tensor<4x16xf32> {sinter.output = "y"}) {
    %a = sinter.library_call matmul(%x, %w) : (tensor<4x16xf32>, tensor<16x64xf32>) -> tensor<4x64xf32> {
    ^bb0(%0: tensor<4x16xf32>, %1: tensor<16x64xf32>):
      %2 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [0] : (tensor<4x16xf32>, tensor<16x64xf32>) -> tensor<4x64xf32>
      %3 = sinter.relu %2 : tensor<4x64xf32>
      sinter.yield %3 : tensor<4x64xf32>
    }
    %b = sinter.library_call matmul(%a, %v, %x) : (tensor<4x64xf32>, tensor<64x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32> {
    ^bb0(%0: tensor<4x64xf32>, %1: tensor<64x16xf32>, %2: tensor<4x16xf32>):
      %3 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [0] : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
      %4 = sinter.add %3, %2 : tensor<4x16xf32>
      sinter.yield %4 : tensor<4x16xf32>
    }
    %c = sinter.kernel loop(%b) over <[4, 16] views [(d0, d1) -> (d0, d1)]> : (tensor<4x16xf32>) -> tensor<4x16xf32> {
    ^bb0(%0: tensor<4x16xf32>):
      %1 = sinter.exp %0 : tensor<4x16xf32>
      sinter.yield %1 : tensor<4x16xf32>
    }
    %d = sinter.library_call matmul(%c, %w) : (tensor<4x16xf32>, tensor<16x64xf32>) -> tensor<4x64xf32> {
    ^bb0(%0: tensor<4x16xf32>, %1: tensor<16x64xf32>):
      %2 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [0] : (tensor<4x16xf32>, tensor<16x64xf32>) -> tensor<4x64xf32>
      %3 = sinter.relu %2 : tensor<4x64xf32>
      sinter.yield %3 : tensor<4x64xf32>
    }
    %e = sinter.library_call matmul(%d, %v, %c) : (tensor<4x64xf32>, tensor<64x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32> {
    ^bb0(%0: tensor<4x64xf32>, %1: tensor<64x16xf32>, %2: tensor<4x16xf32>):
      %3 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [0] : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
      %4 = sinter.add %3, %2 : tensor<4x16xf32>
      sinter.yield %4 : tensor<4x16xf32>
    }
    %f = sinter.kernel loop(%e) over <[4, 16] views [(d0, d1) -> (d0, d1)]> : (tensor<4x16xf32>) -> tensor<4x16xf32> {
    ^bb0(%0: tensor<4x16xf32>):
      %1 = sinter.exp %0 : tensor<4x16xf32>
      sinter.yield %1 : tensor<4x16xf32>
    }
    return %f : tensor<4x16xf32>
  }
}

// -----

// Reshapes are no commands; equal values and outputs that are inputs or constants are copied.
module @outputs {
  // CHECK-LABEL: module @outputs
  // CHECK: exec.constant at 0 = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  // CHECK: exec.program @main({{.*}}) arena 0 unshared 0 max_live 0 {
  // CHECK: exec.launch @k0_exp(%input) -> (%[[A:.*]])
  // CHECK: %[[B:.*]] = exec.buffer output[1] 0 + 32
  // CHECK: exec.copy %[[A]] -> %[[B]]
  // CHECK: exec.copy %input -> %
  // CHECK: %[[K:.*]] = exec.buffer constant[0] 0 + 8
  // CHECK: exec.copy %[[K]] -> %
  func.func @main(%x: tensor<4x2xf32> {sinter.input = "x"})
      -> (tensor<8xf32> {sinter.output = "a"}, tensor<8xf32> {sinter.output = "b"},
          tensor<4x2xf32> {sinter.output = "c"}, tensor<2xf32> {sinter.output = "d"}) {
    %k = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %r = sinter.reshape %x : tensor<4x2xf32> -> tensor<8xf32>
    %a = sinter.kernel loop(%r) over <[8] views [(d0) -> (d0)]> : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%0: tensor<8xf32>):
      %1 = sinter.exp %0 : tensor<8xf32>
      sinter.yield %1 : tensor<8xf32>
    }
    return %a, %a, %x, %k : tensor<8xf32>, tensor<8xf32>, tensor<4x2xf32>, tensor<2xf32>
  }
}

// -----

// Equal constants are one, whatever their users; what several programs launch is one kernel, but
// other attributes make another.
module @shared {
  // CHECK-LABEL: module @shared
  // CHECK: exec.constant at 0 = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  // CHECK: exec.constant at 64 = dense<5.000000e+00> : tensor<2xf32>
  // CHECK-NOT: exec.constant
  // CHECK: exec.kernel @k0_add loop
  // CHECK: exec.kernel @k1_add reduce
  // CHECK-NOT: exec.kernel
  // CHECK: exec.program @step
  // CHECK: exec.launch @k0_add
  // CHECK: exec.launch @k1_add
  // CHECK: exec.program @eval
  // CHECK: exec.launch @k0_add
  func.func @step(%x: tensor<2xf32> {sinter.input = "x"})
      -> (tensor<2xf32> {sinter.output = "y"}, tensor<2xf32> {sinter.output = "z"}) {
    %c = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %y = sinter.kernel loop(%x, %c) over <[2] views [(d0) -> (d0)]> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {
    ^bb0(%0: tensor<2xf32>, %1: tensor<2xf32>):
      %2 = sinter.add %0, %1 : tensor<2xf32>
      sinter.yield %2 : tensor<2xf32>
    }
    %d = sinter.constant dense<5.0> : tensor<2xf32>
    %z = sinter.kernel reduce(%x, %d) over <[2] views [(d0) -> (d0)]> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {
    ^bb0(%0: tensor<2xf32>, %1: tensor<2xf32>):
      %2 = sinter.add %0, %1 : tensor<2xf32>
      sinter.yield %2 : tensor<2xf32>
    }
    return %y, %z : tensor<2xf32>, tensor<2xf32>
  }
  func.func @eval(%x: tensor<2xf32> {sinter.input = "x"}) -> (tensor<2xf32> {sinter.output = "y"}) {
    %c = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %y = sinter.kernel loop(%c, %x) over <[2] views [(d0) -> (d0)]> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {
    ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
      %c2 = sinter.add %a, %b : tensor<2xf32>
      sinter.yield %c2 : tensor<2xf32>
    }
    return %y : tensor<2xf32>
  }
}

// -----

// The new value is written onto the old one, after its other reader; the same state read by a
// kernel that is not elementwise.
module @update {
  // CHECK-LABEL: module @update
  // CHECK: exec.constant at 0 = dense<1.000000e+00> : tensor<8x8xf32>
  // CHECK-NOT: exec.constant
  // CHECK: exec.program @step({{.*}}) arena 256 unshared 256 max_live 256 {
  // CHECK: exec.matmul(%input, %input) -> %[[G:.*]] m 8 n 8 k 8 batch [] a [1, 8] b [8, 1]
  // CHECK: %[[OLD:.*]] = exec.buffer state[0] 0 + 256
  // CHECK: exec.matmul(%input, %[[OLD]]) -> %output
  // CHECK: %[[LR:.*]] = exec.buffer control[0] 0 + 4
  // CHECK: %[[NEW:.*]] = exec.buffer state[0] 0 + 256
  // CHECK: exec.launch @k0_mul_sub(%[[OLD]], %[[G]], %[[LR]]) -> (%[[NEW]])
  // CHECK-NOT: exec.copy
  sinter.state @w : tensor<8x8xf32> {role = #sinter<role param>, init = dense<1.0> : tensor<8x8xf32>}
  sinter.state @z : tensor<8xf32> {role = #sinter<role buffer>, init = dense<0.0> : tensor<8xf32>}
  func.func @step(%x: tensor<8x8xf32> {sinter.input = "x"}, %w: tensor<8x8xf32> {sinter.state = @w},
                  %z: tensor<8xf32> {sinter.state = @z}, %lr: tensor<f32> {sinter.control = "lr"})
      -> (tensor<8x8xf32> {sinter.state = @w}, tensor<8xf32> {sinter.state = @z}, tensor<8x8xf32> {sinter.output = "y"}) {
    %g = sinter.library_call matmul(%x, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%0: tensor<8x8xf32>, %1: tensor<8x8xf32>):
      %2 = sinter.dot_general %0, %1 batch [] x [] contract [0] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      sinter.yield %2 : tensor<8x8xf32>
    }
    %n = sinter.kernel loop(%w, %g, %lr) over <[8, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32> {
    ^bb0(%0: tensor<8x8xf32>, %1: tensor<8x8xf32>, %2: tensor<f32>):
      %3 = sinter.broadcast %2 dims [] : tensor<f32> -> tensor<8x8xf32>
      %4 = sinter.mul %3, %1 : tensor<8x8xf32>
      %5 = sinter.sub %0, %4 : tensor<8x8xf32>
      sinter.yield %5 : tensor<8x8xf32>
    }
    %y = sinter.library_call matmul(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%0: tensor<8x8xf32>, %1: tensor<8x8xf32>):
      %2 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [1] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      sinter.yield %2 : tensor<8x8xf32>
    }
    return %n, %z, %y : tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>
  }
}

// -----

// A reader of the old value that needs the new one: the new value waits in the arena.
module @old_value_needed_later {
  // CHECK-LABEL: module @old_value_needed_later
  // CHECK: exec.launch @k0_exp(%[[OLD:.*]]) -> (%[[WAITS:.*]])
  // CHECK: exec.matmul(%[[WAITS]], %[[OLD]])
  // CHECK: %[[NEW:.*]] = exec.buffer state[0]
  // CHECK: exec.copy %[[WAITS]] -> %[[NEW]]
  sinter.state @w : tensor<8x8xf32> {role = #sinter<role param>}
  func.func @step(%w: tensor<8x8xf32> {sinter.state = @w})
      -> (tensor<8x8xf32> {sinter.state = @w}, tensor<8x8xf32> {sinter.output = "y"}) {
    %n = sinter.kernel loop(%w) over <[8, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%0: tensor<8x8xf32>):
      %1 = sinter.exp %0 : tensor<8x8xf32>
      sinter.yield %1 : tensor<8x8xf32>
    }
    %y = sinter.library_call matmul(%n, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%0: tensor<8x8xf32>, %1: tensor<8x8xf32>):
      %2 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      sinter.yield %2 : tensor<8x8xf32>
    }
    return %n, %y : tensor<8x8xf32>, tensor<8x8xf32>
  }
}

// -----

// A kernel that reads other elements than it writes does not run in place.
module @transposed_update {
  // CHECK-LABEL: module @transposed_update
  // CHECK: exec.launch @k0_transpose(%{{.*}}) -> (%[[WAITS:.*]])
  // CHECK: exec.copy %[[WAITS]] -> %
  sinter.state @w : tensor<8x8xf32> {role = #sinter<role buffer>}
  func.func @step(%w: tensor<8x8xf32> {sinter.state = @w}) -> (tensor<8x8xf32> {sinter.state = @w}) {
    %n = sinter.kernel loop(%w) over <[8, 8] views [(d0, d1) -> (d0, d1)]> : (tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%0: tensor<8x8xf32>):
      %1 = sinter.transpose %0 perm [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
      sinter.yield %1 : tensor<8x8xf32>
    }
    return %n : tensor<8x8xf32>
  }
}

// -----

// Nor does one that reads a row for another sum, which other threads may not have done yet.
module @row_of_another_sum {
  // CHECK-LABEL: module @row_of_another_sum
  // CHECK: exec.launch @{{.*}} -> (%[[WAITS:.*]], %{{.*}})
  // CHECK: exec.copy %[[WAITS]] -> %
  sinter.state @s : tensor<4xf32> {role = #sinter<role buffer>}
  func.func @step(%x: tensor<4x8xf32> {sinter.input = "x"}, %s: tensor<4xf32> {sinter.state = @s})
      -> (tensor<4xf32> {sinter.state = @s}, tensor<4xf32> {sinter.output = "y"}) {
    %n, %y = sinter.kernel reduce(%x, %s) over <[4, 8] reduced [1] views [(d0, d1) -> (d0), (d0, d1) -> (d0)]>
        : (tensor<4x8xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    ^bb0(%0: tensor<4x8xf32>, %1: tensor<4xf32>):
      %2 = sinter.reduce sum %0 dims [1] : (tensor<4x8xf32>) -> tensor<4xf32>
      %3 = sinter.add %1, %2 : tensor<4xf32>
      %4 = sinter.broadcast %3 dims [0] : tensor<4xf32> -> tensor<4x8xf32>
      %5 = sinter.sub %0, %4 : tensor<4x8xf32>
      %6 = sinter.reduce max %5 dims [1] : (tensor<4x8xf32>) -> tensor<4xf32>
      sinter.yield %3, %6 : tensor<4xf32>, tensor<4xf32>
    }
    return %n, %y : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Exchanged states: one of the values must wait in the arena.
module @exchange {
  // CHECK-LABEL: module @exchange
  // CHECK: %[[A:.*]] = exec.buffer state[0]
  // CHECK: %[[WAITS:.*]] = exec.buffer arena[0]
  // CHECK: exec.copy %[[A]] -> %[[WAITS]]
  // CHECK: %[[B:.*]] = exec.buffer state[1]
  // CHECK: exec.copy %[[B]] -> %
  // CHECK: exec.copy %[[WAITS]] -> %
  sinter.state @a : tensor<8xf32> {role = #sinter<role buffer>}
  sinter.state @b : tensor<8xf32> {role = #sinter<role buffer>}
  func.func @step(%a: tensor<8xf32> {sinter.state = @a}, %b: tensor<8xf32> {sinter.state = @b})
      -> (tensor<8xf32> {sinter.state = @a}, tensor<8xf32> {sinter.state = @b}) {
    return %b, %a : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Contractions become library calls: batch dimensions that lie one after the other are joined, as are
// those of m, n and k.
module @joined {
  // CHECK-LABEL: module @joined
  func.func @main(%a: tensor<2x3x4x8xf32> {sinter.input = "a"}, %b: tensor<2x3x8x5xf32> {sinter.input = "b"},
                  %v: tensor<2x4x8xf32> {sinter.input = "v"}, %w: tensor<8x5xf32> {sinter.input = "w"})
      -> (tensor<2x3x4x5xf32> {sinter.output = "c"}, tensor<2x4x5xf32> {sinter.output = "d"}) {
    // CHECK: exec.matmul(%input, %input_0) -> %output m 4 n 5 k 8 batch [6] a [32, 8, 1] b [40, 5, 1] c [20, 5, 1]
    %c = sinter.library_call matmul(%a, %b) : (tensor<2x3x4x8xf32>, tensor<2x3x8x5xf32>) -> tensor<2x3x4x5xf32> {
    ^bb0(%0: tensor<2x3x4x8xf32>, %1: tensor<2x3x8x5xf32>):
      %2 = sinter.dot_general %0, %1 batch [0, 1] x [0, 1] contract [3] x [2] : (tensor<2x3x4x8xf32>, tensor<2x3x8x5xf32>) -> tensor<2x3x4x5xf32>
      sinter.yield %2 : tensor<2x3x4x5xf32>
    }
    // CHECK: exec.matmul(%input_1, %input_2) -> %output_3 m 8 n 5 k 8 batch [] a [8, 1] b [5, 1] c [5, 1]
    %d = sinter.library_call matmul(%v, %w) : (tensor<2x4x8xf32>, tensor<8x5xf32>) -> tensor<2x4x5xf32> {
    ^bb0(%0: tensor<2x4x8xf32>, %1: tensor<8x5xf32>):
      %2 = sinter.dot_general %0, %1 batch [] x [] contract [2] x [0] : (tensor<2x4x8xf32>, tensor<8x5xf32>) -> tensor<2x4x5xf32>
      sinter.yield %2 : tensor<2x4x5xf32>
    }
    return %c, %d : tensor<2x3x4x5xf32>, tensor<2x4x5xf32>
  }
}

// -----

// Transposes before and after are strides: attention heads are taken out of the hidden dimension
// and put back without a copy.
module @transposed {
  // CHECK-LABEL: module @transposed
  func.func @main(%q: tensor<2x16x4x8xf32> {sinter.input = "q"}, %k: tensor<2x16x4x8xf32> {sinter.input = "k"},
                  %p: tensor<2x4x16x16xf32> {sinter.input = "p"})
      -> (tensor<2x4x16x16xf32> {sinter.output = "scores"}, tensor<2x16x32xf32> {sinter.output = "context"}) {
    // CHECK: exec.matmul({{.*}}) -> %output m 16 n 16 k 8 batch [2, 4] a [512, 8, 32, 1] b [512, 8, 1, 32] c [1024, 256, 16, 1]
    // CHECK-SAME: post [#exec.post_op<scale alpha 5.000000e-01 : f32>]
    %s = sinter.library_call matmul(%q, %k) : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) -> tensor<2x4x16x16xf32> {
    ^bb0(%0: tensor<2x16x4x8xf32>, %1: tensor<2x16x4x8xf32>):
      %2 = sinter.transpose %0 perm [0, 2, 1, 3] : (tensor<2x16x4x8xf32>) -> tensor<2x4x16x8xf32>
      %3 = sinter.transpose %1 perm [0, 2, 1, 3] : (tensor<2x16x4x8xf32>) -> tensor<2x4x16x8xf32>
      %4 = sinter.dot_general %2, %3 batch [0, 1] x [0, 1] contract [3] x [3] : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>) -> tensor<2x4x16x16xf32>
      %5 = sinter.constant dense<0.5> : tensor<2x4x16x16xf32>
      %6 = sinter.mul %4, %5 : tensor<2x4x16x16xf32>
      sinter.yield %6 : tensor<2x4x16x16xf32>
    }
    // CHECK: exec.matmul({{.*}}) -> %output_2 m 16 n 8 k 16 batch [2, 4] a [1024, 256, 16, 1] b [512, 8, 32, 1] c [512, 8, 32, 1]
    %c = sinter.library_call matmul(%p, %k) : (tensor<2x4x16x16xf32>, tensor<2x16x4x8xf32>) -> tensor<2x16x32xf32> {
    ^bb0(%0: tensor<2x4x16x16xf32>, %1: tensor<2x16x4x8xf32>):
      %2 = sinter.transpose %1 perm [0, 2, 1, 3] : (tensor<2x16x4x8xf32>) -> tensor<2x4x16x8xf32>
      %3 = sinter.dot_general %0, %2 batch [0, 1] x [0, 1] contract [3] x [2] : (tensor<2x4x16x16xf32>, tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32>
      %4 = sinter.transpose %3 perm [0, 2, 1, 3] : (tensor<2x4x16x8xf32>) -> tensor<2x16x4x8xf32>
      %5 = sinter.reshape %4 : tensor<2x16x4x8xf32> -> tensor<2x16x32xf32>
      sinter.yield %5 : tensor<2x16x32xf32>
    }
    return %s, %c : tensor<2x4x16x16xf32>, tensor<2x16x32xf32>
  }
}

// -----

// Free dimensions that do not join are batch dimensions along which the other operand repeats.
module @repeated {
  // CHECK-LABEL: module @repeated
  func.func @main(%x: tensor<2x8x6xf32> {sinter.input = "x"}, %w: tensor<8x5xf32> {sinter.input = "w"})
      -> (tensor<2x6x5xf32> {sinter.output = "y"}) {
    // CHECK: exec.matmul({{.*}}) -> %output m 6 n 5 k 8 batch [2] a [48, 1, 6] b [0, 5, 1] c [30, 5, 1]
    %y = sinter.library_call matmul(%x, %w) : (tensor<2x8x6xf32>, tensor<8x5xf32>) -> tensor<2x6x5xf32> {
    ^bb0(%0: tensor<2x8x6xf32>, %1: tensor<8x5xf32>):
      %2 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [0] : (tensor<2x8x6xf32>, tensor<8x5xf32>) -> tensor<2x6x5xf32>
      sinter.yield %2 : tensor<2x6x5xf32>
    }
    return %y : tensor<2x6x5xf32>
  }
}

// -----

// Every post-op, in the order of the body.
module @post_ops {
  // CHECK-LABEL: module @post_ops
  func.func @main(%x: tensor<4x8xf32> {sinter.input = "x"}, %w: tensor<3x8xf32> {sinter.input = "w"},
                  %b: tensor<1x3xf32> {sinter.input = "b"}, %r: tensor<4x3xf32> {sinter.input = "r"})
      -> (tensor<4x3xf32> {sinter.output = "y"}, tensor<4x3xf32> {sinter.output = "z"}) {
    // CHECK: exec.matmul(%input, %input_0, %input_1, %input_2) -> %output m 4 n 3 k 8 batch [] a [8, 1] b [1, 8] c [3, 1]
    // CHECK-SAME: post [#exec.post_op<bias read 2>, #exec.post_op<add read 3>, #exec.post_op<relu>,
    // CHECK-SAME: #exec.post_op<scale alpha 2.000000e+00 : f32>, #exec.post_op<clip alpha 0.000000e+00 : f32 beta 0x7F800000 : f32>,
    // CHECK-SAME: #exec.post_op<clip alpha 0xFF800000 : f32 beta 6.000000e+00 : f32>]
    %y = sinter.library_call matmul(%x, %w, %b, %r) : (tensor<4x8xf32>, tensor<3x8xf32>, tensor<1x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32> {
    ^bb0(%0: tensor<4x8xf32>, %1: tensor<3x8xf32>, %2: tensor<1x3xf32>, %3: tensor<4x3xf32>):
      %4 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [1] : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x3xf32>
      %5 = sinter.broadcast %2 dims [0, 1] : tensor<1x3xf32> -> tensor<4x3xf32>
      %6 = sinter.add %5, %4 : tensor<4x3xf32>
      %7 = sinter.add %6, %3 : tensor<4x3xf32>
      %8 = sinter.relu %7 : tensor<4x3xf32>
      %two = sinter.constant dense<2.0> : tensor<4x3xf32>
      %9 = sinter.mul %8, %two : tensor<4x3xf32>
      %zero = sinter.constant dense<0.0> : tensor<4x3xf32>
      %10 = sinter.max %9, %zero : tensor<4x3xf32>
      %six = sinter.constant dense<6.0> : tensor<f32>
      %11 = sinter.broadcast %six dims [] : tensor<f32> -> tensor<4x3xf32>
      %12 = sinter.min %10, %11 : tensor<4x3xf32>
      sinter.yield %12 : tensor<4x3xf32>
    }
    // CHECK: post [#exec.post_op<gelu_erf>, #exec.post_op<gelu_tanh>, #exec.post_op<sigmoid>, #exec.post_op<tanh>]
    %z = sinter.library_call matmul(%x, %w) : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x3xf32> {
    ^bb0(%0: tensor<4x8xf32>, %1: tensor<3x8xf32>):
      %2 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [1] : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x3xf32>
      %3 = sinter.gelu erf %2 : tensor<4x3xf32>
      %4 = sinter.gelu tanh %3 : tensor<4x3xf32>
      %5 = sinter.sigmoid %4 : tensor<4x3xf32>
      %6 = sinter.tanh %5 : tensor<4x3xf32>
      sinter.yield %6 : tensor<4x3xf32>
    }
    return %y, %z : tensor<4x3xf32>, tensor<4x3xf32>
  }
}

// -----

// The three convolutions; a bias runs along the channels.
module @convolutions {
  // CHECK-LABEL: module @convolutions
  func.func @main(%x: tensor<2x3x8x8xf32> {sinter.input = "x"}, %w: tensor<4x3x3x3xf32> {sinter.input = "w"},
                  %b: tensor<4xf32> {sinter.input = "b"})
      -> (tensor<2x4x4x4xf32> {sinter.output = "y"}, tensor<2x3x8x8xf32> {sinter.output = "dx"}, tensor<4x3x3x3xf32> {sinter.output = "dw"}) {
    // CHECK: exec.conv forward(%input, %input_0, %input_1) -> %output batch 2 channels 3 filters 4 groups 1
    // CHECK-SAME: input [8, 8] output [4, 4] kernel [3, 3] strides [2, 2] dilations [1, 1] low [1, 1] high [1, 1]
    // CHECK-SAME: post [#exec.post_op<bias read 2>, #exec.post_op<relu>]
    %y = sinter.library_call conv(%x, %w, %b) : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<2x4x4x4xf32> {
    ^bb0(%0: tensor<2x3x8x8xf32>, %1: tensor<4x3x3x3xf32>, %2: tensor<4xf32>):
      %3 = sinter.conv %0, %1 {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>}
        : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x4x4xf32>
      %4 = sinter.broadcast %2 dims [1] : tensor<4xf32> -> tensor<2x4x4x4xf32>
      %5 = sinter.add %3, %4 : tensor<2x4x4x4xf32>
      %6 = sinter.relu %5 : tensor<2x4x4x4xf32>
      sinter.yield %6 : tensor<2x4x4x4xf32>
    }
    // CHECK: exec.conv input_grad(%output, %input_0) -> %output_2 batch 2 channels 3 filters 4 groups 1
    // CHECK-SAME: input [8, 8] output [4, 4] kernel [3, 3] strides [2, 2]
    %dx = sinter.library_call conv(%y, %w) : (tensor<2x4x4x4xf32>, tensor<4x3x3x3xf32>) -> tensor<2x3x8x8xf32> {
    ^bb0(%0: tensor<2x4x4x4xf32>, %1: tensor<4x3x3x3xf32>):
      %2 = sinter.conv_input_grad %0, %1 {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>}
        : (tensor<2x4x4x4xf32>, tensor<4x3x3x3xf32>) -> tensor<2x3x8x8xf32>
      sinter.yield %2 : tensor<2x3x8x8xf32>
    }
    // CHECK: exec.conv filter_grad(%input, %output) -> %output_3 batch 2 channels 3 filters 4 groups 1
    %dw = sinter.library_call conv(%x, %y) : (tensor<2x3x8x8xf32>, tensor<2x4x4x4xf32>) -> tensor<4x3x3x3xf32> {
    ^bb0(%0: tensor<2x3x8x8xf32>, %1: tensor<2x4x4x4xf32>):
      %2 = sinter.conv_filter_grad %0, %1 {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>}
        : (tensor<2x3x8x8xf32>, tensor<2x4x4x4xf32>) -> tensor<4x3x3x3xf32>
      sinter.yield %2 : tensor<4x3x3x3xf32>
    }
    return %y, %dx, %dw : tensor<2x4x4x4xf32>, tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>
  }
}

// -----

// A sum over replicas begins when its operand is there, is awaited where its result is read, and takes the
// operand's place. What only lives beside it takes other bytes.
module @beside {
  // CHECK-LABEL: module @beside
  // CHECK: exec.launch @k0_exp(%{{.*}}) -> (%[[G:.*]])
  // CHECK: %[[S:.*]] = exec.buffer arena[0] [[AT:[0-9]+]] + 256
  // CHECK: exec.collective all_reduce over data of 2 event 0(%[[G]]) -> (%[[S]])
  // CHECK: exec.launch @k1_tanh
  // CHECK: exec.launch @k2_neg
  // CHECK-NEXT: exec.await event 0
  // CHECK: exec.launch @k3_add
  func.func @main(%x: tensor<64xf32> {sinter.input = "x"}) -> (tensor<64xf32> {sinter.output = "y"}) {
    %a = sinter.kernel loop(%x) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.exp %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %s = sinter.all_reduce %a over data of 2 : tensor<64xf32>
    %b = sinter.kernel loop(%x) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.tanh %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %c = sinter.kernel loop(%b) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.neg %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %d = sinter.kernel loop(%c, %s) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>, %1: tensor<64xf32>):
      %2 = sinter.add %0, %1 : tensor<64xf32>
      sinter.yield %2 : tensor<64xf32>
    }
    return %d : tensor<64xf32>
  }
}

// -----

// Messages are sent in the order in which their operands are computed, not in that of the ops.
module @ready {
  // CHECK-LABEL: module @ready
  // CHECK: exec.launch @k0_exp(%{{.*}}) -> (%[[A:.*]])
  // CHECK: exec.collective all_reduce over data of 2 event 0(%[[A]])
  // CHECK: exec.launch @k1_tanh
  // CHECK: exec.launch @k2_neg(%{{.*}}) -> (%[[C:.*]])
  // CHECK: exec.collective all_reduce over data of 2 event 1(%[[C]])
  // CHECK: exec.await
  // CHECK: exec.await
  func.func @main(%x: tensor<64xf32> {sinter.input = "x"}) -> (tensor<64xf32> {sinter.output = "y"}) {
    %a = sinter.kernel loop(%x) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.exp %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %b = sinter.kernel loop(%x) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.tanh %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %c = sinter.kernel loop(%b) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.neg %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %s = sinter.all_reduce %c over data of 2 : tensor<64xf32>
    %t = sinter.all_reduce %a over data of 2 : tensor<64xf32>
    %d = sinter.kernel loop(%s, %t) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>, %1: tensor<64xf32>):
      %2 = sinter.add %0, %1 : tensor<64xf32>
      sinter.yield %2 : tensor<64xf32>
    }
    return %d : tensor<64xf32>
  }
}

// -----

// What needs no wait comes before the wait.
module @late {
  // CHECK-LABEL: module @late
  // CHECK: exec.collective all_reduce over data of 2 event 0
  // CHECK: exec.launch @k0_neg
  // CHECK-NEXT: exec.await event 0
  // CHECK: exec.launch @k1_tanh
  func.func @main(%x: tensor<64xf32> {sinter.input = "x"}) -> (tensor<64xf32> {sinter.output = "y"}, tensor<64xf32> {sinter.output = "z"}) {
    %s = sinter.all_reduce %x over data of 2 : tensor<64xf32>
    %y = sinter.kernel loop(%s) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.tanh %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %z = sinter.kernel loop(%x) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.neg %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    return %y, %z : tensor<64xf32>, tensor<64xf32>
  }
}

// -----

// An operand that others still read keeps its bytes until the wait.
module @kept {
  // CHECK-LABEL: module @kept
  // CHECK: exec.program @main({{.*}} arena 512
  // CHECK: exec.collective all_reduce over data of 2 event 0
  // CHECK: exec.await event 0
  func.func @main(%x: tensor<64xf32> {sinter.input = "x"}) -> (tensor<64xf32> {sinter.output = "y"}) {
    %a = sinter.kernel loop(%x) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.exp %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %s = sinter.all_reduce %a over data of 2 : tensor<64xf32>
    %d = sinter.kernel loop(%a, %s) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>, %1: tensor<64xf32>):
      %2 = sinter.add %0, %1 : tensor<64xf32>
      sinter.yield %2 : tensor<64xf32>
    }
    return %d : tensor<64xf32>
  }
}

// -----

// Two devices: an arena for each, a copy on the transfer stream between events.
module @two attributes {sinter.devices = ["sim:0", "sim:1"]} {
  // CHECK-LABEL: module @two
  // CHECK: exec.program @main
  // CHECK-SAME: exec.arenas = array<i64: 64, 64>
  // CHECK: exec.buffer arena[0]
  // CHECK: exec.launch @{{.*}} -> {{.*}}
  // CHECK-NEXT: exec.record 0
  // CHECK: exec.buffer arena[1]
  // CHECK-NEXT: exec.wait 0 {exec.place = 1 : i64, exec.stream = 1 : i64}
  // CHECK-NEXT: exec.copy %{{.*}} -> %{{.*}} {exec.from = 0 : i64, exec.place = 1 : i64, exec.stream = 1 : i64}
  // CHECK-NEXT: exec.record 1 {exec.place = 1 : i64, exec.stream = 1 : i64}
  // CHECK: exec.wait 1 {exec.place = 1 : i64}
  // CHECK-NEXT: exec.launch @{{.*}} {exec.place = 1 : i64}
  func.func @main(%x: tensor<16xf32> {sinter.input = "x"}) -> (tensor<16xf32> {sinter.output = "y"}) {
    %a = call @main.0(%x) : (tensor<16xf32>) -> tensor<16xf32>
    %b = sinter.copy %a to 1 : tensor<16xf32>
    %c = call @main.1(%b) : (tensor<16xf32>) -> tensor<16xf32>
    return %c : tensor<16xf32>
  }
  func.func private @main.0(%x: tensor<16xf32>) -> tensor<16xf32> {
    %0 = sinter.kernel loop(%x) over <[16] views [(d0) -> (d0)]> : (tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%a: tensor<16xf32>):
      %1 = sinter.relu %a : tensor<16xf32>
      sinter.yield %1 : tensor<16xf32>
    }
    return %0 : tensor<16xf32>
  }
  func.func private @main.1(%x: tensor<16xf32>) -> tensor<16xf32> attributes {sinter.device = 1 : i64} {
    %0 = sinter.kernel loop(%x) over <[16] views [(d0) -> (d0)]> : (tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%a: tensor<16xf32>):
      %1 = sinter.abs %a : tensor<16xf32>
      sinter.yield %1 : tensor<16xf32>
    }
    return %0 : tensor<16xf32>
  }
}

// -----

// Zeros are no constants of the program where they only are returned; a copy into a state
// comes as soon as its value is there.
module @zeros {
  // CHECK-LABEL: module @zeros
  // CHECK-NOT: exec.constant
  // CHECK: exec.program @main
  // CHECK: exec.launch @k0_exp_add
  // CHECK-NEXT: exec.buffer state[2]
  // CHECK-NEXT: exec.copy
  // CHECK: exec.launch @k1_tanh_add
  // CHECK: %[[SUM:.*]] = exec.buffer state[0]
  // CHECK-NEXT: exec.fill -> %[[SUM]]
  sinter.state @sum : tensor<64xf32> {role = #sinter<role accum>}
  sinter.state @last : tensor<64xf32> {role = #sinter<role buffer>}
  sinter.state @again : tensor<64xf32> {role = #sinter<role buffer>}
  func.func @main(%x: tensor<64xf32> {sinter.input = "x"}, %last: tensor<64xf32> {sinter.state = @last}, %sum: tensor<64xf32> {sinter.state = @sum}) -> (tensor<64xf32> {sinter.output = "y"}, tensor<64xf32> {sinter.state = @last}, tensor<64xf32> {sinter.state = @again}, tensor<64xf32> {sinter.state = @sum}) {
    %zero = sinter.constant dense<0.0> : tensor<64xf32>
    %a = sinter.kernel loop(%x, %last) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>, %1: tensor<64xf32>):
      %2 = sinter.exp %0 : tensor<64xf32>
      %3 = sinter.add %2, %1 : tensor<64xf32>
      sinter.yield %3 : tensor<64xf32>
    }
    %b = sinter.kernel loop(%a, %sum) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>, %1: tensor<64xf32>):
      %2 = sinter.tanh %0 : tensor<64xf32>
      %3 = sinter.add %2, %1 : tensor<64xf32>
      sinter.yield %3 : tensor<64xf32>
    }
    return %b, %a, %a, %zero : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
}

// -----

// The second kernel runs after the first one because of its operand alone, so both write to the same bytes.
module @after {
  // CHECK-LABEL: module @after
  // CHECK: exec.program @main("x" : tensor<64xf32>) -> ("y" : tensor<f32>, "z" : tensor<f32>) arena 256
  // CHECK: exec.launch @k0_exp
  // CHECK: exec.launch @{{.*}}_reduce
  // CHECK: exec.launch @{{.*}}_tanh
  // CHECK: exec.launch @{{.*}}_reduce
  func.func @main(%x: tensor<64xf32> {sinter.input = "x"})
      -> (tensor<f32> {sinter.output = "y"}, tensor<f32> {sinter.output = "z"}) {
    %a = sinter.kernel loop(%x) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.exp %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %c = sinter.kernel reduce(%a) over <[64] reduced [0] views [(d0) -> ()]> : (tensor<64xf32>) -> tensor<f32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.reduce sum %0 dims [0] : (tensor<64xf32>) -> tensor<f32>
      sinter.yield %1 : tensor<f32>
    }
    %later = sinter.after %x, %c : tensor<64xf32>, tensor<f32>
    %b = sinter.kernel loop(%later) over <[64] views [(d0) -> (d0)]> : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.tanh %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %d = sinter.kernel reduce(%b) over <[64] reduced [0] views [(d0) -> ()]> : (tensor<64xf32>) -> tensor<f32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.reduce sum %0 dims [0] : (tensor<64xf32>) -> tensor<f32>
      sinter.yield %1 : tensor<f32>
    }
    return %c, %d : tensor<f32>, tensor<f32>
  }
}

// -----

// The body of a scan becomes a private program, and the scan one command with a scratch buffer: the arena of the body, and two
// places for the carried value that is not stacked. The other one is read from the stack. Slices of 12 bytes are copied.
module @scan {
  // CHECK-LABEL: module @scan
  // CHECK: exec.program @main.scan0("in0" : tensor<4xf32>, "in1" : tensor<3xf32>, "in2" : tensor<4xf32>, "in3" : tensor<4xf32>) -> ("out0" : tensor<4xf32>, "out2" : tensor<4xf32>, "out3" : tensor<3xf32>) arena 64 unshared 64 max_live 64 attributes {sym_visibility = "private"} {
  // CHECK-NEXT: %[[Z:.*]] = exec.buffer input[1] 0 + 12
  // CHECK-NEXT: %[[A:.*]] = exec.buffer arena[0] 0 + 12
  // CHECK-NEXT: exec.copy %[[Z]] -> %[[A]]
  // CHECK-NEXT: %[[O:.*]] = exec.buffer output[2] 0 + 12
  // CHECK-NEXT: exec.copy %[[A]] -> %[[O]]
  // CHECK-NEXT: %[[H:.*]] = exec.buffer input[2] 0 + 16
  // CHECK-NEXT: %[[X:.*]] = exec.buffer input[0] 0 + 16
  // CHECK-NEXT: %[[N:.*]] = exec.buffer output[0] 0 + 16
  // CHECK-NEXT: exec.launch @k0_add(%[[H]], %[[X]]) -> (%[[N]])
  // CHECK-NEXT: %[[G:.*]] = exec.buffer input[3] 0 + 16
  // CHECK-NEXT: %[[Y:.*]] = exec.buffer output[1] 0 + 16
  // CHECK-NEXT: exec.launch @k1_mul(%[[N]], %[[G]]) -> (%[[Y]])
  // CHECK: exec.program @main({{.*}} arena 192 unshared 192 max_live 192 {
  // CHECK: exec.scan @main.scan0 trips 5 reverse(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) -> (%{{.*}}, %{{.*}}, %{{.*}}) scratch %{{.*}} inputs [#exec.scan_input<slice 0>, #exec.scan_input<slice 1>, #exec.scan_input<carried 2 output 0>, #exec.scan_input<carried 3 output 1>] outputs [#exec.scan_output<last 0>, #exec.scan_output<slice 1>, #exec.scan_output<slice 2>]
  // CHECK-NOT: func.func
  func.func @main(%xs: tensor<5x4xf32> {sinter.input = "x"}, %zs: tensor<5x3xf32> {sinter.input = "z"}, %h: tensor<4xf32> {sinter.input = "h"}, %g: tensor<4xf32> {sinter.input = "g"})
      -> (tensor<4xf32> {sinter.output = "last"}, tensor<5x4xf32> {sinter.output = "all"}, tensor<5x3xf32> {sinter.output = "same"}) {
    %last, %none, %all, %same = sinter.scan_call @main.scan0 trips 5 reverse stacks(%xs, %zs) initial(%h, %g) whole() : (tensor<5x4xf32>, tensor<5x3xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<5x4xf32>, tensor<5x3xf32>)
    return %last, %all, %same : tensor<4xf32>, tensor<5x4xf32>, tensor<5x3xf32>
  }
  func.func private @main.scan0(%x: tensor<4xf32> {sinter.input = "in0"}, %z: tensor<3xf32> {sinter.input = "in1"}, %h: tensor<4xf32> {sinter.input = "in2"}, %g: tensor<4xf32> {sinter.input = "in3"})
      -> (tensor<4xf32> {sinter.output = "out0"}, tensor<4xf32> {sinter.output = "out1"}, tensor<4xf32> {sinter.output = "out2"}, tensor<3xf32> {sinter.output = "out3"}) {
    %a = sinter.kernel loop(%h, %x) over <[4] views [(d0) -> (d0)]> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%0: tensor<4xf32>, %1: tensor<4xf32>):
      %2 = sinter.add %0, %1 : tensor<4xf32>
      sinter.yield %2 : tensor<4xf32>
    }
    %b = sinter.kernel loop(%a, %g) over <[4] views [(d0) -> (d0)]> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%0: tensor<4xf32>, %1: tensor<4xf32>):
      %2 = sinter.mul %0, %1 : tensor<4xf32>
      sinter.yield %2 : tensor<4xf32>
    }
    return %a, %b, %b, %z : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3xf32>
  }
}
