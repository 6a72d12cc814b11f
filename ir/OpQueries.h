//===- OpQueries.h - questions that any op can answer -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Argument and result types of the methods in Interfaces.td, and functions that
// ask any op these questions.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPQUERIES_H
#define SINTER_IR_OPQUERIES_H

#include "ir/Index.h"

#include "mlir/IR/Operation.h"

namespace sinter::ir {

/// True for `dot_general` and the three convolutions: each is one library call
/// or, if the target generates it, the core of a kernel.
bool isContraction(mlir::Operation *op);
/// True for `reduce` and `arg_reduce`.
bool isReduction(mlir::Operation *op);

/// True for an op whose result is its operand under other sizes and strides;
/// false for null.
bool isView(mlir::Operation *op);

/// The cost of computing one element.
enum class ElementCost {
  free,    // reads no memory: the op is copied to each user, never stored
  load,    // no more than a load: computing it again is fine
  compute, // more than that
};
/// The cost of `op`; `compute` if it does not say.
ElementCost elementCost(mlir::Operation *op);

/// The values of an op that may be channels-last, if all of them are.
struct CarriedLayout {
  llvm::SmallVector<unsigned> operands;
  bool result = false;
};
/// The answer of `op`; no values if it does not say.
CarriedLayout carriedLayout(mlir::Operation *op);
/// All operands and the result, if that has channels.
CarriedLayout carryAll(mlir::Operation *op);
/// True when `value` has batch, channels and at least one spatial dimension.
bool hasChannels(mlir::Value value);

/// The position of the rows of a batch in a value: dimension `dim`, of size
/// outer * batch * inner, has row (i / inner) % batch at index i.
struct RowDim {
  int64_t dim;
  int64_t outer = 1, inner = 1;
  bool operator==(const RowDim &) const = default;
};
/// The position that all operands with rows have in common; nullopt if they
/// differ.
std::optional<RowDim>
commonRows(llvm::ArrayRef<std::optional<RowDim>> operands);

} // namespace sinter::ir

#endif // SINTER_IR_OPQUERIES_H
