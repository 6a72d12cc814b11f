//===- Passes.td - passes of the distribute phase -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_DISTRIBUTE_PASSES_TD
#define SINTER_PASSES_DISTRIBUTE_PASSES_TD

include "mlir/Pass/PassBase.td"

def BucketCollectives : Pass<"sinter-bucket-collectives", "::mlir::func::FuncOp"> {
  let summary = "join all_reduces that need not wait for each other into messages of some size";
  let description = [{
    Buckets fill up in the order in which operands become known, so that a message leaves while the
    backward pass goes on. An all_reduce whose operand depends on another one's result is in a later
    message; element types are not mixed.
  }];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", "25 << 20",
           "a message is full when it has this many bytes">,
  ];
}

#endif // SINTER_PASSES_DISTRIBUTE_PASSES_TD
