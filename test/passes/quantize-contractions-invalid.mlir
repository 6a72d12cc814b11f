// RUN: not sinter-opt %s --sinter-quantize-contractions="ranges=main/b/dot_general/0=0:1" 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: the ranges name 'main/b/dot_general/0', which is not a contraction of this program
// RUN: not sinter-opt %s --sinter-quantize-contractions="ranges=main/a/dot_general/0=1:0" 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: ranges: expected OP=LOW:HIGH, not main/a/dot_general/0=1:0

func.func @main(%x: tensor<1x2xf32>) -> tensor<1x1xf32> {
  %c = sinter.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %y = sinter.dot_general %x, %c batch [] x [] contract [1] x [0]
     : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<1x1xf32> loc("a")
  return %y : tensor<1x1xf32>
}
