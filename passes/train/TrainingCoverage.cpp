//===- TrainingCoverage.cpp - whether gradients are missing ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Called if a step cannot be built for another reason. So a user who first has
// to choose a loss learns at once if no choice would make training work.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/Gradient.h"
#include "passes/train/Training.h"

#include "mlir/IR/OwningOpRef.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

/// Differentiates the sum of result number `output`.
static LogicalResult differentiate(func::FuncOp main, unsigned output,
                                   const StateSelection *selection) {
  OwningOpRef<func::FuncOp> copy = main.clone();
  SmallVector<Value> states;
  // The copy is not in a module, so the states are looked up by @main.
  for (auto [argument, twin] :
       llvm::zip_equal(main.getArguments(), copy->getArguments())) {
    StateOp state = stateOf(argument);
    if (!state || state.getRole() != StateRole::param ||
        !isa<FloatType>(tensorType(twin).getElementType()))
      continue;
    if (!selection || selection->refusal(state).empty())
      states.push_back(twin);
  }
  Operation *end = copy->getBody().front().getTerminator();
  OpBuilder builder(end);
  Value value = end->getOperand(output);
  ValueBuilder b(builder, value.getLoc());
  Value loss = b.sum(value, firstDims(tensorType(value).getRank()));
  return success(succeeded(gradients(builder, loss, states)));
}

LogicalResult checkGradients(func::FuncOp main,
                             const StateSelection *selection) {
  SmallVector<unsigned> outputs;
  for (auto [i, type] : llvm::enumerate(main.getResultTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && isa<FloatType>(tensor.getElementType()))
      outputs.push_back(i);
  for (unsigned output : outputs) {
    ScopedDiagnosticHandler silent(main.getContext(),
                                   [](Diagnostic &) { return success(); });
    if (succeeded(differentiate(main, output, selection)))
      return success();
  }
  return outputs.empty() ? success()
                         : differentiate(main, outputs.front(), selection);
}

} // namespace sinter::passes
