//===- FloatWindow.cpp - fp32 convolutions as products by AVX2 ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A row of A is the window of a point of the result. The product copies rows in
// tiles, so windows are gathered tile by tile: no matrix of them is stored.
// Windows of adjacent points overlap: 6 windows of 3 columns need 8 columns of
// the image. So these are gathered once, and the windows are places in them.
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

/// Fewer channels are many short copies.
constexpr int64_t fewestChannels = 16;
// A stretch has whole runs of a column, but for its first and last one.
static_assert(mostStretch / fewestChannels + 2 <= RowSource::mostGroups);

/// The order of k: rows of the window; blocks of channels; columns of the
/// window; channels.
struct WindowOrder {
  /// Blocks are so small that a stretch of the depth has most of them with all
  /// columns of the window.
  explicit WindowOrder(const ConvShape &shape)
      : channels(shape.channels), columns(shape.dims[1].kernel),
        block(shape.channels) {
    while (columns * block > mostStretch && block % 2 == 0 &&
           block / 2 >= fewestChannels)
      block /= 2;
  }
  /// Adjacent k of one point of the window.
  struct Run {
    int64_t row, column, channel, count;
  };
  /// Those from `k` on, up to `end`.
  Run at(int64_t k, int64_t end) const {
    const int64_t ofBlock = columns * block, blocks = channels / block,
                  number = k / ofBlock, inBlock = k % ofBlock;
    return {number / blocks, inBlock / block,
            number % blocks * block + inBlock % block,
            std::min(block - inBlock % block, end - k)};
  }

  int64_t channels, columns, block;
};

class WindowRows : public RowSource {
public:
  WindowRows(const ConvShape &shape, const WindowOrder &order)
      : order_(order), y_(shape.dims[0]), x_(shape.dims[1]),
        channels_(shape.channels),
        imageElements_(shape.inputPoints() * shape.channels),
        zeros_(static_cast<size_t>(shape.channels)) {}

  /// Points of one line of the result whose windows overlap.
  bool isShared(int64_t row, int64_t rows) const override {
    return x_.stride == 1 && x_.kernel > 1 &&
           rows + x_.window() - 1 <= gatheredStride &&
           row % x_.out + rows <= x_.out;
  }

  size_t
  groupsOf(int64_t k, int64_t depth,
           std::array<GatheredColumns, mostGroups> &groups) const override {
    size_t count = 0;
    forEachBlock(k, depth, [&](const Block &block) {
      for (int64_t at = block.k; at < block.end;) {
        const WindowOrder::Run run = order_.at(at, block.end);
        groups[count++] = {(block.first + run.channel - block.channel) *
                                   gatheredStride +
                               run.column * x_.dilation,
                           run.count};
        at += run.count;
      }
    });
    return count;
  }

  void gather(const float *a, int64_t row, int64_t rows, int64_t k,
              int64_t depth, float *to) const override {
    std::array<const float *, gatheredStride> from;
    if (!isShared(row, rows)) {
      std::array<Point, mostInterleavedRows> points;
      for (int64_t i = 0; i < rows; ++i)
        points[static_cast<size_t>(i)] = pointOf(a, row + i);
      from.fill(zeros_.data());
      for (int64_t end = k + depth; k < end;) {
        const WindowOrder::Run run = order_.at(k, end);
        for (size_t i = 0; i < static_cast<size_t>(rows); ++i)
          from[i] =
              atTap(points[i], run.row, run.column * x_.dilation) + run.channel;
        gatherRows(from.data(), run.count, to);
        to += run.count * gatheredStride;
        k += run.count;
      }
      return;
    }
    const Point point = pointOf(a, row);
    const int64_t columns = rows + x_.window() - 1;
    forEachBlock(k, depth, [&](const Block &block) {
      from.fill(zeros_.data());
      for (int64_t i = 0; i < columns; ++i)
        from[static_cast<size_t>(i)] =
            atTap(point, block.row, i) + block.channel;
      gatherRows(from.data(), block.channels,
                 to + block.first * gatheredStride);
    });
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
  /// The channels of a point of row `tapY` of the window, `right` columns from
  /// its first one; zeros beyond the image.
  const float *atTap(const Point &point, int64_t tapY, int64_t right) const {
    const int64_t y = point.y + tapY * y_.dilation, x = point.x + right;
    return y < 0 || y >= y_.in || x < 0 || x >= x_.in
               ? zeros_.data()
               : point.image + (y * x_.in + x) * channels_;
  }

  /// What a stretch has of one block of channels of one row of the window.
  struct Block {
    int64_t k, end, row;
    int64_t channel, channels; // all that its columns need; at most end - k
    int64_t first;             // of these channels, among those of all blocks
  };
  template <class Function>
  void forEachBlock(int64_t k, int64_t depth, Function function) const {
    const int64_t ofBlock = order_.columns * order_.block, end = k + depth;
    for (int64_t first = 0; k < end;) {
      const WindowOrder::Run run = order_.at(k, end);
      Block block{k,         std::min(end, (k / ofBlock + 1) * ofBlock),
                  run.row,   run.channel,
                  run.count, first};
      const int64_t begin = run.channel / order_.block * order_.block,
                    last = run.channel + run.count;
      if (run.channel > begin && block.end - k < order_.block) {
        block.end = k + run.count;
      } else if (block.end > k + run.count) {
        // With a second column, from the first channel on.
        block.channel = begin;
        block.channels = last - begin;
      }
      function(block);
      first += block.channels;
      k = block.end;
    }
  }

  const WindowOrder order_;
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
    const WindowOrder order(shape);
    std::vector<float> b(static_cast<size_t>(params_.k * params_.n));
    for (int64_t k = 0; k < params_.k;) {
      const WindowOrder::Run run = order.at(k, params_.k);
      copyBlock({b.data() + k * params_.n, run.count, params_.n, params_.n, 1},
                filter + run.channel * points + run.row * order.columns +
                    run.column,
                points, params_.k);
      k += run.count;
    }
    return prepareGatheredProduct(context, command_, b.data(),
                                  std::make_unique<WindowRows>(shape, order));
  }
  std::string description() const override {
    return "conv as " + productText();
  }
};

/// Few filters are not worth the copies.
bool isWorthGathering(const ConvShape &shape) {
  return shape.channels >= fewestChannels && shape.filters >= 32;
}

} // namespace

LibraryCallResult sinter::cpu::prepareFloatWindow(OneDnnContext &context,
                                                  const sinter_command &command,
                                                  const uint8_t *constants) {
  const sinter_conv &params = *command.conv.params;
  const float *filter = constantAddress(command.slices[1], constants);
  const std::span ops(params.postOps, params.numPostOps);
  if (!filter || floatUnit() != FloatUnit::Fma8 ||
      !isForwardImageConv(params) || params.groups != 1 ||
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
