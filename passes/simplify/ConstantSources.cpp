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

/// The results of `op` as values of type T. `read` gives those of constants,
/// `evaluate` appends the results of an op for its operands; both may fail.
template <class T, class Read, class Evaluate>
static FailureOr<SmallVector<T>> evaluateSources(Operation *op, Read read,
                                                 Evaluate evaluate) {
  SmallVector<T> results;
  auto readTo = [&](SmallVector<T> &values, ConstantOp constant) {
    auto value = read(cast<ElementsAttr>(constant.getValue()));
    if (!value)
      return failure();
    values.push_back(std::move(*value));
    return success();
  };
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    if (failed(readTo(results, constant)))
      return failure();
    return results;
  }
  SmallVector<Operation *> sources = sourcesOf(op);
  DenseMap<Value, unsigned> usesLeft;
  for (Operation *source : sources)
    for (Value operand : source->getOperands())
      ++usesLeft[operand];
  DenseMap<Value, T> values;
  for (Operation *source : sources) {
    SmallVector<T> operands;
    results.clear();
    for (Value operand : source->getOperands()) {
      if (auto constant = operand.getDefiningOp<ConstantOp>()) {
        if (failed(readTo(operands, constant)))
          return failure();
      } else if (--usesLeft[operand] == 0) {
        operands.push_back(std::move(values[operand]));
      } else {
        operands.push_back(values[operand]);
      }
    }
    if (failed(evaluate(source, operands, results)))
      return failure();
    if (source != op)
      for (auto [value, result] :
           llvm::zip_equal(source->getResults(), results))
        values[value] = std::move(result);
  }
  return results;
}

FailureOr<SmallVector<Tensor>> evaluateFromConstants(Operation *op,
                                                     Operation **undefined) {
  return evaluateSources<Tensor>(
      op,
      [](ElementsAttr value) -> std::optional<Tensor> {
        FailureOr<Tensor> tensor = Tensor::fromAttr(value);
        return succeeded(tensor) ? std::optional(std::move(*tensor))
                                 : std::nullopt;
      },
      [&](Operation *source, ArrayRef<Tensor> operands,
          SmallVector<Tensor> &results) {
        ScopedDiagnosticHandler silence(source->getContext(),
                                        [](Diagnostic &) { return success(); });
        if (failed(cast<EvaluateOpInterface>(source).evaluate(operands,
                                                              results))) {
          if (undefined)
            *undefined = source;
          return failure();
        }
        for (Tensor &result : results)
          result.roundToStorage();
        return success();
      });
}

std::optional<SmallIntegers> evaluateSmallFromConstants(Operation *op) {
  auto results = evaluateSources<SmallIntegers>(
      op, SmallIntegers::fromAttr,
      [](Operation *source, MutableArrayRef<SmallIntegers> operands,
         SmallVector<SmallIntegers> &results) -> LogicalResult {
        std::optional<SmallIntegers> result = evaluateSmall(source, operands);
        if (!result)
          return failure();
        results.push_back(std::move(*result));
        return success();
      });
  if (failed(results))
    return std::nullopt;
  return std::move(results->front());
}

} // namespace sinter::passes
