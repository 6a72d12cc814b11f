// RUN: not sinter-opt %s --sinter-assign-precision="policy=half" 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not sinter-opt %s --sinter-assign-precision="policy=bf16 keep-fp32=(" 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not sinter-opt %s --sinter-assign-precision="policy=bf16 overrides=main/a/conv/0=fp32" 2>&1 | FileCheck %s --check-prefix=PLAN
// POLICY: error: precision must be fp32, tf32, bf16 or fp16, not half
// REGEX: error: keep-fp32=( is not a regular expression
// PLAN: error: the precision plan names 'main/a/conv/0', which is not an op of this program
func.func @main(%x: tensor<8x8xf32> {sinter.input = "x"}) -> (tensor<8x8xf32> {sinter.output = "y"}) {
  %0 = sinter.dot_general %x, %x batch [] x [] contract [1] x [0]
     : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
