//===- Control.cpp - meaning of repetition --------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Evaluate.h"
#include "ir/eval/Trips.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace sinter::ir;

Tensor sinter::ir::sliceOfStack(const Tensor &stack, RankedTensorType slice,
                                int64_t index) {
  Tensor result(slice);
  const int64_t count = result.size();
  auto cut = [&](const auto &from, auto &to) {
    if (!from.empty())
      to.assign(from.begin() + index * count,
                from.begin() + (index + 1) * count);
  };
  cut(stack.floats, result.floats);
  cut(stack.ints, result.ints);
  return result;
}

void sinter::ir::setSliceOfStack(Tensor &stack, const Tensor &slice,
                                 int64_t index) {
  llvm::copy(slice.floats,
             stack.floats.begin() +
                 index * static_cast<int64_t>(slice.floats.size()));
  llvm::copy(slice.ints, stack.ints.begin() +
                             index * static_cast<int64_t>(slice.ints.size()));
}

/// `Op` is a scan with the body `body`.
template <class Op>
static LogicalResult evaluate(Op scan, Block &body, ArrayRef<Tensor> operands,
                              SmallVectorImpl<Tensor> &results,
                              TripEvaluation evaluation) {
  const auto trips = static_cast<int64_t>(scan.getTrips());
  const size_t stacks = scan.getStacks().size(),
               carried = scan.getInitial().size();
  SmallVector<Tensor> arguments(operands);
  results.append(operands.begin() + stacks,
                 operands.begin() + stacks + carried);
  for (Value stack : scan.getStacked())
    results.emplace_back(cast<RankedTensorType>(stack.getType()));
  for (int64_t trip = 0; trip < trips; ++trip) {
    const int64_t slice = scan.getReverse() ? trips - 1 - trip : trip;
    for (size_t i = 0; i < stacks; ++i)
      arguments[i] = sliceOfStack(
          operands[i], cast<RankedTensorType>(body.getArgument(i).getType()),
          slice);
    FailureOr<SmallVector<Tensor>> yielded = evaluation(body, arguments);
    if (failed(yielded))
      return failure();
    for (size_t i = 0; i < yielded->size(); ++i)
      if (i < carried)
        results[i] = arguments[stacks + i] = std::move((*yielded)[i]);
      else
        setSliceOfStack(results[i], (*yielded)[i], slice);
  }
  return success();
}

LogicalResult sinter::ir::evaluateTrips(Operation *op,
                                        ArrayRef<Tensor> operands,
                                        SmallVectorImpl<Tensor> &results,
                                        TripEvaluation evaluation) {
  if (auto scan = dyn_cast<ScanOp>(op))
    return evaluate(scan, scan.getBody().front(), operands, results,
                    evaluation);
  auto call = cast<ScanCallOp>(op);
  auto body = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getBodyAttr());
  if (!body || body.getBody().empty())
    return call.emitOpError("has no body to evaluate");
  return evaluate(call, body.getBody().front(), operands, results, evaluation);
}

LogicalResult sinter::ir::evaluateScan(Operation *scan,
                                       ArrayRef<Tensor> operands,
                                       SmallVectorImpl<Tensor> &results,
                                       Rounding rounding) {
  return evaluateTrips(scan, operands, results,
                       [&](Block &body, ArrayRef<Tensor> arguments) {
                         return evaluateBlock(body, arguments, rounding);
                       });
}

LogicalResult ScanOp::evaluate(ArrayRef<Tensor> operands,
                               SmallVectorImpl<Tensor> &results) {
  return evaluateScan(*this, operands, results, Rounding::none);
}
