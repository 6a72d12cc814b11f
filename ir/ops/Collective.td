//===- Collective.td - what replicas of a program do together -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_COLLECTIVE_TD
#define SINTER_IR_OPS_COLLECTIVE_TD

include "Attrs.td"
include "Interfaces.td"

def Sinter_AllReduceOp : Sinter_Op<"all_reduce", [Pure, Sinter_Transfer,
    DeclareOpInterfaceMethods<Sinter_EvaluateOpInterface>,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "sum over all replicas of the program";
  let description = [{
    Result k is the sum of operand k of all replicas, element by element, with the same bits on every
    replica. The order of the sum is up to the communication library of the target. On the CPU and on
    simulated devices it is a tree over the numbers of the replicas, in pairs of neighbours. All replicas
    run the same all_reduces in the same order. All operands of an op travel in one message.

    With one replica the op is the identity. The reference evaluation assumes that all replicas hold the
    same values: it multiplies by `replicas`.

    C1: there is at least one operand, and each result has the type of its operand. C2: `replicas` is 1 or more.
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
