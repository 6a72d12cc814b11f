//===- Contraction.h - library calls from fusions ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_CONTRACTION_H
#define SINTER_PASSES_PLAN_CONTRACTION_H

#include "ir/exec/Exec.h"

namespace sinter::passes::plan {

/// Creates the `exec.matmul` or `exec.conv` for `fusion` (a library call),
/// which reads `inputs` (one buffer per operand of the fusion) and writes
/// `output`. Fails, with an error on the fusion, when its body is not of the
/// form that libraries compute.
mlir::LogicalResult createCall(mlir::OpBuilder &builder, ir::FusionOp fusion,
                               mlir::ValueRange inputs, mlir::Value output);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_CONTRACTION_H
