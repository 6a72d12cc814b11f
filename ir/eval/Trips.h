//===- Trips.h - meaning of repetition, with any body -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_EVAL_TRIPS_H
#define SINTER_IR_EVAL_TRIPS_H

#include "ir/Tensor.h"

#include "mlir/IR/Block.h"

namespace sinter::ir {

/// Slice number `index` of `stack`, and the same replaced.
Tensor sliceOfStack(const Tensor &stack, mlir::RankedTensorType slice,
                    int64_t index);
void setSliceOfStack(Tensor &stack, const Tensor &slice, int64_t index);

/// Evaluates the body of a scan once, for one trip.
using TripEvaluation =
    llvm::function_ref<mlir::FailureOr<llvm::SmallVector<Tensor>>(
        mlir::Block &body, llvm::ArrayRef<Tensor> arguments)>;

/// The results of `scan`, a `sinter.scan` or `sinter.scan_call`, from those of
/// its trips.
mlir::LogicalResult evaluateTrips(mlir::Operation *scan,
                                  llvm::ArrayRef<Tensor> operands,
                                  llvm::SmallVectorImpl<Tensor> &results,
                                  TripEvaluation evaluation);

} // namespace sinter::ir

#endif // SINTER_IR_EVAL_TRIPS_H
