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

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The probabilities of one query over the keys, all 0 if all keys are masked,
/// and the logarithm of their sum before division.
class Rows {
public:
  Rows(const Tensor &query, const Tensor &key, const Tensor *mask, double scale,
       bool causal)
      : query(query), key(key), mask(mask), scale(scale), causal(causal) {
    int64_t rank = query.rank();
    queries = query.shape()[rank - 2];
    depth = query.shape()[rank - 1];
    keys = key.shape()[rank - 2];
    count = sizeOf(query.shape().drop_back());
    weights.resize(keys);
  }

  void compute(int64_t row) {
    batch = row / queries;
    int64_t t = row % queries;
    double greatest = -kInfinity, sum = 0;
    for (int64_t s = 0; s < keys; ++s) {
      double score = 0;
      for (int64_t d = 0; d < depth; ++d)
        score += query.floats[row * depth + d] *
                 key.floats[(batch * keys + s) * depth + d];
      score *= scale;
      if (mask)
        score += mask->floats[row * keys + s];
      weights[s] = causal && s > t ? -kInfinity : score;
      greatest = maximum(greatest, weights[s]);
    }
    // A row whose keys are all masked attends to nothing: its result is 0.
    isMasked = greatest == -kInfinity;
    for (double &weight : weights) {
      weight = isMasked ? 0 : std::exp(weight - greatest);
      sum += weight;
    }
    for (double &weight : weights)
      weight = isMasked ? 0 : weight / sum;
    stats = isMasked ? -kInfinity : greatest + std::log(sum);
  }

  int64_t queries, keys, depth, count;
  // Of the row that was computed last.
  int64_t batch = 0;
  std::vector<double> weights;
  double stats = 0;
  bool isMasked = false;

private:
  const Tensor &query, &key, *mask;
  double scale;
  bool causal;
};

} // namespace

LogicalResult AttentionOp::evaluate(ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  const Tensor &value = operands[2];
  Tensor output(tensorType(getOutput())), stats(tensorType(getStats()));
  int64_t width = value.shape().back();
  Rows rows(operands[0], operands[1], getMask() ? &operands[3] : nullptr,
            getScale().convertToDouble(), getCausal());
  for (int64_t row = 0; row < rows.count; ++row) {
    rows.compute(row);
    stats.floats[row] = rows.stats;
    for (int64_t s = 0; s < rows.keys && !rows.isMasked; ++s)
      for (int64_t e = 0; e < width; ++e)
        output.floats[row * width + e] +=
            rows.weights[s] *
            value.floats[(rows.batch * rows.keys + s) * width + e];
  }
  results.push_back(std::move(output));
  results.push_back(std::move(stats));
  return success();
}

LogicalResult AttentionGradOp::evaluate(ArrayRef<Tensor> operands,
                                        SmallVectorImpl<Tensor> &results) {
  const Tensor &query = operands[0], &key = operands[1], &value = operands[2],
               &outputGrad = operands[5];
  for (Value grad : getResults())
    results.emplace_back(tensorType(grad));
  Tensor &queryGrad = results[0], &keyGrad = results[1],
         &valueGrad = results[2];
  int64_t width = value.shape().back();
  double scale = getScale().convertToDouble();
  Rows rows(query, key, getMask() ? &operands[6] : nullptr, scale, getCausal());
  std::vector<double> weightGrads(rows.keys);
  for (int64_t row = 0; row < rows.count; ++row) {
    rows.compute(row);
    double along = 0;
    for (int64_t s = 0; s < rows.keys && !rows.isMasked; ++s) {
      int64_t at = (rows.batch * rows.keys + s) * width;
      weightGrads[s] = 0;
      for (int64_t e = 0; e < width; ++e) {
        double grad = outputGrad.floats[row * width + e];
        weightGrads[s] += grad * value.floats[at + e];
        valueGrad.floats[at + e] += rows.weights[s] * grad;
      }
      along += rows.weights[s] * weightGrads[s];
    }
    for (int64_t s = 0; s < rows.keys && !rows.isMasked; ++s) {
      double scoreGrad = rows.weights[s] * (weightGrads[s] - along);
      if (getMask())
        results[3].floats[row * rows.keys + s] = scoreGrad;
      for (int64_t d = 0; d < rows.depth; ++d) {
        int64_t q = row * rows.depth + d,
                k = (rows.batch * rows.keys + s) * rows.depth + d;
        queryGrad.floats[q] += scale * scoreGrad * key.floats[k];
        keyGrad.floats[k] += scale * scoreGrad * query.floats[q];
      }
    }
  }
  return success();
}
