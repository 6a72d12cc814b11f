// RUN: sinter-opt %s --sinter-plan-memory --split-input-file | FileCheck %s

// A chain of kernels that may run in place needs one buffer.
module @chain {
  func.func @main(%x: tensor<64xf32> {sinter.input = "x"}) -> (tensor<64xf32> {sinter.output = "y"}) {
    %a = sinter.fusion "loop"(%x) {domain = array<i64: 64>, views = [array<i64: 0>]} : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.exp %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %b = sinter.fusion "loop"(%a) {domain = array<i64: 64>, views = [array<i64: 0>]} : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.tanh %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %c = sinter.fusion "loop"(%b) {domain = array<i64: 64>, views = [array<i64: 0>]} : (tensor<64xf32>) -> tensor<64xf32> {
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
  func.func @main(%x: tensor<8x8xf32> {sinter.input = "x"}) -> (tensor<8x8xf32> {sinter.output = "y"}) {
    %a = sinter.fusion "loop"(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%0: tensor<8x8xf32>):
      %1 = sinter.transpose %0 perm [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
      sinter.yield %1 : tensor<8x8xf32>
    }
    %b = sinter.fusion "loop"(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%0: tensor<8x8xf32>):
      %1 = sinter.transpose %0 perm [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
      sinter.yield %1 : tensor<8x8xf32>
    }
    %c = sinter.fusion "loop"(%b) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%0: tensor<8x8xf32>):
      %1 = sinter.transpose %0 perm [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
      sinter.yield %1 : tensor<8x8xf32>
    }
    %d = sinter.fusion "loop"(%c) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
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
  func.func @main(%x: tensor<64xf32> {sinter.input = "x"}) -> (tensor<64xf32> {sinter.output = "y"}) {
    %a = sinter.fusion "loop"(%x) {domain = array<i64: 64>, views = [array<i64: 0>]} : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.exp %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %b = sinter.fusion "loop"(%a) {domain = array<i64: 64>, views = [array<i64: 0>]} : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.tanh %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %c = sinter.fusion "loop"(%a) {domain = array<i64: 64>, views = [array<i64: 0>]} : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%0: tensor<64xf32>):
      %1 = sinter.neg %0 : tensor<64xf32>
      sinter.yield %1 : tensor<64xf32>
    }
    %d = sinter.fusion "loop"(%b, %c) {domain = array<i64: 64>, views = [array<i64: 0>]} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
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
  func.func @main(%x: tensor<4x16xf32> {sinter.input = "x"}, %w: tensor<16x64xf32> {sinter.input = "w"},
                  %v: tensor<64x16xf32> {sinter.input = "v"}) -> (tensor<4x16xf32> {sinter.output = "y"}) {
    %a = sinter.fusion "matmul"(%x, %w) : (tensor<4x16xf32>, tensor<16x64xf32>) -> tensor<4x64xf32> {
    ^bb0(%0: tensor<4x16xf32>, %1: tensor<16x64xf32>):
      %2 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [0] : (tensor<4x16xf32>, tensor<16x64xf32>) -> tensor<4x64xf32>
      %3 = sinter.relu %2 : tensor<4x64xf32>
      sinter.yield %3 : tensor<4x64xf32>
    }
    %b = sinter.fusion "matmul"(%a, %v, %x) : (tensor<4x64xf32>, tensor<64x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32> {
    ^bb0(%0: tensor<4x64xf32>, %1: tensor<64x16xf32>, %2: tensor<4x16xf32>):
      %3 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [0] : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
      %4 = sinter.add %3, %2 : tensor<4x16xf32>
      sinter.yield %4 : tensor<4x16xf32>
    }
    %c = sinter.fusion "loop"(%b) {domain = array<i64: 4, 16>, views = [array<i64: 0, 1>]} : (tensor<4x16xf32>) -> tensor<4x16xf32> {
    ^bb0(%0: tensor<4x16xf32>):
      %1 = sinter.exp %0 : tensor<4x16xf32>
      sinter.yield %1 : tensor<4x16xf32>
    }
    %d = sinter.fusion "matmul"(%c, %w) : (tensor<4x16xf32>, tensor<16x64xf32>) -> tensor<4x64xf32> {
    ^bb0(%0: tensor<4x16xf32>, %1: tensor<16x64xf32>):
      %2 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [0] : (tensor<4x16xf32>, tensor<16x64xf32>) -> tensor<4x64xf32>
      %3 = sinter.relu %2 : tensor<4x64xf32>
      sinter.yield %3 : tensor<4x64xf32>
    }
    %e = sinter.fusion "matmul"(%d, %v, %c) : (tensor<4x64xf32>, tensor<64x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32> {
    ^bb0(%0: tensor<4x64xf32>, %1: tensor<64x16xf32>, %2: tensor<4x16xf32>):
      %3 = sinter.dot_general %0, %1 batch [] x [] contract [1] x [0] : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
      %4 = sinter.add %3, %2 : tensor<4x16xf32>
      sinter.yield %4 : tensor<4x16xf32>
    }
    %f = sinter.fusion "loop"(%e) {domain = array<i64: 4, 16>, views = [array<i64: 0, 1>]} : (tensor<4x16xf32>) -> tensor<4x16xf32> {
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
  func.func @main(%x: tensor<4x2xf32> {sinter.input = "x"})
      -> (tensor<8xf32> {sinter.output = "a"}, tensor<8xf32> {sinter.output = "b"},
          tensor<4x2xf32> {sinter.output = "c"}, tensor<2xf32> {sinter.output = "d"}) {
    %k = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %r = sinter.reshape %x : tensor<4x2xf32> -> tensor<8xf32>
    %a = sinter.fusion "loop"(%r) {domain = array<i64: 8>, views = [array<i64: 0>]} : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%0: tensor<8xf32>):
      %1 = sinter.exp %0 : tensor<8xf32>
      sinter.yield %1 : tensor<8xf32>
    }
    return %a, %a, %x, %k : tensor<8xf32>, tensor<8xf32>, tensor<4x2xf32>, tensor<2xf32>
  }
}
