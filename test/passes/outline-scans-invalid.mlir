// RUN: sinter-opt %s --split-input-file --verify-diagnostics --sinter-outline-scans

func.func @nested(%xs: tensor<4x2x8xf32> {sinter.input = "x"}, %h: tensor<8xf32> {sinter.input = "h"})
    -> (tensor<8xf32> {sinter.output = "last"}) {
  // expected-error @+1 {{a scan in the body of a scan is not supported; unroll the inner one}}
  %sum = sinter.scan trips 4 stacks(%xs) initial(%h) whole() : (tensor<4x2x8xf32>, tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%x: tensor<2x8xf32>, %before: tensor<8xf32>):
    %inner = sinter.scan trips 2 stacks(%x) initial(%before) whole() : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%y: tensor<8xf32>, %b: tensor<8xf32>):
      %after = sinter.add %b, %y : tensor<8xf32>
      sinter.yield %after : tensor<8xf32>
    }
    sinter.yield %inner : tensor<8xf32>
  }
  return %sum : tensor<8xf32>
}

// -----

module attributes {sinter.devices = ["sim:0", "cpu"]} {
  func.func @main(%xs: tensor<4x8xf32> {sinter.input = "x"}, %h: tensor<8xf32> {sinter.input = "h"})
      -> (tensor<8xf32> {sinter.output = "last"}) {
    // expected-error @+1 {{a scan in a program on several devices is not supported; --unroll-scans=all makes straight code of it}}
    %sum = sinter.scan trips 4 stacks(%xs) initial(%h) whole() : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%x: tensor<8xf32>, %before: tensor<8xf32>):
      %after = sinter.add %before, %x : tensor<8xf32>
      sinter.yield %after : tensor<8xf32>
    }
    return %sum : tensor<8xf32>
  }
}
