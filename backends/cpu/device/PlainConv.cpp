//===- PlainConv.cpp - convolutions by loops ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// oneDNN has no fp64 convolutions, and its fp32 sums depend on the machine.
// Here each sum runs in the order of the loops. Sums of integers wrap.
//
//===----------------------------------------------------------------------===//

#include "backends/common/device/PlainConvolution.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/PostOps.h"

#include <array>
#include <cstring>
#include <type_traits>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

using plain::convRank;

/// The sizes of the spatial dimensions, with `fallback` for missing ones.
void spatialDims(const sinter_conv &p, const int64_t *sizes, int64_t fallback,
                 int64_t *dims) {
  int missing = convRank - static_cast<int>(p.spatialRank);
  for (int d = 0; d < convRank; ++d)
    dims[d] = d < missing ? fallback : sizes[d - missing];
}

/// A dense tensor with `inner` (channels) before or after the spatial
/// dimensions.
plain::ConvTensor denseTensor(const sinter_conv &p, int64_t inner,
                              const int64_t *sizes, bool innerLast) {
  plain::ConvTensor tensor;
  spatialDims(p, sizes, 1, tensor.dims);
  int64_t stride = innerLast ? inner : 1;
  for (int d = convRank - 1; d >= 0; --d) {
    tensor.strides[d] = stride;
    stride *= tensor.dims[d];
  }
  tensor.innerStride = innerLast ? 1 : stride;
  tensor.outerStride = innerLast ? stride : stride * inner;
  return tensor;
}

plain::Convolution makeConvolution(const sinter_conv &p) {
  plain::Convolution conv;
  conv.batch = p.batch;
  conv.channels = p.channels;
  conv.filters = p.filters;
  conv.groups = p.groups;
  bool last = p.layout == SINTER_CHANNELS_LAST;
  conv.input = denseTensor(p, p.channels, p.inputDims, last);
  conv.filter = denseTensor(p, p.channels / p.groups, p.kernel, false);
  conv.output = denseTensor(p, p.filters, p.outputDims, last);
  spatialDims(p, p.strides, 1, conv.stride);
  spatialDims(p, p.dilations, 1, conv.dilation);
  spatialDims(p, p.padsLow, 0, conv.padLow);
  return conv;
}

/// Products and sums are of type `T`.
template <typename T, typename Input = T, typename Filter = Input>
class PlainConvCall : public LibraryCall {
public:
  explicit PlainConvCall(const sinter_command &command)
      : command_(command), p_(*command.conv.params),
        conv_(makeConvolution(p_)) {
    const sinter_slice &result = command.slices[command.numSlices - 1];
    for (uint32_t i = 0; i < p_.numPostOps; ++i)
      if (p_.postOps[i].kind == SINTER_POST_ADD &&
          overlaps(command.slices[p_.postOps[i].slice], result))
        copied_ = i;
  }

  // An addend that the result overwrites is saved in scratch.
  uint64_t sharedBytes() const override {
    return copied_ == SINTER_NONE ? 0 : resultBytes();
  }
  uint64_t perWorkerBytes() const override { return 0; }
  Status bind(const Scratch &scratch, int) override {
    copy_ = reinterpret_cast<float *>(scratch.shared);
    return {};
  }
  std::string description() const override {
    return "convolution by loops, no library";
  }

  Status run(void *const *buffers, const CallContext &context) override {
    buffers_ = buffers;
    first_ = static_cast<const Input *>(buffers[0]);
    second_ = static_cast<const Filter *>(buffers[1]);
    result_ = static_cast<T *>(buffers[command_.numSlices - 1]);
    if (copied_ != SINTER_NONE)
      std::memcpy(copy_, buffers[p_.postOps[copied_].slice], resultBytes());
    int64_t units = p_.direction == SINTER_CONV_FORWARD ? conv_.forwardUnits()
                    : p_.direction == SINTER_CONV_INPUT_GRAD
                        ? conv_.inputGradUnits()
                        : conv_.filterGradUnits();
    context.parallelFor(units, 1, [&](int, int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit)
        runUnit(unit);
    });
    return {};
  }

private:
  uint64_t resultBytes() const {
    return command_.slices[command_.numSlices - 1].sizeBytes;
  }

  void runUnit(int64_t unit) const {
    switch (p_.direction) {
    case SINTER_CONV_FORWARD:
      conv_.forward(unit, first_, second_, result_);
      return finish(conv_.output, unit / p_.filters, unit % p_.filters);
    case SINTER_CONV_INPUT_GRAD:
      if constexpr (std::is_floating_point_v<T>) {
        conv_.inputGrad(unit, first_, second_, result_);
        finish(conv_.input, unit / p_.channels, unit % p_.channels);
      }
      return;
    default:
      if constexpr (std::is_floating_point_v<T>)
        conv_.filterGrad(unit, first_, second_, result_);
    }
  }

  /// Applies the post-ops to one channel of an image.
  void finish(const plain::ConvTensor &tensor, int64_t image,
              int64_t channel) const {
    if constexpr (std::is_same_v<T, float>) {
      if (!p_.numPostOps)
        return;
      const int64_t at =
          image * tensor.outerStride + channel * tensor.innerStride;
      const int64_t points = tensor.dims[0] * tensor.dims[1] * tensor.dims[2],
                    stride = tensor.strides[convRank - 1];
      std::array<PostOpOperand, SINTER_MAX_POST_OPS> operands;
      for (uint32_t i = 0; i < p_.numPostOps; ++i) {
        const sinter_post_op &op = p_.postOps[i];
        if (!readsOperand(op))
          continue;
        const float *address =
            i == copied_ ? copy_
                         : static_cast<const float *>(buffers_[op.slice]);
        operands[i] = op.kind == SINTER_POST_BIAS
                          ? PostOpOperand{address + channel, 0, 0}
                          : PostOpOperand{address + at, stride, 0};
      }
      applyPostOps({p_.postOps, p_.numPostOps},
                   {result_ + at, points, 1, stride, 1}, operands.data());
    }
  }

  const sinter_command &command_;
  const sinter_conv &p_;
  plain::Convolution conv_;
  uint32_t copied_ = SINTER_NONE; // the post-op whose addend is saved
  float *copy_ = nullptr;
  void *const *buffers_ = nullptr;
  const Input *first_ = nullptr;
  const Filter *second_ = nullptr;
  T *result_ = nullptr;
};

template <typename T, typename Input = T, typename Filter = Input>
LibraryCallResult make(const sinter_command &command) {
  return std::unique_ptr<LibraryCall>(
      std::make_unique<PlainConvCall<T, Input, Filter>>(command));
}

} // namespace

LibraryCallResult sinter::cpu::preparePlainConv(const sinter_command &command) {
  const auto &params = *command.conv.params;
  if (params.dtype == SINTER_F32)
    return make<float>(command);
  if (params.numPostOps)
    return Status(SINTER_UNSUPPORTED,
                  "post-ops of a convolution are supported only for fp32");
  if (params.dtype == SINTER_F64)
    return make<double>(command);
  if (params.direction == SINTER_CONV_FORWARD &&
      params.outDtype == SINTER_I32) {
    const uint32_t filter =
        command.conv.dtypeOfFilter ? command.conv.dtypeOfFilter : params.dtype;
    if (params.dtype == SINTER_I32)
      return make<uint32_t>(command);
    if (params.dtype == SINTER_I8)
      return filter == SINTER_I8 ? make<uint32_t, int8_t>(command)
                                 : make<uint32_t, int8_t, uint8_t>(command);
    if (params.dtype == SINTER_U8)
      return filter == SINTER_U8 ? make<uint32_t, uint8_t>(command)
                                 : make<uint32_t, uint8_t, int8_t>(command);
  }
  return Status(SINTER_UNSUPPORTED, "no CPU convolution takes dtype " +
                                        std::to_string(params.dtype));
}
