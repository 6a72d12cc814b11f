//===- Passes.td - passes of the distribute phase -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_DISTRIBUTE_PASSES_TD
#define SINTER_PASSES_DISTRIBUTE_PASSES_TD

include "mlir/Pass/PassBase.td"

def BucketCollectives : Pass<"sinter-bucket-collectives", "::mlir::func::FuncOp"> {
  let summary = "Merge collectives that do not depend on each other into messages of a given size";
  let description = [{
    Messages are filled in the order in which the operands are computed, so that a message can be sent
    while the backward pass is still running. They are filled from the last collective on: the last message has
    `last-bytes` or more, since nothing hides the time that it takes, the others `bucket-bytes` or more, and the
    first one what is left. A collective that depends on the result of another one
    goes into a later message. A message is of one op (`all_reduce`, `reduce_scatter` or `all_gather`), and has
    one element type.
  }];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", "25 << 20",
           "no further collective is added to a message of this many bytes">,
    Option<"lastBytes", "last-bytes", "int64_t", "1 << 20",
           "the same, for the last message of a kind">,
  ];
}

def DivideWeights : Pass<"sinter-divide-weights", "::mlir::ModuleOp"> {
  let summary = "Divide float32 weights of which only the 16-bit rounding is read over the replicas";
  let description = [{
    A parameter becomes a divided state (`part_of`) if each replica updates a part of it (--shard) and nothing reads
    the whole but what rounds it to 16 bits for a state of role rounded. The parts of the rounding are gathered instead
    of those of the parameter. @refresh does not compute such roundings; whoever writes the whole parameter does.

    A parameter with two roundings, one that a function reads in float32, and one that is gathered or cut before it is
    rounded stay whole.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

#endif // SINTER_PASSES_DISTRIBUTE_PASSES_TD
