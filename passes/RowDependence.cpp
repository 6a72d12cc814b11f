//===- RowDependence.cpp - which rows of a batch a value reads ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/RowDependence.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

/// The row that contains `slice`, if it is within one row of its operand, which
/// has rows at `place`.
static std::optional<int64_t> slicedRow(SliceOp slice, const RowDim &place) {
  int64_t begin = slice.getStarts()[place.dim],
          end = slice.getLimits()[place.dim];
  if (place.outer != 1 || begin >= end ||
      begin / place.inner != (end - 1) / place.inner)
    return std::nullopt;
  return begin / place.inner;
}

/// The single row from which all operands that depend on the batch are
/// computed.
std::optional<int64_t> RowDependence::onlyRowOf(Operation &op) const {
  std::optional<int64_t> row;
  for (Value operand : op.getOperands()) {
    auto found = onlyRow.find(operand);
    if (found == onlyRow.end()) {
      if (!isSame(operand))
        return std::nullopt;
      continue;
    }
    if (row && *row != found->second)
      return std::nullopt;
    row = found->second;
  }
  return row;
}

/// Handles `op` if it takes a slice of one row, continues with values of one
/// row, or joins the results of all rows. False if it does none of these.
bool RowDependence::followOneRow(Operation &op, int64_t batch) {
  std::optional<int64_t> row = onlyRowOf(op);
  Operation *mixing = &op;
  if (auto slice = dyn_cast<SliceOp>(op); slice && !row) {
    if (std::optional<RowDim> place = dimOf(slice.getX()))
      row = slicedRow(slice, *place);
  } else if (row) {
    for (Value operand : op.getOperands())
      if (Operation *first = mixedBy(operand)) {
        mixing = first;
        break;
      }
  }
  if (row) {
    for (Value result : op.getResults()) {
      onlyRow[result] = *row;
      mixed[result] = mixing;
    }
    return true;
  }
  auto concat = dyn_cast<ConcatOp>(op);
  if (!concat || static_cast<int64_t>(concat.getInputs().size()) != batch)
    return false;
  auto axis = static_cast<int64_t>(concat.getAxis());
  for (auto [number, input] : llvm::enumerate(concat.getInputs())) {
    auto found = onlyRow.find(input);
    if (found == onlyRow.end() ||
        found->second != static_cast<int64_t>(number) ||
        input.getType() != concat.getInputs().front().getType())
      return false;
  }
  rows[concat.getResult()] =
      RowDim{axis, 1, tensorType(concat.getInputs().front()).getDimSize(axis)};
  return true;
}

RowDependence::RowDependence(func::FuncOp function, int64_t batch) {
  if (batch < 2)
    return;
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (type && type.getRank() > 0 && type.getDimSize(0) == batch &&
        function.getArgAttr(argument.getArgNumber(), SinterDialect::kInputAttr))
      rows[argument] = RowDim{0};
  }
  for (Operation &op : function.getBody().front()) {
    SmallVector<std::optional<RowDim>> dims;
    Operation *mixing = nullptr;
    for (Value operand : op.getOperands()) {
      dims.push_back(dimOf(operand));
      if (!mixing)
        mixing = mixedBy(operand);
    }
    bool hasRows = llvm::any_of(dims, [](auto dim) { return dim.has_value(); });
    if ((!mixing && !hasRows) || followOneRow(op, batch))
      continue;
    std::optional<RowDim> place;
    if (auto asked = dyn_cast<RowsOpInterface>(op); asked && !mixing)
      place = asked.getResultRows(dims, batch);
    for (Value result : op.getResults())
      if (place)
        rows[result] = *place;
      else
        mixed[result] = mixing ? mixing : &op;
  }
}

std::optional<RowDim> RowDependence::dimOf(Value value) const {
  auto found = rows.find(value);
  return found == rows.end() ? std::nullopt : std::optional(found->second);
}

Operation *RowDependence::mixedBy(Value value) const {
  return mixed.lookup(value);
}

} // namespace sinter::passes
