// RUN: sinter-opt %s --sinter-unroll-scans=max-trips=-1 --verify-diagnostics

func.func @too_many_trips(%h: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{a loop of 4097 trips cannot become straight code: at most 4096 trips and 500000 ops can}}
  %last = sinter.scan trips 4097 stacks() initial(%h) whole() : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%before: tensor<4xf32>):
    %after = sinter.exp %before : tensor<4xf32>
    sinter.yield %after : tensor<4xf32>
  }
  return %last : tensor<4xf32>
}
