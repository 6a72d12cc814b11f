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
  follow(function.getBody().front(), batch);
}

/// A value that is the same for every batch may stand beside rows: a carried
/// value that has rows after some trip has them from the first trip on.
void RowDependence::followScan(ScanOp scan, int64_t batch) {
  Block &body = scan.getBody().front();
  OperandRange yielded = body.getTerminator()->getOperands();
  const size_t stacks = scan.getStacks().size(),
               carried = scan.getInitial().size();
  auto set = [&](Value value, std::optional<RowDim> dim, Operation *mixing) {
    rows.erase(value);
    mixed.erase(value);
    if (mixing)
      mixed[value] = mixing;
    else if (dim)
      rows[value] = *dim;
  };
  for (auto [i, operand] : llvm::enumerate(scan->getOperands())) {
    std::optional<RowDim> dim = dimOf(operand);
    Operation *mixing = mixedBy(operand);
    if (i < stacks && dim) {
      // Trips over the rows of a batch mix them.
      if (dim->dim == 0)
        mixing = scan;
      --dim->dim;
    }
    set(body.getArgument(i), dim, mixing);
  }
  // Each round adds rows to a carried value, or mixes one.
  for (bool changed = true; changed;) {
    changed = false;
    body.walk([&](Operation *op) {
      for (Value result : op->getResults()) {
        set(result, std::nullopt, nullptr);
        onlyRow.erase(result);
      }
    });
    follow(body, batch);
    for (size_t i = 0; i < carried; ++i) {
      BlockArgument argument = body.getArgument(stacks + i);
      std::optional<RowDim> before = dimOf(argument), after = dimOf(yielded[i]);
      Operation *mixing = mixedBy(argument);
      if (mixing || isSame(yielded[i]))
        continue;
      mixing = mixedBy(yielded[i]);
      if (before && after && *before != *after)
        mixing = scan;
      if (!mixing && before)
        continue;
      set(argument, after, mixing);
      changed = true;
    }
  }
  for (size_t i = 0; i < scan->getNumResults(); ++i) {
    Value source =
        i < carried ? Value(body.getArgument(stacks + i)) : Value(yielded[i]);
    std::optional<RowDim> dim = dimOf(source);
    if (dim && i >= carried)
      ++dim->dim;
    set(scan->getResult(i), dim, mixedBy(source));
  }
}

void RowDependence::follow(Block &block, int64_t batch) {
  for (Operation &op : block) {
    if (auto scan = dyn_cast<ScanOp>(op)) {
      followScan(scan, batch);
      continue;
    }
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
