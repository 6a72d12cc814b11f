//===- Passes.td - passes of the distribute phase -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_DISTRIBUTE_PASSES_TD
#define SINTER_PASSES_DISTRIBUTE_PASSES_TD

include "mlir/Pass/PassBase.td"

def BucketCollectives : Pass<"sinter-bucket-collectives", "::mlir::func::FuncOp"> {
  let summary = "Merge all_reduces that do not depend on each other into messages of a given size";
  let description = [{
    Messages are filled in the order in which the operands are computed, so that a message can be sent
    while the backward pass is still running. An all_reduce that depends on the result of another one
    goes into a later message. A message has one element type.
  }];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", "25 << 20",
           "no further all_reduce is added to a message of this many bytes">,
  ];
}

#endif // SINTER_PASSES_DISTRIBUTE_PASSES_TD
