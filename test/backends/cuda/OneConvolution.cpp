//===- OneConvolution.cpp - one convolution, for tests --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "test/backends/cuda/OneConvolution.h"
#include "test/runtime/Calls.h"

#include <algorithm>
#include <cmath>
#include <functional>

using namespace sinter;
using namespace sinter::test;

namespace {

int64_t product(const int64_t *values, uint32_t count) {
  int64_t result = 1;
  for (uint32_t i = 0; i < count; ++i)
    result *= values[i];
  return result;
}

/// Element (outer, inner, point) of a tensor whose inner dimension comes first
/// or last.
int64_t at(bool last, int64_t inners, int64_t points, int64_t outer,
           int64_t inner, int64_t point) {
  return last ? (outer * points + point) * inners + inner
              : (outer * inners + inner) * points + point;
}

double meaning(const sinter_post_op &op, double x, double operand) {
  switch (op.kind) {
  case SINTER_POST_BIAS:
  case SINTER_POST_ADD:
    return x + operand;
  case SINTER_POST_RELU:
    return std::max(x, 0.0);
  case SINTER_POST_CLIP:
    return std::clamp(x, double(op.alpha), double(op.beta));
  case SINTER_POST_GELU_ERF:
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  case SINTER_POST_GELU_TANH:
    return 0.5 * x *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  case SINTER_POST_SIGMOID:
    return 1 / (1 + std::exp(-x));
  case SINTER_POST_TANH:
    return std::tanh(x);
  case SINTER_POST_SWISH:
    return x / (1 + std::exp(-x));
  default:
    return x * op.alpha;
  }
}

bool keepsSums(const sinter_post_op &op) {
  return op.kind == SINTER_POST_CHANNEL_SUM ||
         op.kind == SINTER_POST_CHANNEL_SQUARES;
}

bool readsSlice(const sinter_post_op &op) {
  return op.kind == SINTER_POST_BIAS || op.kind == SINTER_POST_ADD;
}

} // namespace

OneConvolution::OneConvolution(uint32_t dtype, uint32_t direction,
                               int64_t batch, int64_t channels, int64_t filters,
                               int64_t groups,
                               const std::vector<ConvAxis> &axes) {
  params.direction = direction;
  params.dtype = dtype;
  params.layout = SINTER_CHANNELS_FIRST;
  params.spatialRank = static_cast<uint32_t>(axes.size());
  params.batch = batch;
  params.channels = channels;
  params.filters = filters;
  params.groups = groups;
  for (size_t i = 0; i < axes.size(); ++i) {
    const ConvAxis &axis = axes[i];
    params.inputDims[i] = axis.in;
    params.kernel[i] = axis.kernel;
    params.strides[i] = axis.stride;
    params.dilations[i] = axis.dilation;
    params.padsLow[i] = axis.padLow;
    params.padsHigh[i] = axis.padHigh;
    int64_t room = axis.in + axis.padLow + axis.padHigh -
                   ((axis.kernel - 1) * axis.dilation + 1);
    params.outputDims[i] = room < 0 ? 0 : room / axis.stride + 1;
  }
}

OneConvolution &OneConvolution::layout(uint32_t activations, uint32_t filter) {
  params.layout = activations;
  params.filterLayout = filter;
  return *this;
}

OneConvolution &OneConvolution::post(uint32_t kind, float alpha, float beta) {
  params.postOps[params.numPostOps++] = {kind, 0, alpha, beta};
  return *this;
}

OneConvolution &OneConvolution::build() {
  sinter_conv &p = params;
  int64_t x = p.batch * p.channels * product(p.inputDims, p.spatialRank),
          y = p.batch * p.filters * product(p.outputDims, p.spatialRank),
          w = p.filters * (p.channels / p.groups) *
              product(p.kernel, p.spatialRank);
  bool forward = p.direction == SINTER_CONV_FORWARD,
       inputGrad = p.direction == SINTER_CONV_INPUT_GRAD;
  int64_t result = forward ? y : inputGrad ? x : w;
  operands_.clear();
  auto add = [&](int64_t elements) {
    auto seed = static_cast<uint32_t>(operands_.size() + 1);
    operands_.push_back(Operand::random(storageOf(p.dtype), elements, seed));
  };
  add(inputGrad ? y : x);
  add(forward || inputGrad ? w : y);
  for (uint32_t i = 0; i < p.numPostOps; ++i) {
    if (!readsSlice(p.postOps[i]))
      continue;
    p.postOps[i].slice = static_cast<uint32_t>(operands_.size());
    add(p.postOps[i].kind == SINTER_POST_BIAS
            ? (forward ? p.filters : p.channels)
            : result);
  }
  numReads_ = static_cast<uint32_t>(operands_.size());
  for (uint32_t i = 0; i < p.numPostOps; ++i) {
    if (!keepsSums(p.postOps[i]))
      continue;
    p.postOps[i].slice = static_cast<uint32_t>(operands_.size());
    operands_.push_back(Operand::random(SINTER_F32, p.filters, 9 + i));
  }
  add(result);
  return *this;
}

Ran OneConvolution::run(const CommandRunner &runner, bool onlyPrepare) {
  if (operands_.empty())
    build();
  return runner(callOf(&params), operands_, numReads_, onlyPrepare);
}

/// The sums of channels are sums of the stored values. Some engines of cuDNN
/// add up the values before rounding.
void OneConvolution::compareSums(const sinter_post_op &op,
                                 Comparison &comparison) const {
  const Operand &result = operands_.back();
  const auto size = static_cast<int64_t>(result.values.size());
  const int64_t channels = params.filters, points = size / channels;
  for (int64_t channel = 0; channel < channels; ++channel) {
    double sum = 0, magnitude = 0, squares = 0;
    for (int64_t point = 0; point < points; ++point) {
      double x = result.load(point * channels + channel);
      double term = op.kind == SINTER_POST_CHANNEL_SQUARES ? x * x : x;
      sum += term;
      magnitude += std::abs(term);
      squares += term * term;
    }
    // Roundings are independent: five deviations of their sum.
    const double roundings = op.kind == SINTER_POST_CHANNEL_SQUARES ? 2 : 1;
    comparison.near(operands_[op.slice].load(channel), sum, SINTER_F32,
                    magnitude, points, "sum of a channel", channel,
                    3 * roundings * roundingOf(result.dtype) *
                        std::sqrt(squares));
  }
}

void OneConvolution::compare(Comparison &comparison) const {
  const sinter_conv &p = params;
  int64_t inPoints = product(p.inputDims, p.spatialRank),
          outPoints = product(p.outputDims, p.spatialRank),
          kernelPoints = product(p.kernel, p.spatialRank),
          perGroup = p.channels / p.groups, outPerGroup = p.filters / p.groups;
  bool last = p.layout == SINTER_CHANNELS_LAST,
       filterLast = p.filterLayout == SINTER_CHANNELS_LAST;
  bool forward = p.direction == SINTER_CONV_FORWARD,
       inputGrad = p.direction == SINTER_CONV_INPUT_GRAD;
  const Operand &result = operands_.back();
  size_t size = result.values.size();
  std::vector<double> sums(size, 0), magnitudes(size, 1);
  std::vector<int64_t> terms(size, 0);
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t o = 0; o < outPoints; ++o)
      for (int64_t k = 0; k < kernelPoints; ++k) {
        // The point of the input for point k of the filter here.
        int64_t outRest = o, kernelRest = k, point = 0, step = 1;
        bool inside = true;
        for (int d = static_cast<int>(p.spatialRank) - 1; d >= 0; --d) {
          int64_t in = outRest % p.outputDims[d] * p.strides[d] - p.padsLow[d] +
                       kernelRest % p.kernel[d] * p.dilations[d];
          // A negative pad cuts off the end of the input, too.
          int64_t low = std::max<int64_t>(0, -p.padsLow[d]),
                  high = p.inputDims[d] + std::min<int64_t>(0, p.padsHigh[d]);
          inside &= in >= low && in < high;
          point += in * step;
          step *= p.inputDims[d];
          outRest /= p.outputDims[d];
          kernelRest /= p.kernel[d];
        }
        if (!inside)
          continue;
        for (int64_t f = 0; f < p.filters; ++f)
          for (int64_t c = 0; c < perGroup; ++c) {
            int64_t channel = f / outPerGroup * perGroup + c;
            int64_t x = at(last, p.channels, inPoints, n, channel, point),
                    y = at(last, p.filters, outPoints, n, f, o),
                    w = at(filterLast, perGroup, kernelPoints, f, c, k);
            int64_t to = forward ? y : inputGrad ? x : w;
            int64_t first = inputGrad ? y : x,
                    second = forward || inputGrad ? w : y;
            double term =
                operands_[0].values[first] * operands_[1].values[second];
            sums[to] += term;
            magnitudes[to] += std::abs(term);
            ++terms[to];
          }
      }
  int64_t channels = forward ? p.filters : p.channels,
          points = forward ? outPoints : inPoints;
  for (size_t i = 0; i < size; ++i) {
    auto index = static_cast<int64_t>(i);
    int64_t channel = last ? index % channels : index / points % channels;
    double x = sums[i];
    for (uint32_t op = 0; op < p.numPostOps; ++op) {
      const sinter_post_op &post = p.postOps[op];
      if (keepsSums(post))
        continue;
      double operand =
          post.kind == SINTER_POST_BIAS  ? operands_[post.slice].values[channel]
          : post.kind == SINTER_POST_ADD ? operands_[post.slice].values[index]
                                         : 0;
      x = meaning(post, x, operand);
    }
    comparison.near(result.load(index), x, result.dtype, magnitudes[i],
                    terms[i], "result", index);
  }
  for (uint32_t op = 0; op < p.numPostOps; ++op)
    if (keepsSums(p.postOps[op]))
      compareSums(p.postOps[op], comparison);
}
