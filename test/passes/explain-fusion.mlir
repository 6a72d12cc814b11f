// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-explain-fusion))' | FileCheck %s
// RUN: sinterc %s --target=cuda --libraries=all --remarks=%t.remarks -o %t.so
// RUN: FileCheck %s --check-prefix=REMARKS --input-file=%t.remarks

// The pass changes nothing.
// CHECK-LABEL: @main
// CHECK: sinter.dot_general
// CHECK: sinter.dot_general
// CHECK: sinter.reduce
// CHECK: return

// Two calls, of which one reads the other's result; a kernel before a call; a kernel after one, which is explained
// where the epilogue ends. What follows is one kernel.
// REMARKS-DAG: {"count":1,"kind":"not-fused","nodes":["first"],"pass":"explain-fusion","text":"each is a library call (matmul): a call computes one contraction","with":["second"]}
// REMARKS-DAG: {"count":1,"kind":"not-fused","nodes":["before"],"pass":"explain-fusion","text":"the reader is a library call (matmul), which reads its operands from memory; it includes only casts and views of them","with":["first"]}
// REMARKS-DAG: "kind":"not-fused","nodes":["second"],"pass":"fuse-epilogues","text":"reduce has a result of another shape or type {{.*}}","with":["sum"]}
func.func @main(%x: tensor<64x64xf32> {sinter.input = "x"}, %w: tensor<64x64xf32> {sinter.input = "w"}) -> (tensor<64x64xf32> {sinter.output = "y"}, tensor<64xf32> {sinter.output = "s"}) {
  %0 = sinter.cos %x : tensor<64x64xf32> loc("before")
  %1 = sinter.dot_general %0, %w batch [] x [] contract [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("first")
  %2 = sinter.dot_general %1, %w batch [] x [] contract [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("second")
  %3 = sinter.reduce sum %2 dims [1] : (tensor<64x64xf32>) -> tensor<64xf32> loc("sum")
  %4 = sinter.broadcast %3 dims [0] : tensor<64xf32> -> tensor<64x64xf32> loc("after")
  %5 = sinter.exp %4 : tensor<64x64xf32> loc("after")
  return %5, %3 : tensor<64x64xf32>, tensor<64xf32>
}
