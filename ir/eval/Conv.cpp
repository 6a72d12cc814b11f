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

  /// The first channels of a point of the input and of one of the output, in
  /// the copies.
  struct Pair {
    int64_t input, output;
  };

  /// Calls f(weights, pairs) for each tap and group: the place of the tap's
  /// first weight in the copy, and what it multiplies, in order of the points
  /// of the output. An element of the input meets these in ascending order if
  /// the taps descend.
  template <class F> void forEachProduct(bool tapsDescend, F f) const {
    std::vector<std::vector<Pair>> points(taps);
    forEachTap([&](int64_t tap, int64_t from, int64_t to) {
      points[tap].push_back({from, to});
    });
    const int64_t inputs = input.points() * groups * channels,
                  outputs = output.points() * groups * filters;
    std::vector<Pair> pairs;
    for (int64_t i = 0; i < taps; ++i) {
      const int64_t tap = tapsDescend ? taps - 1 - i : i;
      for (int64_t g = 0; g < groups; ++g) {
        pairs.clear();
        for (auto [from, to] : points[tap])
          for (int64_t n = 0; n < batches; ++n)
            pairs.push_back({n * inputs + (from * groups + g) * channels,
                             n * outputs + (to * groups + g) * filters});
        f((g * taps + tap) * channels * filters, pairs);
      }
    }
  }

  Activation input, output;
  ArrayRef<int64_t> strides, padsLow, dilations, kernel;
  int64_t batches, groups;
  int64_t filters, channels; // of a group
  int64_t taps;
};

} // namespace

/// Adds to the rows of `sums` at `to` the products of the rows of `x` at `from`
/// with the matrix of weights, which has `size` columns and `count` rows.
template <class T>
static void multiply(ArrayRef<Windows::Pair> pairs, int64_t Windows::Pair::*to,
                     T *sums, int64_t size, int64_t Windows::Pair::*from,
                     const T *x, const T *weights, int64_t count) {
  T *sumsOf[kScaleLists];
  const T *scalesOf[kScaleLists];
  for (; !pairs.empty();
       pairs = pairs.drop_front(std::min<size_t>(pairs.size(), kScaleLists))) {
    const int64_t lists = std::min<int64_t>(pairs.size(), kScaleLists);
    for (int64_t l = 0; l < lists; ++l) {
      sumsOf[l] = sums + pairs[l].*to;
      scalesOf[l] = x + pairs[l].*from;
    }
    addScaledRows(sumsOf, size, scalesOf, lists, weights, count);
  }
}

template <class T>
static void convolve(const Windows &windows, const T *input, const T *filter,
                     T *output) {
  std::vector<T> x = Windows::pack(windows.input, input),
                 w(windows.groups * windows.taps * windows.channels *
                   windows.filters),
                 y(sizeOf(windows.output.shape));
  windows.forEachWeight(true, [&](int64_t i, int64_t p) { w[i] = filter[p]; });
  windows.forEachProduct(
      /*tapsDescend=*/false,
      [&](int64_t weights, ArrayRef<Windows::Pair> pairs) {
        multiply(pairs, &Windows::Pair::output, y.data(), windows.filters,
                 &Windows::Pair::input, x.data(), w.data() + weights,
                 windows.channels);
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
  windows.forEachProduct(
      /*tapsDescend=*/true,
      [&](int64_t weights, ArrayRef<Windows::Pair> pairs) {
        multiply(pairs, &Windows::Pair::input, x.data(), windows.channels,
                 &Windows::Pair::output, y.data(), filter.data() + weights,
                 windows.filters);
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
  const int64_t channels = windows.channels, filters = windows.filters;
  std::vector<double> input = Windows::pack(windows.input, x.floats.data()),
                      y = Windows::pack(windows.output, dy.floats.data()),
                      filter(result.floats.size());
  // Some pairs at a time, with the gradients of each filter in a row.
  constexpr size_t kPairs = 64;
  std::vector<double> rows(kPairs * channels), scales(kPairs * filters);
  windows.forEachProduct(
      /*tapsDescend=*/false,
      [&](int64_t weights, ArrayRef<Windows::Pair> pairs) {
        while (!pairs.empty()) {
          ArrayRef<Windows::Pair> some =
              pairs.take_front(std::min(pairs.size(), kPairs));
          pairs = pairs.drop_front(some.size());
          for (auto [i, pair] : llvm::enumerate(some)) {
            std::copy_n(input.data() + pair.input, channels,
                        rows.data() + i * channels);
            for (int64_t o = 0; o < filters; ++o)
              scales[o * kPairs + i] = y[pair.output + o];
          }
          double *sumsOf[kScaleLists];
          const double *scalesOf[kScaleLists];
          for (int64_t begin = 0; begin < filters; begin += kScaleLists) {
            const int64_t lists = std::min(kScaleLists, filters - begin);
            for (int64_t l = 0; l < lists; ++l) {
              sumsOf[l] = filter.data() + weights + (begin + l) * channels;
              scalesOf[l] = scales.data() + (begin + l) * kPairs;
            }
            addScaledRows(sumsOf, channels, scalesOf, lists, rows.data(),
                          some.size());
          }
        }
      });
  windows.forEachWeight(
      false, [&](int64_t i, int64_t p) { result.floats[p] = filter[i]; });
  results.push_back(std::move(result));
  return success();
}
