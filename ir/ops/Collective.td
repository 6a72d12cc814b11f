//===- Collective.td - what replicas of a program do together -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_COLLECTIVE_TD
#define SINTER_IR_OPS_COLLECTIVE_TD

include "Attrs.td"
include "Interfaces.td"

def Sinter_AllReduceOp : Sinter_Op<"all_reduce", [Pure,
    DeclareOpInterfaceMethods<Sinter_EvaluateOpInterface>,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "sums over all replicas of the program";
  let description = [{
    Every replica gets `result_k = sum over r of x_k of replica r`, element by element: the same bits on
    all of them. The order of the sum belongs to the communication library of the target; on the CPU and
    on simulated devices it is a tree over the replicas' numbers, in pairs of neighbours. All replicas
    run the same all_reduces in the same order; several operands are one message.

    With one replica it is the identity. The reference evaluation stands for a replica whose peers all
    hold the same values: it multiplies by `replicas`.

    C1: there is an operand, and each result has its operand's type. C2: `replicas` is 1 or more.
    ```mlir
    %s = sinter.all_reduce %x {replicas = 2 : i64} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Variadic<Sinter_NumberTensor>:$inputs, I64Attr:$replicas);
  let results = (outs Variadic<Sinter_NumberTensor>:$outputs);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // SINTER_IR_OPS_COLLECTIVE_TD
