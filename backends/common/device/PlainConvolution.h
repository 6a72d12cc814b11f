//===- PlainConvolution.h - convolutions by loops ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Devices use these convolutions where no library does them: fp64 on the CPU,
// everything on the simulated device. A unit is one plane of the result: an
// image's output or input channel, or a filter's slice for one channel. What
// must stay true: the shape alone determines the order in which each unit is
// summed: channels (or images), taps, rows.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_DEVICE_PLAINCONVOLUTION_H
#define SINTER_BACKENDS_COMMON_DEVICE_PLAINCONVOLUTION_H

#include <algorithm>
#include <cstdint>
#include <utility>

namespace sinter::plain {

/// The number of spatial dimensions. Shapes with fewer are padded with leading
/// dimensions of size 1.
inline constexpr int convRank = 3;

/// The layout of an activation or a filter. `outer` is the stride of images or
/// filters, `inner` that of channels (in a filter, the channels of a group).
struct ConvTensor {
  int64_t outerStride, innerStride;
  int64_t dims[convRank], strides[convRank];
};

struct Convolution {
  int64_t batch, channels, filters, groups;
  ConvTensor input, filter, output;
  int64_t stride[convRank], dilation[convRank], padLow[convRank];

  int64_t channelsPerGroup() const { return channels / groups; }
  int64_t filtersPerGroup() const { return filters / groups; }

  /// The number of units in each of the three directions.
  int64_t forwardUnits() const { return batch * filters; }
  int64_t inputGradUnits() const { return batch * channels; }
  int64_t filterGradUnits() const { return filters * channelsPerGroup(); }

  /// output = input convolved with filter, for one unit. Products and sums are
  /// of type `T`.
  template <typename T, typename X, typename W>
  void forward(int64_t unit, const X *x, const W *w, T *y) const {
    int64_t n = unit / filters, o = unit % filters;
    T *plane = y + n * output.outerStride + o * output.innerStride;
    clear(plane, output);
    for (int64_t c = 0; c < channelsPerGroup(); ++c) {
      const X *from = inputPlane(x, n, o / filtersPerGroup(), c);
      const W *taps = w + o * filter.outerStride + c * filter.innerStride;
      forEachRow([&](int64_t tap, int64_t in, int64_t out, int64_t count) {
        const T factor = static_cast<T>(taps[tap]);
        for (int64_t j = 0; j < count; ++j)
          plane[out + j * output.strides[2]] +=
              factor *
              static_cast<T>(from[in + j * stride[2] * input.strides[2]]);
      });
    }
  }

  template <typename T>
  void inputGrad(int64_t unit, const T *dy, const T *w, T *dx) const {
    int64_t n = unit / channels, channel = unit % channels;
    int64_t group = channel / channelsPerGroup(),
            c = channel % channelsPerGroup();
    T *plane = dx + n * input.outerStride + channel * input.innerStride;
    clear(plane, input);
    for (int64_t k = 0; k < filtersPerGroup(); ++k) {
      int64_t o = group * filtersPerGroup() + k;
      const T *from = dy + n * output.outerStride + o * output.innerStride;
      const T *taps = w + o * filter.outerStride + c * filter.innerStride;
      forEachRow([&](int64_t tap, int64_t in, int64_t out, int64_t count) {
        T factor = taps[tap];
        for (int64_t j = 0; j < count; ++j)
          plane[in + j * stride[2] * input.strides[2]] +=
              factor * from[out + j * output.strides[2]];
      });
    }
  }

  template <typename T>
  void filterGrad(int64_t unit, const T *x, const T *dy, T *dw) const {
    int64_t o = unit / channelsPerGroup(), c = unit % channelsPerGroup();
    T *plane = dw + o * filter.outerStride + c * filter.innerStride;
    clear(plane, filter);
    for (int64_t n = 0; n < batch; ++n) {
      const T *from = inputPlane(x, n, o / filtersPerGroup(), c);
      const T *grad = dy + n * output.outerStride + o * output.innerStride;
      forEachRow([&](int64_t tap, int64_t in, int64_t out, int64_t count) {
        T sum = 0;
        for (int64_t j = 0; j < count; ++j)
          sum += grad[out + j * output.strides[2]] *
                 from[in + j * stride[2] * input.strides[2]];
        plane[tap] += sum;
      });
    }
  }

private:
  template <typename T>
  const T *inputPlane(const T *x, int64_t n, int64_t group, int64_t c) const {
    return x + n * input.outerStride +
           (group * channelsPerGroup() + c) * input.innerStride;
  }

  template <typename T> static void clear(T *plane, const ConvTensor &tensor) {
    for (int64_t i = 0; i < tensor.dims[0]; ++i)
      for (int64_t j = 0; j < tensor.dims[1]; ++j)
        for (int64_t k = 0; k < tensor.dims[2]; ++k)
          plane[i * tensor.strides[0] + j * tensor.strides[1] +
                k * tensor.strides[2]] = 0;
  }

  /// The positions of the output along `d` at which kernel element `k` falls
  /// inside the input: [begin, end).
  std::pair<int64_t, int64_t> range(int d, int64_t k) const {
    // 0 <= at * stride + offset < size
    int64_t offset = k * dilation[d] - padLow[d], size = input.dims[d];
    int64_t begin = offset >= 0 ? 0 : (-offset + stride[d] - 1) / stride[d];
    int64_t end = size <= offset ? 0 : (size - offset - 1) / stride[d] + 1;
    return {begin, std::clamp(end, begin, std::max(begin, output.dims[d]))};
  }

  /// Calls f(position in the filter's plane, in the input's plane, in the
  /// output's plane, count) for each row of outputs that a kernel element
  /// contributes to. The last two positions are those of the row's first
  /// output.
  template <typename F> void forEachRow(F &&f) const {
    for (int64_t a = 0; a < filter.dims[0]; ++a)
      for (int64_t b = 0; b < filter.dims[1]; ++b)
        for (int64_t c = 0; c < filter.dims[2]; ++c) {
          auto [begin0, end0] = range(0, a);
          auto [begin1, end1] = range(1, b);
          auto [begin2, end2] = range(2, c);
          if (begin2 >= end2)
            continue;
          int64_t tap = a * filter.strides[0] + b * filter.strides[1] +
                        c * filter.strides[2];
          auto inputAt = [&](int d, int64_t out, int64_t k) {
            return (out * stride[d] + k * dilation[d] - padLow[d]) *
                   input.strides[d];
          };
          for (int64_t i = begin0; i < end0; ++i)
            for (int64_t j = begin1; j < end1; ++j)
              f(tap,
                inputAt(0, i, a) + inputAt(1, j, b) + inputAt(2, begin2, c),
                i * output.strides[0] + j * output.strides[1] +
                    begin2 * output.strides[2],
                end2 - begin2);
        }
  }
};

} // namespace sinter::plain

#endif // SINTER_BACKENDS_COMMON_DEVICE_PLAINCONVOLUTION_H
