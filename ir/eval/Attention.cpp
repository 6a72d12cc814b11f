//===- Attention.cpp - meaning of scaled dot-product attention ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Loops.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter::ir;

LogicalResult AttentionOp::evaluate(ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  const Tensor &query = operands[0], &key = operands[1], &value = operands[2];
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Tensor result(getType());
  int64_t rank = query.rank();
  int64_t queries = query.shape()[rank - 2], depth = query.shape()[rank - 1];
  int64_t keys = key.shape()[rank - 2], width = value.shape()[rank - 1];
  double scale = getScale().convertToDouble();
  std::vector<double> weights(keys);
  int64_t rows = sizeOf(query.shape().drop_back());
  for (int64_t row = 0; row < rows; ++row) {
    int64_t batch = row / queries, t = row % queries;
    double greatest = -kInfinity, sum = 0;
    for (int64_t s = 0; s < keys; ++s) {
      double score = 0;
      for (int64_t d = 0; d < depth; ++d)
        score += query.floats[row * depth + d] *
                 key.floats[(batch * keys + s) * depth + d];
      score *= scale;
      if (getMask())
        score += operands[3].floats[row * keys + s];
      weights[s] = getCausal() && s > t ? -kInfinity : score;
      greatest = maximum(greatest, weights[s]);
    }
    // A row whose keys are all masked attends to nothing: its result is 0.
    bool isMasked = greatest == -kInfinity;
    for (double &weight : weights) {
      weight = isMasked ? 0 : std::exp(weight - greatest);
      sum += weight;
    }
    for (int64_t s = 0; s < keys && !isMasked; ++s)
      for (int64_t e = 0; e < width; ++e)
        result.floats[row * width + e] +=
            weights[s] / sum * value.floats[(batch * keys + s) * width + e];
  }
  results.push_back(std::move(result));
  return success();
}
