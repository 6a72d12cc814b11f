// Names of tensors become identifiers in the header, each its own; comments stay comments.
// RUN: rm -rf %t && mkdir %t
// RUN: cp %s "%t/1 model*-.mlir"
// RUN: sinterc "%t/1 model*-.mlir" -o %t/x.so
// RUN: FileCheck %s --input-file=%t/x.h
// RUN: cp %t/x.h %t/x.c && %cc -std=c11 -Wall -Wextra -Werror -pedantic -fsyntax-only %t/x.c
// RUN: sinter-run %t/x.so --inputs=random:seed=0

// CHECK: The model
// CHECK: 0: a* /b, float [2]
// CHECK: #define SINTER_[[NAME:[A-Z0-9_]+]]_INPUT_A__B 0
// CHECK: #define SINTER_[[NAME]]_INPUT_A__B_2 1
// CHECK: #define SINTER_[[NAME]]_OUTPUT_INT 0
func.func @main(%x: tensor<2xf32> {sinter.input = "a*/b"}, %y: tensor<2xi1> {sinter.input = "a:;b"})
    -> (tensor<2xf32> {sinter.output = "int"}) {
  %z = sinter.where %y, %x, %x : tensor<2xi1>, tensor<2xf32>
  return %z : tensor<2xf32>
}
