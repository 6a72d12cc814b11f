//===- Collective.td - what replicas of a program do together -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_COLLECTIVE_TD
#define SINTER_IR_OPS_COLLECTIVE_TD

include "Attrs.td"
include "Interfaces.td"

class Sinter_CollectiveOp<string mnemonic, Type tensor, list<Trait> traits = []>
    : Sinter_Op<mnemonic, !listconcat([Pure, Sinter_Transfer,
        DeclareOpInterfaceMethods<InferTypeOpInterface>], traits, [Sinter_CollectiveOpInterface])> {
  let arguments = (ins Variadic<tensor>:$inputs, Sinter_MeshAxisAttr:$axis, I64Attr:$replicas);
  let results = (outs Variadic<tensor>:$outputs);
  let assemblyFormat = "$inputs `over` $axis `of` $replicas attr-dict `:` type($inputs)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Sinter_AllReduceOp : Sinter_CollectiveOp<"all_reduce", Sinter_NumberTensor, [DeclareOpInterfaceMethods<Sinter_EvaluateOpInterface>]> {
  let summary = "sum over all replicas of the program";
  let description = [{
    Result k is the sum of operand k of all replicas, element by element, with the same bits on every
    replica. The order of the sum is up to the communication library of the target. On the CPU and on
    simulated devices it is a tree over the numbers of the replicas, in pairs of neighbours. All replicas
    run the same collective ops in the same order. All operands of an op travel in one message. `axis` names
    the axis of the mesh of devices along which the replicas lie; `data` is the only one.

    With one replica the op is the identity. The reference evaluation assumes that all replicas hold the
    same values: it multiplies by `replicas`.

    C1: there is at least one operand, and each result has the type of its operand. C2: `replicas` is 1 or more.
    ```mlir
    %s = sinter.all_reduce %x over data of 2 : tensor<4x8xf32>
    ```
  }];
}

def Sinter_ReduceScatterOp : Sinter_CollectiveOp<"reduce_scatter", Sinter_NumberTensor, [Sinter_NotDifferentiable]> {
  let summary = "this replica's part of a sum over all replicas";
  let description = [{
    Operand k is cut into `replicas` equal parts. On replica r, result k is the sum of part r of operand k of all
    replicas. On the CPU and on simulated devices it has the bits that `all_reduce` computes; on others the
    communication library may sum in another order than for `all_reduce`.

    C1: there is at least one operand; each has one dimension, which `replicas` divides. C2: `replicas` is 1 or more.
    ```mlir
    %s = sinter.reduce_scatter %x over data of 2 : tensor<8xf32>
    ```
  }];
}

def Sinter_AllGatherOp : Sinter_CollectiveOp<"all_gather", Sinter_Tensor, [Sinter_NotDifferentiable]> {
  let summary = "the parts of all replicas, one after the other";
  let description = [{
    Part r of result k is operand k of replica r. All replicas get the same.

    C1: there is at least one operand; each has one dimension. C2: `replicas` is 1 or more.
    ```mlir
    %w = sinter.all_gather %p over data of 2 : tensor<4xf32>
    ```
  }];
}

#endif // SINTER_IR_OPS_COLLECTIVE_TD
