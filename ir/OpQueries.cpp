//===- OpQueries.cpp - questions to any op --------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"

using namespace mlir;

namespace sinter::ir {

bool isContraction(Operation *op) { return op->hasTrait<Contraction>(); }

bool isView(Operation *op) { return op && op->hasTrait<View>(); }

bool isReduction(Operation *op) { return isa<ReduceOp, ArgReduceOp>(op); }

ElementCost elementCost(Operation *op) {
  auto asked = dyn_cast<ElementCostOpInterface>(op);
  return asked ? asked.getElementCost() : ElementCost::compute;
}

CarriedLayout carriedLayout(Operation *op) {
  auto asked = dyn_cast<LayoutOpInterface>(op);
  return asked && op->getNumResults() == 1 ? asked.getCarriedLayout()
                                           : CarriedLayout();
}

bool hasChannels(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() >= 3;
}

CarriedLayout carryAll(Operation *op) {
  CarriedLayout all;
  if (!hasChannels(op->getResult(0)))
    return all;
  all.result = true;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    all.operands.push_back(i);
  return all;
}

std::optional<RowDim> commonRows(ArrayRef<std::optional<RowDim>> operands) {
  std::optional<RowDim> common;
  for (const auto &rows : operands) {
    if (rows && common && !(*rows == *common))
      return std::nullopt;
    if (rows)
      common = rows;
  }
  return common;
}

} // namespace sinter::ir
