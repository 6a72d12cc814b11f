//===- Pointwise.cpp - 1x1 convolutions as products -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// With channels first, a pointwise convolution of one image is filter x image,
// a product of two plain matrices. Computing it as such is three times faster
// than copying the activations to channels last and back.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/OneDnnLibrary.h"

#include <algorithm>

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

/// Rows are points and columns are channels of the result. In both activations,
/// points are adjacent.
sinter_matmul asMatmul(const sinter_conv &conv) {
  bool forward = conv.direction == SINTER_CONV_FORWARD;
  int64_t points = pointsOf(conv);
  sinter_matmul product{};
  product.dtype = product.outDtype = conv.dtype;
  product.batchRank = 1;
  product.batch[0] = conv.batch;
  product.m = points;
  product.k = forward ? conv.channels : conv.filters;
  product.n = forward ? conv.filters : conv.channels;
  product.aStrideM = product.cStrideM = 1;
  product.aStrideK = product.cStrideN = points;
  product.aBatchStrides[0] = product.k * points;
  product.cBatchStrides[0] = product.n * points;
  // The filter is {filters, channels} in both directions.
  product.bStrideK = forward ? 1 : conv.channels;
  product.bStrideN = forward ? conv.channels : 1;
  product.numPostOps = conv.numPostOps;
  std::copy_n(conv.postOps, conv.numPostOps, product.postOps);
  return product;
}

/// Owns the product that computes the convolution.
class PointwiseCall : public LibraryCall {
public:
  explicit PointwiseCall(const sinter_command &command)
      : params_(asMatmul(*command.conv.params)), command_(command) {
    command_.kind = SINTER_CMD_MATMUL;
    command_.matmul = {&params_, command.conv.byLoops, 0};
  }

  Status prepare(OneDnnContext &context, const uint8_t *constants) {
    LibraryCallResult made = prepareFloatMatmul(context, command_, constants);
    if (!made.ok())
      return made.status();
    product_ = std::move(*made);
    return {};
  }

  uint64_t sharedBytes() const override { return product_->sharedBytes(); }
  uint64_t perWorkerBytes() const override {
    return product_->perWorkerBytes();
  }
  Status bind(const Scratch &scratch, int threads) override {
    return product_->bind(scratch, threads);
  }
  Status run(void *const *buffers, const CallContext &context) override {
    return product_->run(buffers, context);
  }
  std::string description() const override {
    return "pointwise conv as " + product_->description();
  }

private:
  sinter_matmul params_;
  sinter_command command_;
  std::unique_ptr<LibraryCall> product_;
};

} // namespace

bool sinter::cpu::isPointwiseProduct(const sinter_conv &params) {
  if (params.direction == SINTER_CONV_FILTER_GRAD || params.groups != 1 ||
      params.layout != SINTER_CHANNELS_FIRST)
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
  SINTER_RETURN_IF_ERROR(call->prepare(context, constants));
  return std::unique_ptr<LibraryCall>(std::move(call));
}
