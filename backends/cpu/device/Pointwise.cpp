//===- Pointwise.cpp - 1x1 convolutions as products -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A pointwise convolution with channels last is a product of the points of all
// images with the filter. With channels first, that of one image is filter x
// image, a product of two plain matrices: computing it as such is three times
// faster than copying the activations to channels last and back.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ConvAsProduct.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/FloatPanels.h"

#include <algorithm>
#include <span>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

int64_t pointsOf(const sinter_conv &params) {
  int64_t points = 1;
  for (uint32_t i = 0; i < params.spatialRank; ++i)
    points *= params.inputDims[i];
  return points;
}

/// Rows are points and columns are channels of the result.
sinter_matmul asMatmul(const sinter_conv &conv) {
  bool forward = conv.direction == SINTER_CONV_FORWARD;
  int64_t points = pointsOf(conv);
  sinter_matmul product{};
  product.dtype = product.outDtype = conv.dtype;
  product.k = forward ? conv.channels : conv.filters;
  product.n = forward ? conv.filters : conv.channels;
  if (conv.layout == SINTER_CHANNELS_FIRST) {
    product.batchRank = 1;
    product.batch[0] = conv.batch;
    product.m = points;
    product.aStrideM = product.cStrideM = 1;
    product.aStrideK = product.cStrideN = points;
    product.aBatchStrides[0] = product.k * points;
    product.cBatchStrides[0] = product.n * points;
  } else {
    product.m = conv.batch * points;
    product.aStrideM = product.k;
    product.cStrideM = product.n;
    product.aStrideK = product.cStrideN = 1;
  }
  // The filter is {filters, channels} in both directions.
  product.bStrideK = forward ? 1 : conv.channels;
  product.bStrideN = forward ? conv.channels : 1;
  return product;
}

class PointwiseCall : public ConvAsProduct {
public:
  explicit PointwiseCall(const sinter_command &command)
      : ConvAsProduct(command, asMatmul(*command.conv.params)),
        channelsLast_(command.conv.params->layout != SINTER_CHANNELS_FIRST) {}

  /// Null if oneDNN's convolution is faster.
  LibraryCallResult prepare(OneDnnContext &context, const uint8_t *constants) {
    if (!channelsLast_)
      return prepareFloatMatmul(context, command_, constants);
    // Functions such as swish take a second pass over a tile, which costs more
    // than a shallow product gains.
    constexpr int64_t deep = 192;
    const std::span ops(params_.postOps, params_.numPostOps);
    if (params_.k < deep &&
        !std::all_of(
            ops.begin(), ops.end(),
            [](const sinter_post_op &op) { return isTilePostOp(op.kind); }))
      return std::unique_ptr<LibraryCall>();
    return prepareFloatProduct(context, command_, constants);
  }
  std::string description() const override {
    return "pointwise conv as " + productText();
  }

private:
  bool channelsLast_;
};

} // namespace

bool sinter::cpu::isPointwiseProduct(const sinter_conv &params) {
  if (params.direction == SINTER_CONV_FILTER_GRAD || params.groups != 1)
    return false;
  for (uint32_t i = 0; i < params.spatialRank; ++i)
    if (params.kernel[i] != 1 || params.strides[i] != 1 ||
        params.padsLow[i] != 0 || params.padsHigh[i] != 0)
      return false;
  return true;
}

LibraryCallResult sinter::cpu::preparePointwise(OneDnnContext &context,
                                                const sinter_command &command,
                                                const uint8_t *constants) {
  auto call = std::make_unique<PointwiseCall>(command);
  LibraryCallResult product = call->prepare(context, constants);
  if (!product.ok() || !*product)
    return product;
  call->take(std::move(*product));
  return std::unique_ptr<LibraryCall>(std::move(call));
}
