//===- Pointwise.cpp - 1x1 convolutions as products -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A pointwise convolution with channels last is a product of the points of all
// images with the filter. With channels first, that of one image is filter x
// image, a product of two plain matrices: computing it as such is three times
// faster than copying the activations to channels last and back. With a stride,
// it is a product of some points of some lines.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ConvAsProduct.h"
#include "backends/cpu/device/ConvPlan.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/FloatPanels.h"

#include <algorithm>
#include <span>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

bool hasStrides(const sinter_conv &params) {
  return std::any_of(params.strides, params.strides + params.spatialRank,
                     [](int64_t stride) { return stride != 1; });
}

int64_t pointsOf(const sinter_conv &params) {
  int64_t points = 1;
  for (uint32_t i = 0; i < params.spatialRank; ++i)
    points *= params.inputDims[i];
  return points;
}

/// The product of a convolution with strides: its batch are the lines of the
/// result. Those of all images must be one stride apart.
sinter_matmul ofStridedLines(const sinter_conv &conv) {
  const int64_t lines = (conv.inputDims[0] - 1) / conv.strides[0] + 1,
                points = (conv.inputDims[1] - 1) / conv.strides[1] + 1;
  sinter_matmul product{};
  product.dtype = product.outDtype = conv.dtype;
  product.m = points;
  product.k = product.bStrideN = conv.channels;
  product.n = product.cStrideM = conv.filters;
  product.aStrideM = conv.strides[1] * conv.channels;
  product.aStrideK = product.bStrideK = product.cStrideN = 1;
  product.batchRank = 1;
  product.batch[0] = conv.batch * lines;
  product.aBatchStrides[0] =
      conv.strides[0] * conv.inputDims[1] * conv.channels;
  product.cBatchStrides[0] = points * conv.filters;
  return product;
}

/// Rows are points and columns are channels of the result.
sinter_matmul asMatmul(const sinter_conv &conv) {
  if (hasStrides(conv))
    return ofStridedLines(conv);
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
    LibraryCallResult rows = prepareRowProduct(context, command_, constants);
    if (!rows.ok() || *rows)
      return rows;
    if (!channelsLast_)
      return prepareFloatMatmul(context, command_, constants);
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
    if (params.kernel[i] != 1 || params.padsLow[i] != 0 ||
        params.padsHigh[i] != 0)
      return false;
  if (!hasStrides(params))
    return true;
  // Few filters are not worth the copy of the points. With AVX2, FloatWindow
  // gathers them.
  return isForwardImageConv(params) && params.filters > maxPanelColumns &&
         floatUnit() == FloatUnit::Fma16 && params.batch > 0 &&
         params.inputDims[0] > 0 && params.inputDims[1] > 0 &&
         (params.batch == 1 || params.inputDims[0] % params.strides[0] == 0);
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
