//===- Loss.cpp - meaning of losses ---------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Loops.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter::ir;

LogicalResult
SoftmaxCrossEntropyOp::evaluate(ArrayRef<Tensor> operands,
                                SmallVectorImpl<Tensor> &results) {
  const Tensor &logits = operands[0], &labels = operands[1];
  Tensor result(getType());
  AxisView view(logits.shape(), getAxis());
  double smoothing = getLabelSmoothing().convertToDouble();
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (int64_t inner = 0; inner < view.inner; ++inner) {
      int64_t example = outer * view.inner + inner,
              label = labels.ints[example];
      if (getIgnoreIndex() && label == static_cast<int64_t>(*getIgnoreIndex()))
        continue;
      double greatest = -std::numeric_limits<double>::infinity(), sum = 0,
             total = 0, picked = 0;
      for (int64_t k = 0; k < view.size; ++k)
        greatest = maximum(greatest, logits.floats[view.at(outer, k, inner)]);
      for (int64_t k = 0; k < view.size; ++k) {
        double shifted = logits.floats[view.at(outer, k, inner)] - greatest;
        sum += std::exp(shifted);
        total += shifted;
        if (k == label)
          picked = shifted;
      }
      double loss = std::log(sum) - (1 - smoothing) * picked;
      if (smoothing != 0)
        loss -= smoothing / static_cast<double>(view.size) * total;
      result.floats[example] = loss;
    }
  results.push_back(std::move(result));
  return success();
}
