//===- Contraction.h - commands of library calls ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_CONTRACTION_H
#define SINTER_PASSES_PLAN_CONTRACTION_H

#include "ir/exec/Exec.h"

namespace sinter::passes::plan {

/// Creates the `exec.matmul`, `exec.conv` or `exec.attention` for `fusion`,
/// which reads `inputs` and writes `outputs` (one buffer per operand and
/// result). Fails with an error on the fusion if its body does not have a form
/// that libraries compute.
mlir::LogicalResult createCall(mlir::OpBuilder &builder,
                               ir::LibraryCallOp fusion,
                               mlir::ValueRange inputs,
                               mlir::ValueRange outputs);

/// The same for library calls of kind attention.
mlir::LogicalResult createAttentionCall(mlir::OpBuilder &builder,
                                        ir::LibraryCallOp fusion,
                                        mlir::ValueRange inputs,
                                        mlir::ValueRange outputs);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_CONTRACTION_H
