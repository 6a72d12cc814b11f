//===- PlainConv.cpp - fp64 convolutions ----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// oneDNN convolves no fp64. A unit is one plane of the result: an image's
// output or input channel, or a filter's slice for one channel. Each unit is
// summed in an order that its shape fixes: channels (or images), taps, rows.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/OneDnnLibrary.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

constexpr int maxRank = SINTER_MAX_SPATIAL_DIMS;

/// Where an activation's elements lie, with three spatial dimensions; those
/// that it lacks come first and have one position.
struct Activation {
  int64_t batchStride, channelStride;
  int64_t dims[maxRank], strides[maxRank];

  Activation(const sinter_conv &p, int64_t channels, const int64_t *sizes) {
    int missing = maxRank - static_cast<int>(p.spatialRank);
    bool last = p.layout == SINTER_CHANNELS_LAST;
    int64_t stride = last ? channels : 1;
    for (int d = maxRank - 1; d >= 0; --d) {
      dims[d] = d < missing ? 1 : sizes[d - missing];
      strides[d] = stride;
      stride *= dims[d];
    }
    channelStride = last ? 1 : stride;
    batchStride = last ? stride : stride * channels;
  }
};

class PlainConvCall : public LibraryCall {
public:
  explicit PlainConvCall(const sinter_command &command)
      : command_(command),
        p_(*static_cast<const sinter_conv *>(command.params)),
        input_(p_, p_.channels, p_.inputDims),
        output_(p_, p_.filters, p_.outputDims) {
    int missing = maxRank - static_cast<int>(p_.spatialRank);
    for (int d = 0; d < maxRank; ++d) {
      bool has = d >= missing;
      kernel_[d] = has ? p_.kernel[d - missing] : 1;
      stride_[d] = has ? p_.strides[d - missing] : 1;
      dilation_[d] = has ? p_.dilations[d - missing] : 1;
      padLow_[d] = has ? p_.padsLow[d - missing] : 0;
      taps_ *= kernel_[d];
    }
  }

  uint64_t sharedBytes() const override { return 0; }
  uint64_t perWorkerBytes() const override { return 0; }
  Status bind(const Scratch &, int) override { return {}; }
  std::string description() const override {
    return "convolution by loops, no library";
  }

  Status run(void *const *buffers, const CallContext &context) override {
    ThreadPool &pool = *context.pool;
    const int threads = context.threads;
    first_ = static_cast<const double *>(buffers[0]);
    second_ = static_cast<const double *>(buffers[1]);
    result_ = static_cast<double *>(buffers[command_.numSlices - 1]);
    int64_t units = p_.direction == SINTER_CONV_FORWARD ? p_.batch * p_.filters
                    : p_.direction == SINTER_CONV_INPUT_GRAD
                        ? p_.batch * p_.channels
                        : p_.filters * (p_.channels / p_.groups);
    pool.parallelFor(threads, units, 1, [&](int, int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit)
        runUnit(unit);
    });
    return {};
  }

private:
  int64_t channelsPerGroup() const { return p_.channels / p_.groups; }
  int64_t filtersPerGroup() const { return p_.filters / p_.groups; }

  void runUnit(int64_t unit) const {
    switch (p_.direction) {
    case SINTER_CONV_FORWARD: {
      int64_t n = unit / p_.filters, o = unit % p_.filters;
      double *plane =
          result_ + n * output_.batchStride + o * output_.channelStride;
      clear(plane, output_);
      for (int64_t c = 0; c < channelsPerGroup(); ++c) {
        const double *from = inputPlane(first_, n, groupOf(o), c);
        const double *filter = second_ + (o * channelsPerGroup() + c) * taps_;
        forEachRow([&](int64_t tap, int64_t in, int64_t out, int64_t count) {
          double w = filter[tap];
          for (int64_t j = 0; j < count; ++j)
            plane[out + j * output_.strides[2]] +=
                w * from[in + j * stride_[2] * input_.strides[2]];
        });
      }
      return;
    }
    case SINTER_CONV_INPUT_GRAD: {
      int64_t n = unit / p_.channels, channel = unit % p_.channels;
      int64_t group = channel / channelsPerGroup(),
              c = channel % channelsPerGroup();
      double *plane =
          result_ + n * input_.batchStride + channel * input_.channelStride;
      clear(plane, input_);
      for (int64_t k = 0; k < filtersPerGroup(); ++k) {
        int64_t o = group * filtersPerGroup() + k;
        const double *from =
            first_ + n * output_.batchStride + o * output_.channelStride;
        const double *filter = second_ + (o * channelsPerGroup() + c) * taps_;
        forEachRow([&](int64_t tap, int64_t in, int64_t out, int64_t count) {
          double w = filter[tap];
          for (int64_t j = 0; j < count; ++j)
            plane[in + j * stride_[2] * input_.strides[2]] +=
                w * from[out + j * output_.strides[2]];
        });
      }
      return;
    }
    default: {
      int64_t o = unit / channelsPerGroup(), c = unit % channelsPerGroup();
      double *filter = result_ + unit * taps_;
      std::fill(filter, filter + taps_, 0.0);
      for (int64_t n = 0; n < p_.batch; ++n) {
        const double *from = inputPlane(first_, n, groupOf(o), c);
        const double *grad =
            second_ + n * output_.batchStride + o * output_.channelStride;
        forEachRow([&](int64_t tap, int64_t in, int64_t out, int64_t count) {
          double sum = 0;
          for (int64_t j = 0; j < count; ++j)
            sum += grad[out + j * output_.strides[2]] *
                   from[in + j * stride_[2] * input_.strides[2]];
          filter[tap] += sum;
        });
      }
    }
    }
  }

  int64_t groupOf(int64_t filter) const { return filter / filtersPerGroup(); }
  const double *inputPlane(const double *input, int64_t n, int64_t group,
                           int64_t c) const {
    return input + n * input_.batchStride +
           (group * channelsPerGroup() + c) * input_.channelStride;
  }

  static void clear(double *plane, const Activation &a) {
    for (int64_t i = 0; i < a.dims[0]; ++i)
      for (int64_t j = 0; j < a.dims[1]; ++j)
        for (int64_t k = 0; k < a.dims[2]; ++k)
          plane[i * a.strides[0] + j * a.strides[1] + k * a.strides[2]] = 0;
  }

  /// The positions of the output along `d` at which kernel element `k` falls
  /// inside the input: [begin, end).
  std::pair<int64_t, int64_t> range(int d, int64_t k) const {
    // 0 <= at * stride + offset < size
    int64_t offset = k * dilation_[d] - padLow_[d], size = input_.dims[d];
    int64_t begin = offset >= 0 ? 0 : (-offset + stride_[d] - 1) / stride_[d];
    int64_t end = size <= offset ? 0 : (size - offset - 1) / stride_[d] + 1;
    return {begin, std::clamp(end, begin, std::max(begin, output_.dims[d]))};
  }

  /// Calls f(tap, position in the input's plane, position in the output's,
  /// count) for each row of outputs that a kernel element contributes to. The
  /// positions are those of the row's first output.
  template <typename F> void forEachRow(F &&f) const {
    int64_t tap = 0;
    for (int64_t a = 0; a < kernel_[0]; ++a)
      for (int64_t b = 0; b < kernel_[1]; ++b)
        for (int64_t c = 0; c < kernel_[2]; ++c, ++tap) {
          auto [begin0, end0] = range(0, a);
          auto [begin1, end1] = range(1, b);
          auto [begin2, end2] = range(2, c);
          if (begin2 >= end2)
            continue;
          auto inputAt = [&](int d, int64_t out, int64_t k) {
            return (out * stride_[d] + k * dilation_[d] - padLow_[d]) *
                   input_.strides[d];
          };
          for (int64_t i = begin0; i < end0; ++i)
            for (int64_t j = begin1; j < end1; ++j)
              f(tap,
                inputAt(0, i, a) + inputAt(1, j, b) + inputAt(2, begin2, c),
                i * output_.strides[0] + j * output_.strides[1] +
                    begin2 * output_.strides[2],
                end2 - begin2);
        }
  }

  const sinter_command &command_;
  const sinter_conv &p_;
  Activation input_, output_;
  int64_t kernel_[maxRank], stride_[maxRank], dilation_[maxRank],
      padLow_[maxRank];
  int64_t taps_ = 1;
  const double *first_ = nullptr, *second_ = nullptr;
  double *result_ = nullptr;
};

} // namespace

LibraryCallResult sinter::cpu::preparePlainConv(const sinter_command &command) {
  const auto &params = *static_cast<const sinter_conv *>(command.params);
  if (params.dtype != SINTER_F64)
    return Status(SINTER_UNSUPPORTED, "no CPU convolution takes dtype " +
                                          std::to_string(params.dtype));
  if (params.numPostOps)
    return Status(SINTER_UNSUPPORTED,
                  "nothing may follow a convolution that is not fp32");
  return std::unique_ptr<LibraryCall>(std::make_unique<PlainConvCall>(command));
}
