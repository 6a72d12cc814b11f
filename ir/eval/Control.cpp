//===- Control.cpp - meaning of repetition --------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Evaluate.h"

using namespace mlir;
using namespace sinter::ir;

/// Elements [index * size of `slice`, ..) of a stack.
static Tensor sliceOf(const Tensor &stack, RankedTensorType slice,
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

static void setSlice(Tensor &stack, const Tensor &slice, int64_t index) {
  llvm::copy(slice.floats,
             stack.floats.begin() +
                 index * static_cast<int64_t>(slice.floats.size()));
  llvm::copy(slice.ints, stack.ints.begin() +
                             index * static_cast<int64_t>(slice.ints.size()));
}

LogicalResult sinter::ir::evaluateScan(ScanOp scan, ArrayRef<Tensor> operands,
                                       SmallVectorImpl<Tensor> &results,
                                       Rounding rounding) {
  Block &body = scan.getBody().front();
  const size_t stacks = scan.getStacks().size(),
               carried = scan.getInitial().size();
  SmallVector<Tensor> arguments(operands);
  results.append(operands.begin() + stacks,
                 operands.begin() + stacks + carried);
  for (Value stack : scan.getStacked())
    results.emplace_back(cast<RankedTensorType>(stack.getType()));
  for (int64_t trip = 0; trip < static_cast<int64_t>(scan.getTrips()); ++trip) {
    const int64_t slice = scan.sliceOfTrip(trip);
    for (size_t i = 0; i < stacks; ++i)
      arguments[i] =
          sliceOf(operands[i],
                  cast<RankedTensorType>(body.getArgument(i).getType()), slice);
    FailureOr<SmallVector<Tensor>> yielded =
        evaluateBlock(body, arguments, rounding);
    if (failed(yielded))
      return failure();
    for (size_t i = 0; i < yielded->size(); ++i)
      if (i < carried)
        results[i] = arguments[stacks + i] = std::move((*yielded)[i]);
      else
        setSlice(results[i], (*yielded)[i], slice);
  }
  return success();
}

LogicalResult ScanOp::evaluate(ArrayRef<Tensor> operands,
                               SmallVectorImpl<Tensor> &results) {
  return evaluateScan(*this, operands, results, Rounding::none);
}
