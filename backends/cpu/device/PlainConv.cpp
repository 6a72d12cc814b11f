//===- PlainConv.cpp - fp64 convolutions ----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// oneDNN convolves no fp64.
//
//===----------------------------------------------------------------------===//

#include "backends/common/device/PlainConvolution.h"
#include "backends/cpu/device/OneDnnLibrary.h"

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

using plain::convRank;

/// Sizes of the spatial dimensions, with 1 for those that are missing.
void spatialDims(const sinter_conv &p, const int64_t *sizes, int64_t fallback,
                 int64_t *dims) {
  int missing = convRank - static_cast<int>(p.spatialRank);
  for (int d = 0; d < convRank; ++d)
    dims[d] = d < missing ? fallback : sizes[d - missing];
}

/// Dense, `inner` (channels) before or after the spatial dimensions.
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

class PlainConvCall : public LibraryCall {
public:
  explicit PlainConvCall(const sinter_command &command)
      : command_(command),
        p_(*static_cast<const sinter_conv *>(command.params)),
        conv_(makeConvolution(p_)) {}

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
    int64_t units = p_.direction == SINTER_CONV_FORWARD ? conv_.forwardUnits()
                    : p_.direction == SINTER_CONV_INPUT_GRAD
                        ? conv_.inputGradUnits()
                        : conv_.filterGradUnits();
    pool.parallelFor(threads, units, 1, [&](int, int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit)
        runUnit(unit);
    });
    return {};
  }

private:
  void runUnit(int64_t unit) const {
    switch (p_.direction) {
    case SINTER_CONV_FORWARD:
      return conv_.forward(unit, first_, second_, result_);
    case SINTER_CONV_INPUT_GRAD:
      return conv_.inputGrad(unit, first_, second_, result_);
    default:
      return conv_.filterGrad(unit, first_, second_, result_);
    }
  }

  const sinter_command &command_;
  const sinter_conv &p_;
  plain::Convolution conv_;
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
