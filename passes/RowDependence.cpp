//===- RowDependence.cpp - which rows of a batch a value reads ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/RowDependence.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
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
    if (!mixing && !hasRows)
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
