//===- OpQueries.h - the types of answers that ops give ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What the methods of Interfaces.td take and return, and the questions as
// functions of any op.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPQUERIES_H
#define SINTER_IR_OPQUERIES_H

#include "ir/Index.h"

#include "mlir/IR/Operation.h"

namespace sinter::ir {

/// True for `dot_general` and the three convolutions: one library call each or,
/// where the target generates them, the core of a kernel.
bool isContraction(mlir::Operation *op);
/// True for `reduce` and `arg_reduce`.
bool isReduction(mlir::Operation *op);

/// What computing one element costs.
enum class ElementCost {
  free,    // no memory is read: the op is copied to each user, never stored
  load,    // no more than a load: computing it again is fine
  compute, // more than that
};
/// The cost of `op`; `compute` where it does not say.
ElementCost elementCost(mlir::Operation *op);

/// Which values of an op may lie channels-last, if all of them do.
struct CarriedLayout {
  llvm::SmallVector<unsigned> operands;
  bool result = false;
};
/// The answer of `op`; no value where it does not say.
CarriedLayout carriedLayout(mlir::Operation *op);
/// All operands and the result, if that has channels.
CarriedLayout carryAll(mlir::Operation *op);
/// Batch, channels and at least one spatial dimension.
bool hasChannels(mlir::Value value);

/// Where a value has the rows of a batch: dimension `dim`, of size outer *
/// batch * inner, has row (i / inner) % batch at i.
struct RowDim {
  int64_t dim;
  int64_t outer = 1, inner = 1;
  bool operator==(const RowDim &) const = default;
};
/// The place that all operands with rows have in common; nullopt where they
/// differ.
std::optional<RowDim>
commonRows(llvm::ArrayRef<std::optional<RowDim>> operands);

} // namespace sinter::ir

#endif // SINTER_IR_OPQUERIES_H
