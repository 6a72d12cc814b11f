//===- FloatWindow.cpp - fp32 convolutions as products by AVX2 ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A row of A is the window of a point of the result, all channels of one point
// of the window after the other. The product copies rows in tiles, so windows
// are gathered tile by tile: no matrix of them is stored.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/ConvAsProduct.h"
#include "backends/cpu/device/ConvPlan.h"
#include "backends/cpu/device/FloatPanels.h"
#include "backends/cpu/device/FloatProduct.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

class WindowRows : public RowSource {
public:
  explicit WindowRows(const ConvShape &shape)
      : y_(shape.dims[0]), x_(shape.dims[1]), channels_(shape.channels),
        imageElements_(shape.inputPoints() * shape.channels),
        zeros_(static_cast<size_t>(shape.channels)) {}

  void interleave(const float *a, int64_t row, int64_t rows, int64_t k,
                  int64_t depth, float *to) const override {
    std::array<Point, mostInterleavedRows> points;
    for (int64_t i = 0; i < rows; ++i)
      points[static_cast<size_t>(i)] = pointOf(a, row + i);
    for (int64_t end = k + depth; k < end;) {
      const int64_t tap = k / channels_, channel = k % channels_,
                    count = std::min(channels_ - channel, end - k);
      std::array<const float *, mostInterleavedRows> from;
      for (size_t i = 0; i < static_cast<size_t>(rows); ++i)
        from[i] = atTap(points[i], tap / x_.kernel, tap % x_.kernel) + channel;
      interleaveRows(from.data(), rows, count, to);
      to += rows * count;
      k += count;
    }
  }

private:
  /// The first coordinates of the window of a point of the result.
  struct Point {
    const float *image;
    int64_t y, x;
  };
  Point pointOf(const float *a, int64_t row) const {
    const int64_t points = y_.out * x_.out, inImage = row % points;
    return {a + row / points * imageElements_,
            inImage / x_.out * y_.stride - y_.padLow,
            inImage % x_.out * x_.stride - x_.padLow};
  }
  /// The channels of a point of the window; zeros beyond the image.
  const float *atTap(const Point &point, int64_t tapY, int64_t tapX) const {
    const int64_t y = point.y + tapY * y_.dilation,
                  x = point.x + tapX * x_.dilation;
    return y < 0 || y >= y_.in || x < 0 || x >= x_.in
               ? zeros_.data()
               : point.image + (y * x_.in + x) * channels_;
  }

  const ConvDim y_, x_;
  const int64_t channels_, imageElements_;
  const std::vector<float> zeros_;
};

sinter_matmul asMatmul(const ConvShape &shape) {
  sinter_matmul product{};
  product.dtype = product.outDtype = SINTER_F32;
  product.m = shape.batch * shape.outputPoints();
  product.n = shape.filters;
  product.k = shape.filterElements() / shape.filters;
  product.aStrideM = product.k;
  product.bStrideK = product.cStrideM = product.n;
  product.aStrideK = product.bStrideN = product.cStrideN = 1;
  return product;
}

class FloatWindowCall : public ConvAsProduct {
public:
  FloatWindowCall(const sinter_command &command, const ConvShape &shape)
      : ConvAsProduct(command, asMatmul(shape)) {}

  /// `filter` is {filters, channels, points of the window}.
  LibraryCallResult prepare(OneDnnContext &context, const ConvShape &shape,
                            const float *filter) {
    const int64_t points = params_.k / shape.channels;
    std::vector<float> b(static_cast<size_t>(params_.k * params_.n));
    for (int64_t point = 0; point < points; ++point)
      copyBlock({b.data() + point * shape.channels * params_.n, shape.channels,
                 params_.n, params_.n, 1},
                filter + point, points, params_.k);
    return prepareGatheredProduct(context, command_, b.data(),
                                  std::make_unique<WindowRows>(shape));
  }
  std::string description() const override {
    return "conv as " + productText();
  }
};

/// Few channels are many short copies; few filters are not worth them.
bool isWorthGathering(const ConvShape &shape) {
  return shape.channels >= 16 && shape.filters >= 32;
}

} // namespace

LibraryCallResult sinter::cpu::prepareFloatWindow(OneDnnContext &context,
                                                  const sinter_command &command,
                                                  const uint8_t *constants) {
  const sinter_conv &params = *command.conv.params;
  const float *filter = constantAddress(command.slices[1], constants);
  const std::span ops(params.postOps, params.numPostOps);
  if (!filter || floatUnit() != FloatUnit::Fma8 ||
      params.direction != SINTER_CONV_FORWARD || params.spatialRank != 2 ||
      params.layout != SINTER_CHANNELS_LAST || params.groups != 1 ||
      !std::all_of(ops.begin(), ops.end(), [](const sinter_post_op &op) {
        return isTilePostOp(op.kind);
      }))
    return std::unique_ptr<LibraryCall>();
  const ConvShape shape(params);
  if (shape.cropped() || shape.emptySum() || !isWorthGathering(shape))
    return std::unique_ptr<LibraryCall>();
  auto call = std::make_unique<FloatWindowCall>(command, shape);
  LibraryCallResult product = call->prepare(context, shape, filter);
  if (!product.ok() || !*product)
    return product;
  call->take(std::move(*product));
  return std::unique_ptr<LibraryCall>(std::move(call));
}
