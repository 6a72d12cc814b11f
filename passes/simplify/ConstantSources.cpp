//===- ConstantSources.cpp - values computed from constants ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/simplify/ConstantSources.h"
#include "ir/Tensor.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

/// `op` and the ops that it is computed from, except constants, in the order of
/// the block.
static SmallVector<Operation *> sourcesOf(Operation *op) {
  llvm::SetVector<Operation *> sources;
  SmallVector<Operation *> work{op};
  while (!work.empty()) {
    Operation *next = work.pop_back_val();
    if (!sources.insert(next))
      continue;
    for (Value operand : next->getOperands())
      if (!operand.getDefiningOp<ConstantOp>())
        work.push_back(operand.getDefiningOp());
  }
  SmallVector<Operation *> inOrder = sources.takeVector();
  llvm::sort(inOrder,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return inOrder;
}

FailureOr<SmallVector<Tensor>> evaluateFromConstants(Operation *op,
                                                     Operation **undefined) {
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    FailureOr<Tensor> value = Tensor::fromAttr(constant.getValue());
    if (failed(value))
      return failure();
    return SmallVector<Tensor>{std::move(*value)};
  }
  SmallVector<Operation *> sources = sourcesOf(op);
  DenseMap<Value, unsigned> usesLeft;
  for (Operation *source : sources)
    for (Value operand : source->getOperands())
      ++usesLeft[operand];
  DenseMap<Value, Tensor> values;
  for (Operation *source : sources) {
    SmallVector<Tensor> operands, results;
    for (Value operand : source->getOperands()) {
      if (auto constant = operand.getDefiningOp<ConstantOp>()) {
        FailureOr<Tensor> value = Tensor::fromAttr(constant.getValue());
        if (failed(value))
          return failure();
        operands.push_back(std::move(*value));
      } else if (--usesLeft[operand] == 0) {
        operands.push_back(std::move(values[operand]));
      } else {
        operands.push_back(values[operand]);
      }
    }
    ScopedDiagnosticHandler silence(source->getContext(),
                                    [](Diagnostic &) { return success(); });
    if (failed(cast<EvaluateOpInterface>(source).evaluate(operands, results))) {
      if (undefined)
        *undefined = source;
      return failure();
    }
    for (auto [value, result] :
         llvm::zip_equal(source->getResults(), results)) {
      result.roundToStorage();
      values[value] = std::move(result);
    }
  }
  SmallVector<Tensor> results;
  for (Value value : op->getResults())
    results.push_back(std::move(values[value]));
  return results;
}

} // namespace sinter::passes
