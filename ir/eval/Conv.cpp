//===- Conv.cpp - meaning of convolution and its gradients ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Loops.h"
#include "ir/eval/ScaledRows.h"

using namespace mlir;
using namespace sinter::ir;

namespace {

/// The sizes of a convolution, and where its elements are. Evaluations work on
/// copies in which the channels of a point, and of a tap of the filter, are one
/// after the other.
class Windows {
public:
  template <class WindowOp>
  Windows(WindowOp op, ArrayRef<int64_t> input, ArrayRef<int64_t> filter,
          ArrayRef<int64_t> output)
      : input(input, op.getChannelsLast()),
        output(output, op.getChannelsLast()), strides(op.getStrides()),
        padsLow(op.getPadsLow()), dilations(op.getDilations()),
        kernel(filter.drop_front(2)), batches(input[0]), groups(op.getGroups()),
        filters(filter[0] / groups), channels(filter[1]), taps(sizeOf(kernel)) {
  }

  /// Input or output: [batch, points.., channels] in the copy.
  struct Activation {
    SmallVector<int64_t> shape, strides, spatial;

    Activation(ArrayRef<int64_t> given, bool channelsLast) {
      SmallVector<int64_t> all = rowMajorStrides(given);
      SmallVector<int64_t> order = {0};
      for (int64_t dim = 1, rank = given.size(); dim < rank; ++dim)
        if (dim != (channelsLast ? rank - 1 : 1))
          order.push_back(dim);
      order.push_back(channelsLast ? given.size() - 1 : 1);
      for (int64_t dim : order) {
        shape.push_back(given[dim]);
        strides.push_back(all[dim]);
      }
      spatial.assign(shape.begin() + 1, shape.end() - 1);
    }
    int64_t points() const { return sizeOf(spatial); }
  };

  template <class T>
  static std::vector<T> pack(const Activation &at, const T *from) {
    std::vector<T> packed(sizeOf(at.shape));
    forEachPosition(at.shape, at.strides, 0,
                    [&](int64_t i, int64_t p) { packed[i] = from[p]; });
    return packed;
  }
  template <class T>
  static void unpack(const Activation &at, const std::vector<T> &packed,
                     T *to) {
    forEachPosition(at.shape, at.strides, 0,
                    [&](int64_t i, int64_t p) { to[p] = packed[i]; });
  }
  /// f(i, position) with the place of each element in a copy of the filter,
  /// [groups, taps, channels, filters] if `filtersLast`, else [groups, taps,
  /// filters, channels], and its position in the filter.
  template <class F> void forEachWeight(bool filtersLast, F f) const {
    int64_t ofChannel = taps, ofFilter = channels * taps;
    forEachPosition({groups, taps, filtersLast ? channels : filters,
                     filtersLast ? filters : channels},
                    {filters * ofFilter, 1, filtersLast ? ofChannel : ofFilter,
                     filtersLast ? ofFilter : ofChannel},
                    0, f);
  }

  /// Calls f(tap, input, output) for each point of the output and each tap of
  /// its window that is inside the input, with the numbers of both points.
  template <class F> void forEachTap(F f) const {
    const size_t rank = kernel.size();
    SmallVector<int64_t> inputStrides = rowMajorStrides(input.spatial),
                         tapStrides = rowMajorStrides(kernel), zeros(rank, 0);
    SmallVector<int64_t> counts(rank), steps(rank);
    Odometer<1> at(output.spatial, {zeros});
    for (int64_t i = 0, points = output.points(); i < points; ++i, at.step()) {
      int64_t inputStart = 0, tapStart = 0;
      for (size_t dim = 0; dim < rank; ++dim) {
        int64_t dilation = dilations[dim];
        int64_t begin = at.index()[dim] * strides[dim] - padsLow[dim];
        Taps inside(begin, kernel[dim], dilation, input.spatial[dim]);
        counts[dim] = inside.count;
        steps[dim] = inside.count > 1 ? dilation * inputStrides[dim] : 0;
        if (inside.count == 0)
          continue;
        inputStart += (begin + inside.first * dilation) * inputStrides[dim];
        tapStart += inside.first * tapStrides[dim];
      }
      Odometer<2> tap(counts, {steps, tapStrides}, {inputStart, tapStart});
      for (int64_t k = 0, count = sizeOf(counts); k < count; ++k, tap.step())
        f(tap.position[1], tap.position[0], i);
    }
  }

  /// Calls f(x, w, y) for each tap of forEachTap, each example and each group:
  /// the places of the first channel in the copies of the input, of the filter
  /// and of the output.
  template <class F> void forEachProduct(F f) const {
    const int64_t inputs = input.points() * groups * channels,
                  outputs = output.points() * groups * filters,
                  weights = channels * filters;
    forEachTap([&](int64_t tap, int64_t from, int64_t to) {
      for (int64_t n = 0; n < batches; ++n)
        for (int64_t g = 0; g < groups; ++g)
          f(n * inputs + (from * groups + g) * channels,
            (g * taps + tap) * weights,
            n * outputs + (to * groups + g) * filters);
    });
  }

  Activation input, output;
  ArrayRef<int64_t> strides, padsLow, dilations, kernel;
  int64_t batches, groups;
  int64_t filters, channels; // of a group
  int64_t taps;
};

} // namespace

template <class T>
static void convolve(const Windows &windows, const T *input, const T *filter,
                     T *output) {
  std::vector<T> x = Windows::pack(windows.input, input),
                 w(windows.groups * windows.taps * windows.channels *
                   windows.filters),
                 y(sizeOf(windows.output.shape));
  windows.forEachWeight(true, [&](int64_t i, int64_t p) { w[i] = filter[p]; });
  windows.forEachProduct([&](int64_t ofX, int64_t ofW, int64_t ofY) {
    addScaledRows(y.data() + ofY, windows.filters, x.data() + ofX,
                  w.data() + ofW, windows.channels);
  });
  Windows::unpack(windows.output, y, output);
}

LogicalResult ConvOp::evaluate(ArrayRef<Tensor> operands,
                               SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0], &w = operands[1];
  Tensor result(getType());
  Windows windows(*this, x.shape(), w.shape(), result.shape());
  withNumbers([&](const auto *x, const auto *w,
                  auto *y) { convolve(windows, x, w, y); },
              x, w, result);
  wrapIntegers(result);
  results.push_back(std::move(result));
  return success();
}

LogicalResult ConvInputGradOp::evaluate(ArrayRef<Tensor> operands,
                                        SmallVectorImpl<Tensor> &results) {
  const Tensor &dy = operands[0], &w = operands[1];
  Tensor result(getType());
  Windows windows(*this, result.shape(), w.shape(), dy.shape());
  std::vector<double> y = Windows::pack(windows.output, dy.floats.data()),
                      filter(w.floats.size()), x(result.floats.size());
  windows.forEachWeight(false,
                        [&](int64_t i, int64_t p) { filter[i] = w.floats[p]; });
  windows.forEachProduct([&](int64_t ofX, int64_t ofW, int64_t ofY) {
    addScaledRows(x.data() + ofX, windows.channels, y.data() + ofY,
                  filter.data() + ofW, windows.filters);
  });
  Windows::unpack(windows.input, x, result.floats.data());
  results.push_back(std::move(result));
  return success();
}

LogicalResult ConvFilterGradOp::evaluate(ArrayRef<Tensor> operands,
                                         SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0], &dy = operands[1];
  Tensor result(getType());
  Windows windows(*this, x.shape(), result.shape(), dy.shape());
  std::vector<double> input = Windows::pack(windows.input, x.floats.data()),
                      y = Windows::pack(windows.output, dy.floats.data()),
                      filter(result.floats.size());
  windows.forEachProduct([&](int64_t ofX, int64_t ofW, int64_t ofY) {
    for (int64_t o = 0; o < windows.filters; ++o)
      addScaledRows(filter.data() + ofW + o * windows.channels,
                    windows.channels, y.data() + ofY + o, input.data() + ofX,
                    1);
  });
  windows.forEachWeight(
      false, [&](int64_t i, int64_t p) { result.floats[p] = filter[i]; });
  results.push_back(std::move(result));
  return success();
}
