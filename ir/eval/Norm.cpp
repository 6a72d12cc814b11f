//===- Norm.cpp - meaning of softmax and normalisations -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Loops.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter::ir;

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Computes (x - max) and log(sum(exp(x - max))) of each lane of `x`, and calls
/// f(at, shifted, logSum) for its elements.
template <class F>
static void forEachShifted(const Tensor &x, int64_t axis, F f) {
  AxisView view(x.shape(), axis);
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (int64_t inner = 0; inner < view.inner; ++inner) {
      double greatest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t k = 0; k < view.size; ++k)
        greatest = maximum(greatest, x.floats[view.at(outer, k, inner)]);
      for (int64_t k = 0; k < view.size; ++k)
        sum += std::exp(x.floats[view.at(outer, k, inner)] - greatest);
      for (int64_t k = 0; k < view.size; ++k) {
        int64_t at = view.at(outer, k, inner);
        f(at, x.floats[at] - greatest, sum);
      }
    }
}

LogicalResult SoftmaxOp::evaluate(ArrayRef<Tensor> operands,
                                  SmallVectorImpl<Tensor> &results) {
  Tensor result(getType());
  forEachShifted(operands[0], getAxis(),
                 [&](int64_t at, double shifted, double sum) {
                   result.floats[at] = std::exp(shifted) / sum;
                 });
  results.push_back(std::move(result));
  return success();
}

LogicalResult LogSoftmaxOp::evaluate(ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  Tensor result(getType());
  forEachShifted(operands[0], getAxis(),
                 [&](int64_t at, double shifted, double sum) {
                   result.floats[at] = shifted - std::log(sum);
                 });
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

namespace {
struct Statistics {
  double mean = 0, variance = 0;
};
} // namespace

/// The mean and biased variance of the `count` elements at positions at(0),
/// at(1), ..
template <class At>
static Statistics statisticsOf(const Tensor &x, int64_t count, At at) {
  Statistics statistics;
  for (int64_t i = 0; i < count; ++i)
    statistics.mean += x.floats[at(i)];
  statistics.mean /= static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) {
    double deviation = x.floats[at(i)] - statistics.mean;
    statistics.variance += deviation * deviation;
  }
  statistics.variance /= static_cast<double>(count);
  return statistics;
}

LogicalResult LayerNormOp::evaluate(ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0], &scale = operands[1];
  Tensor result(getType());
  double epsilon = getEpsilon().convertToDouble();
  int64_t count = scale.size(), rows = count == 0 ? 0 : x.size() / count;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t first = row * count;
    Statistics s = statisticsOf(x, count, [=](int64_t i) { return first + i; });
    for (int64_t i = 0; i < count; ++i) {
      double normal =
          (x.floats[first + i] - s.mean) / std::sqrt(s.variance + epsilon);
      result.floats[first + i] = normal * scale.floats[i];
      if (getBias())
        result.floats[first + i] += operands[2].floats[i];
    }
  }
  results.push_back(std::move(result));
  return success();
}

/// Normalises channel `c` of `x` (N C ..) into `result`.
static void normaliseChannel(const Tensor &x, int64_t channel,
                             Statistics statistics, double epsilon,
                             double scale, double bias, Tensor &result) {
  AxisView view(x.shape(), 1);
  double deviation = std::sqrt(statistics.variance + epsilon);
  for (int64_t n = 0; n < view.outer; ++n)
    for (int64_t i = 0; i < view.inner; ++i) {
      int64_t at = view.at(n, channel, i);
      result.floats[at] =
          (x.floats[at] - statistics.mean) / deviation * scale + bias;
    }
}

LogicalResult BatchNormOp::evaluate(ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  Tensor result(getResult().getType());
  double epsilon = getEpsilon().convertToDouble();
  for (int64_t c = 0; c < result.shape()[1]; ++c)
    normaliseChannel(operands[0], c,
                     {operands[3].floats[c], operands[4].floats[c]}, epsilon,
                     operands[1].floats[c], operands[2].floats[c], result);
  results.push_back(std::move(result));
  return success();
}

LogicalResult BatchNormTrainingOp::evaluate(ArrayRef<Tensor> operands,
                                            SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0];
  Tensor result(getResult().getType()), mean(getBatchMean().getType());
  Tensor variance(getBatchVariance().getType());
  double epsilon = getEpsilon().convertToDouble();
  AxisView view(x.shape(), 1);
  for (int64_t c = 0; c < view.size; ++c) {
    Statistics s = statisticsOf(x, view.outer * view.inner, [&](int64_t i) {
      return view.at(i / view.inner, c, i % view.inner);
    });
    normaliseChannel(x, c, s, epsilon, operands[1].floats[c],
                     operands[2].floats[c], result);
    mean.floats[c] = s.mean;
    variance.floats[c] = s.variance;
  }
  results.push_back(std::move(result));
  results.push_back(std::move(mean));
  results.push_back(std::move(variance));
  return success();
}

LogicalResult GroupNormOp::evaluate(ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0];
  Tensor result(getResult().getType());
  double epsilon = getEpsilon().convertToDouble();
  AxisView view(x.shape(), 1);
  int64_t channels = view.size / static_cast<int64_t>(getGroups()),
          run = channels * view.inner;
  int64_t groups = run == 0 ? 0 : x.size() / run;
  for (int64_t group = 0; group < groups; ++group) {
    int64_t first = group * run;
    Statistics s = statisticsOf(x, run, [=](int64_t i) { return first + i; });
    double deviation = std::sqrt(s.variance + epsilon);
    for (int64_t i = 0; i < run; ++i) {
      int64_t channel = (first + i) / view.inner % view.size;
      result.floats[first + i] = (x.floats[first + i] - s.mean) / deviation *
                                     operands[1].floats[channel] +
                                 operands[2].floats[channel];
    }
  }
  results.push_back(std::move(result));
  return success();
}
