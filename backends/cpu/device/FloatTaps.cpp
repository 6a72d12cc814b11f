//===- FloatTaps.cpp - fp32 convolutions of few points by AVX-512 ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A convolution of few points reads its filter from memory in each run, and
// that takes longer than its products unless the filter is fetched ahead. So it
// is a sum of products, one for each tap (point of the window) and stretch of
// the channels: points of the image, read in place, times a block of the
// filter. Blocks are packed in the order in which they are multiplied, and each
// is fetched while the one before it is multiplied. Points whose tap is padding
// take no part in its product. The sums stay in the result, in the cache of
// level 1, so the first product and the last one, which applies the post-ops,
// are of a tap that all points have in the image.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/ConvPlan.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/FloatPanels.h"
#include "backends/cpu/device/FloatProduct.h"
#include "backends/cpu/device/PostOps.h"
#include "backends/cpu/device/WindowRegions.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

/// With more points, products take longer than reading the filter, and with
/// fewer elements, the filter stays in a cache.
constexpr int64_t mostPoints = 64, leastFilterElements = 512 * 1024;
/// Shallower stretches are not worth adding to the sums.
constexpr int64_t leastDepth = 64;

/// One product: a tap and a stretch of the channels.
struct TapProduct {
  int64_t y, x;               // the tap
  int64_t channel, depth;     // the stretch
  OutputRange lines, columns; // of the result that have the tap in the image
};

OutputRange allOutputs(const ConvDim &dim) { return {0, dim.out}; }

/// In order; empty if no tap is in the image for all points.
std::vector<TapProduct> productsOf(const ConvShape &shape) {
  const ConvDim &height = shape.dims[0], &width = shape.dims[1];
  std::vector<TapProduct> others;
  std::optional<TapProduct> whole;
  for (int64_t y = 0; y < height.kernel; ++y)
    for (int64_t x = 0; x < width.kernel; ++x) {
      const TapProduct tap{y,
                           x,
                           0,
                           shape.channels,
                           outputsInImage(height, y),
                           outputsInImage(width, x)};
      if (!whole && tap.lines == allOutputs(height) &&
          tap.columns == allOutputs(width))
        whole = tap;
      else if (tap.lines.count() > 0 && tap.columns.count() > 0)
        others.push_back(tap);
    }
  std::vector<TapProduct> products;
  if (!whole)
    return products;
  auto addStretches = [&](const TapProduct &tap, int64_t count) {
    const Partition stretches(tap.depth, count, 1);
    for (int64_t i = 0; i < stretches.count(); ++i) {
      products.push_back(tap);
      products.back().channel = stretches.begin(i);
      products.back().depth = stretches.size(i);
    }
  };
  const int64_t count = ceilDiv(shape.channels, mostStretch);
  addStretches(*whole, std::max<int64_t>(count, 2));
  const TapProduct last = products.back();
  products.pop_back();
  for (const TapProduct &tap : others)
    addStretches(tap, count);
  products.push_back(last);
  return products;
}

class FloatTapsCall : public LibraryCall {
public:
  /// `filter` is {filters, channels, taps}, and is read now.
  FloatTapsCall(OneDnnContext &context, const sinter_command &command,
                const ConvShape &shape, std::vector<TapProduct> products,
                const float *filter)
      : command_(command), shape_(shape), y_(shape_.dims[0]),
        x_(shape_.dims[1]), products_(std::move(products)),
        postOps_(command.conv.params->postOps, command.conv.params->numPostOps),
        panels_(shape.filters, ceilDiv(shape.filters, maxPanelColumns),
                lineColumns) {
    filter_ = context.packed.make(
        static_cast<uint64_t>(4 * wholeLines(shape.filters) * depth()),
        [&](uint8_t *bytes) {
          pack(filter, reinterpret_cast<float *>(bytes));
        });
  }

  uint64_t sharedBytes() const override { return 0; }
  uint64_t perWorkerBytes() const override { return 0; }
  Status bind(const Scratch &, int) override { return {}; }

  /// A task is a panel of filters for some lines of the result.
  Status run(void *const *buffers, const CallContext &context) override {
    const int64_t lines = shape_.batch * y_.out;
    const Partition groups(lines, ceilDiv(context.threads, panels_.count()), 1);
    context.parallelFor(groups.count() * panels_.count(), 1,
                        [&](int, int64_t begin, int64_t end) {
                          for (; begin < end; ++begin) {
                            const int64_t group = begin / panels_.count(),
                                          first = groups.begin(group);
                            runPanel(buffers, begin % panels_.count(), first,
                                     first + groups.size(group));
                          }
                        });
    return {};
  }

  std::string description() const override {
    return "conv of fp32 by " + std::string(nameOf(floatUnit())) +
           " tap by tap, " +
           std::to_string(shape_.batch * shape_.outputPoints()) + "x" +
           std::to_string(shape_.filters) + "x" +
           std::to_string(shape_.filterElements() / shape_.filters) +
           ", filter packed at load";
  }

private:
  /// Of all products.
  int64_t depth() const {
    int64_t sum = 0;
    for (const TapProduct &product : products_)
      sum += product.depth;
    return sum;
  }
  void pack(const float *filter, float *to) const {
    const int64_t taps = y_.kernel * x_.kernel,
                  filterStride = shape_.channels * taps;
    for (int64_t panel = 0; panel < panels_.count(); ++panel)
      for (const TapProduct &product : products_) {
        const int64_t columns = panels_.size(panel),
                      stride = wholeLines(columns);
        std::memset(to, 0, static_cast<size_t>(4 * product.depth * stride));
        copyBlock({to, product.depth, columns, stride, 1},
                  filter + panels_.begin(panel) * filterStride +
                      product.channel * taps + product.y * x_.kernel +
                      product.x,
                  taps, filterStride);
        to += product.depth * stride;
      }
  }
  const float *packed() const {
    return reinterpret_cast<const float *>(filter_.get());
  }

  /// Lines [first, last) of the results of all images.
  void runPanel(void *const *buffers, int64_t panel, int64_t first,
                int64_t last) const {
    const int64_t columns = panels_.size(panel), width = wholeLines(columns);
    const float *block = packed() + panels_.begin(panel) * depth(),
                *const end = packed() + wholeLines(shape_.filters) * depth();
    for (size_t i = 0; i < products_.size(); ++i) {
      const TapProduct &product = products_[i];
      const int64_t elements = product.depth * width;
      FloatTile tile{};
      tile.depth = product.depth;
      tile.panel = block;
      tile.panelStride = width;
      tile.columns = columns;
      tile.adds = i > 0;
      block += elements;
      // The next block may be of another width: then it is fetched in part.
      PanelFetch fetch(
          piecesOf(reinterpret_cast<const uint8_t *>(block), 1, 0,
                   std::min(elements, end - block), 1, sizeof(float)),
          ceilDiv(last - first, y_.out) * fetchSteps(floatUnit(), tile.depth) *
              tilesOfImage(product, columns));
      for (int64_t line = first; line < last;) {
        const int64_t image = line / y_.out, ofImage = image * y_.out,
                      lines = std::min(last - ofImage, y_.out);
        multiply(buffers, product, i + 1 == products_.size(), image,
                 {std::max(line - ofImage, product.lines.begin),
                  std::min(lines, product.lines.end)},
                 panels_.begin(panel), tile, fetch);
        line = ofImage + lines;
      }
    }
  }

  /// Whether points of several lines are one stride apart in the image.
  bool joinsLines(const TapProduct &product) const {
    return product.columns == allOutputs(x_) &&
           y_.stride * x_.stored == x_.out * x_.stride;
  }
  int64_t tilesOfImage(const TapProduct &product, int64_t columns) const {
    const int64_t lines = product.lines.count(),
                  points = product.columns.count(),
                  most = tileRows(floatUnit(), columns);
    return joinsLines(product) ? ceilDiv(lines * points, most)
                               : lines * ceilDiv(points, most);
  }

  void multiply(void *const *buffers, const TapProduct &product, bool isLast,
                int64_t image, OutputRange lines, int64_t firstFilter,
                FloatTile &tile, PanelFetch &fetch) const {
    const bool joins = joinsLines(product);
    const int64_t step = joins ? std::max<int64_t>(lines.count(), 1) : 1,
                  points = step * product.columns.count();
    const auto *input = static_cast<const float *>(buffers[0]) +
                        image * shape_.inputPoints() * shape_.channels;
    tile.aStride = x_.stride * shape_.channels;
    tile.resultStride = shape_.filters;
    tile.numPostOps = isLast ? postOps_.size() : 0;
    std::array<TilePostOp, SINTER_MAX_POST_OPS> steps;
    tile.postOps = steps.data();
    const Partition tiles(
        points, ceilDiv(points, tileRows(floatUnit(), tile.columns)), 1);
    for (int64_t line = lines.begin; line < lines.end; line += step)
      for (int64_t i = 0; i < tiles.count(); ++i) {
        const int64_t column = product.columns.begin + tiles.begin(i),
                      imageLine = line * y_.stride - y_.padLow +
                                  product.y * y_.dilation,
                      imageColumn = column * x_.stride - x_.padLow +
                                    product.x * x_.dilation;
        tile.a = input +
                 (imageLine * x_.stored + imageColumn) * shape_.channels +
                 product.channel;
        tile.rows = tiles.size(i);
        const int64_t place =
            (image * shape_.outputPoints() + line * x_.out + column) *
                shape_.filters +
            firstFilter;
        tile.result =
            static_cast<float *>(buffers[command_.numSlices - 1]) + place;
        for (size_t op = 0; op < tile.numPostOps; ++op)
          steps[op] = postOp(buffers, postOps_[op], place, firstFilter);
        multiplyTile(floatUnit(), tile, fetch);
      }
  }

  /// `place`: of the first element of the tile in the result.
  TilePostOp postOp(void *const *buffers, const sinter_post_op &op,
                    int64_t place, int64_t filter) const {
    if (!readsOperand(op))
      return {op, nullptr, 0, 0};
    const auto *operand = static_cast<const float *>(buffers[op.slice]);
    return op.kind == SINTER_POST_BIAS
               ? TilePostOp{op, operand + filter, 0, 1}
               : TilePostOp{op, operand + place, shape_.filters, 1};
  }

  const sinter_command &command_;
  const ConvShape shape_;
  const ConvDim &y_, &x_;
  const std::vector<TapProduct> products_;
  const std::span<const sinter_post_op> postOps_;
  const Partition panels_; // of the filters
  PackedBytes filter_;     // panel by panel, product by product
};

} // namespace

LibraryCallResult sinter::cpu::prepareFloatTaps(OneDnnContext &context,
                                                const sinter_command &command,
                                                const uint8_t *constants) {
  const sinter_conv &params = *command.conv.params;
  const float *filter = constantAddress(command.slices[1], constants);
  const std::span ops(params.postOps, params.numPostOps);
  const sinter_slice &result = command.slices[command.numSlices - 1];
  if (!filter || floatUnit() != FloatUnit::Fma16 ||
      !isForwardImageConv(params) || params.groups != 1 ||
      !std::all_of(ops.begin(), ops.end(), [&](const sinter_post_op &op) {
        return isTilePostOp(op.kind) &&
               !(readsOperand(op) &&
                 overlaps(command.slices[op.slice], result));
      }))
    return std::unique_ptr<LibraryCall>();
  const ConvShape shape(params);
  if (shape.cropped() || shape.emptySum() || shape.channels < leastDepth ||
      shape.filters < maxPanelColumns ||
      shape.batch * shape.outputPoints() > mostPoints ||
      shape.filterElements() < leastFilterElements)
    return std::unique_ptr<LibraryCall>();
  std::vector<TapProduct> products = productsOf(shape);
  if (products.empty())
    return std::unique_ptr<LibraryCall>();
  return std::unique_ptr<LibraryCall>(std::make_unique<FloatTapsCall>(
      context, command, shape, std::move(products), filter));
}
