//===- ScanBody.h - the planned body of a scan ------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A scan is one command of its program. Its body is planned first, as a program
// of its own: the scan needs a scratch buffer for the arena of the body, and
// for the carried values between two trips.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_SCANBODY_H
#define SINTER_PASSES_PLAN_SCANBODY_H

#include "passes/plan/Plan.h"

namespace sinter::passes::plan {

/// Kernels of every target may access a buffer that begins at a multiple of
/// this many bytes. GPU kernels have loads of that size.
inline constexpr int64_t kSliceAlignment = 16;

/// Which results of the function of a body are outputs of its program, in
/// order. A carried value that is also stacked, and whose last value has no
/// users, shares the output of the stack: the next trip reads its slice.
struct ScanOutputs {
  ScanOutputs(ir::ScanCallOp scan, mlir::func::FuncOp body);

  llvm::SmallVector<unsigned> results;  // by output
  llvm::SmallVector<unsigned> outputOf; // by result
};

/// True when the slices of the type `stack` begin where kernels may read and
/// write them. Others are copied from and to the arena of the body.
bool hasAlignedSlices(mlir::Type stack);

/// A body with its plan.
struct PlannedBody {
  mlir::func::FuncOp function;
  CommandGraph graph;
  PlannedProgram program;
  ScanOutputs outputs;
  mlir::ArrayAttr scanInputs, scanOutputs; // of exec.scan
  int64_t scratchBytes = 0;                // as exec::scanScratchBytes
};

/// Plans the body of `scan`. Fails with an error if it does not have the form
/// that the fuse phase leaves, or if its trips have too many commands.
mlir::FailureOr<std::shared_ptr<PlannedBody>>
planBody(ir::ScanCallOp scan, ConstantPool &pool,
         const llvm::StringMap<unsigned> &states);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_SCANBODY_H
