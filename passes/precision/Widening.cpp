//===- Widening.cpp - ops of 16-bit floats as ops of float32 --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/precision/Widening.h"
#include "ir/Build.h"
#include "ir/Dialect.h"

using namespace mlir;

namespace sinter::passes {

static bool isNarrow(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isBF16() || element.isF16();
}

Operation *buildWidened(Operation *op, SmallVectorImpl<Value> &results) {
  if (llvm::none_of(op->getOperandTypes(), isNarrow) &&
      llvm::none_of(op->getResultTypes(), isNarrow))
    return nullptr;
  OpBuilder builder(op);
  Type wide = builder.getF32Type();
  OperationState state(op->getLoc(), op->getName());
  for (Value operand : op->getOperands())
    state.addOperands(isNarrow(operand.getType())
                          ? ir::castTo(builder, op->getLoc(), operand, wide)
                          : operand);
  for (Value result : op->getResults())
    state.addTypes(isNarrow(result.getType())
                       ? Type(ir::tensorType(result).clone(wide))
                       : result.getType());
  state.addAttributes(op->getAttrs());
  Operation *copy = builder.create(state);
  for (auto [result, from] :
       llvm::zip_equal(copy->getResults(), op->getResults()))
    results.push_back(ir::castTo(builder, op->getLoc(), result,
                                 getElementTypeOrSelf(from.getType())));
  return copy;
}

void widenAccumulations(func::FuncOp function) {
  SmallVector<Operation *> found;
  function.walk([&](Operation *op) {
    auto doesAdd = [](auto scatter) {
      return scatter.getKind() == ir::ScatterKind::sum ||
             scatter.getKind() == ir::ScatterKind::prod;
    };
    bool adds = isa<ir::ReduceWindowGradOp>(op);
    if (auto scatter = dyn_cast<ir::ScatterOp>(op))
      adds = doesAdd(scatter);
    else if (auto scatter = dyn_cast<ir::ScatterElementsOp>(op))
      adds = doesAdd(scatter);
    else if (auto scatter = dyn_cast<ir::ScatterNdOp>(op))
      adds = doesAdd(scatter);
    if (adds)
      found.push_back(op);
  });
  for (Operation *op : found) {
    SmallVector<Value> results;
    if (!buildWidened(op, results))
      continue;
    op->replaceAllUsesWith(results);
    op->erase();
  }
}

} // namespace sinter::passes
