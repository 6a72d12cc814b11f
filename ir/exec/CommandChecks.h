//===- CommandChecks.h - parts of the verifiers of commands -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Internal to ir/exec. These are the checks that the runtime makes of an
// artifact, so that a plan that verifies also loads.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_EXEC_COMMANDCHECKS_H
#define SINTER_IR_EXEC_COMMANDCHECKS_H

#include "ir/exec/Exec.h"

namespace sinter::exec {

struct Dim {
  int64_t size, stride;
};

/// The number of elements from the first to the last that `dims` reach; 0 if
/// there are none, -1 if the number overflows.
int64_t extentOf(llvm::ArrayRef<Dim> dims);

/// Checks that `elements` elements of its type fit into the buffer.
mlir::LogicalResult verifyExtent(mlir::Operation *op, llvm::StringRef what,
                                 int64_t elements, mlir::Value value);

/// What the post-ops of a command may be.
struct PostOpRules {
  bool isProduct = false;
  bool isSingle = false;  // a product without batch dimensions
  bool isForward = false; // a forward convolution
  bool isOfBytes = false; // of 8-bit integers, forward
  // The required elements by extent.
  int64_t result = 0, columns = 0, rows = 0, bitsBytes = 0;
};
mlir::LogicalResult verifyPostOps(mlir::Operation *op, mlir::ArrayAttr postOps,
                                  mlir::OperandRange reads,
                                  mlir::OperandRange writes,
                                  const PostOpRules &rules);

mlir::LogicalResult verifyMatmul(MatmulOp op);
mlir::LogicalResult verifyConv(ConvOp op);
mlir::LogicalResult verifyAttention(AttentionOp op);

} // namespace sinter::exec

#endif // SINTER_IR_EXEC_COMMANDCHECKS_H
