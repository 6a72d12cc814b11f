//===- Conv.cpp - meaning of convolution and its gradients ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Loops.h"

using namespace mlir;
using namespace sinter::ir;

/// The strides of an activation, by role.
namespace {
struct Activation {
  int64_t batch, channel;
  SmallVector<int64_t> spatial, spatialShape;

  Activation(ArrayRef<int64_t> shape, bool channelsLast) {
    SmallVector<int64_t> strides = rowMajorStrides(shape);
    size_t channelDim = channelsLast ? shape.size() - 1 : 1;
    batch = strides[0];
    channel = strides[channelDim];
    for (size_t dim = 1; dim < shape.size(); ++dim)
      if (dim != channelDim) {
        spatial.push_back(strides[dim]);
        spatialShape.push_back(shape[dim]);
      }
  }
};
} // namespace

/// Calls f(input, filter, output) with the positions of every product that a
/// convolution sums: output += input * filter. `op` is any of the three ops.
template <class WindowOp, class F>
static void forEachProduct(WindowOp op, ArrayRef<int64_t> inputShape,
                           ArrayRef<int64_t> filterShape,
                           ArrayRef<int64_t> outputShape, F f) {
  Activation input(inputShape, op.getChannelsLast()),
      output(outputShape, op.getChannelsLast());
  SmallVector<int64_t> filter = rowMajorStrides(filterShape);
  ArrayRef<int64_t> kernelShape = filterShape.drop_front(2);
  int64_t groups = op.getGroups(), batches = inputShape[0];
  int64_t filtersPerGroup = filterShape[0] / groups,
          channelsPerGroup = filterShape[1];
  size_t spatial = kernelShape.size();

  SmallVector<int64_t> counts(spatial), inputStrides(spatial);
  ArrayRef<int64_t> filterStrides = ArrayRef<int64_t>(filter).drop_front(2);
  Odometer<1> at(output.spatialShape, {output.spatial});
  for (int64_t i = 0, points = sizeOf(output.spatialShape); i < points;
       ++i, at.step()) {
    int64_t inputStart = 0, filterStart = 0;
    for (size_t dim = 0; dim < spatial; ++dim) {
      int64_t dilation = op.getDilations()[dim];
      int64_t begin =
          at.index()[dim] * op.getStrides()[dim] - op.getPadsLow()[dim];
      Taps taps(begin, kernelShape[dim], dilation, input.spatialShape[dim]);
      counts[dim] = taps.count;
      inputStrides[dim] = taps.count > 1 ? dilation * input.spatial[dim] : 0;
      if (taps.count == 0)
        continue;
      inputStart += (begin + taps.first * dilation) * input.spatial[dim];
      filterStart += taps.first * filterStrides[dim];
    }
    Odometer<2> tap(counts, {inputStrides, filterStrides},
                    {inputStart, filterStart});
    for (int64_t k = 0, taps = sizeOf(counts); k < taps; ++k, tap.step())
      for (int64_t n = 0; n < batches; ++n)
        for (int64_t o = 0; o < filterShape[0]; ++o)
          for (int64_t c = 0; c < channelsPerGroup; ++c) {
            int64_t channel = o / filtersPerGroup * channelsPerGroup + c;
            f(n * input.batch + channel * input.channel + tap.position[0],
              o * filter[0] + c * filter[1] + tap.position[1],
              n * output.batch + o * output.channel + at.position[0]);
          }
  }
}

LogicalResult ConvOp::evaluate(ArrayRef<Tensor> operands,
                               SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0], &w = operands[1];
  Tensor result(getType());
  forEachProduct(*this, x.shape(), w.shape(), result.shape(),
                 [&](int64_t input, int64_t filter, int64_t output) {
                   result.floats[output] += x.floats[input] * w.floats[filter];
                 });
  results.push_back(std::move(result));
  return success();
}

LogicalResult ConvInputGradOp::evaluate(ArrayRef<Tensor> operands,
                                        SmallVectorImpl<Tensor> &results) {
  const Tensor &dy = operands[0], &w = operands[1];
  Tensor result(getType());
  forEachProduct(*this, result.shape(), w.shape(), dy.shape(),
                 [&](int64_t input, int64_t filter, int64_t output) {
                   result.floats[input] += dy.floats[output] * w.floats[filter];
                 });
  results.push_back(std::move(result));
  return success();
}

LogicalResult ConvFilterGradOp::evaluate(ArrayRef<Tensor> operands,
                                         SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0], &dy = operands[1];
  Tensor result(getType());
  forEachProduct(*this, x.shape(), result.shape(), dy.shape(),
                 [&](int64_t input, int64_t filter, int64_t output) {
                   result.floats[filter] += x.floats[input] * dy.floats[output];
                 });
  results.push_back(std::move(result));
  return success();
}
