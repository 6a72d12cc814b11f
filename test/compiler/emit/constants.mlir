// Constants reach the program by their bytes, the ones without a value too.
// RUN: sinterc %s -o %t.so && sinter-run %t.so --inputs=random:seed=3 --outputs=%t.npz
// RUN: sinter-run %s --inputs=random:seed=3 --reference=%t.npz --rtol=0 --atol=0 | FileCheck %s
// CHECK: y: agrees
// CHECK: none: agrees
func.func @main(%x: tensor<4xf32> {sinter.input = "x"})
    -> (tensor<4xf32> {sinter.output = "y"}, tensor<0x3xi64> {sinter.output = "none"}) {
  %c = sinter.constant dense<[1.0, 2.0, -3.0, 0.5]> : tensor<4xf32>
  %y = sinter.mul %x, %c : tensor<4xf32>
  %none = sinter.constant dense<> : tensor<0x3xi64>
  return %y, %none : tensor<4xf32>, tensor<0x3xi64>
}
