//===- WinogradConv.cpp - 3x3 convolutions by Winograd's algorithms -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// For some tiles at a time: their inputs are transformed, each of the points of
// a tile becomes one product of {tiles x channels} with the transformed filter,
// and the products are transformed to the result. So that these stay in the
// caches, a large image is computed in groups of tiles. The sums of a tile do
// not depend on the other tiles of its group.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/ConvPlan.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/FloatPanels.h"
#include "backends/cpu/device/PostOps.h"
#include "backends/cpu/device/WinogradForm.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

constexpr int64_t floatBytes = 4;

/// The tiles of all images.
struct Tiling {
  Tiling(const ConvShape &shape, WinogradForm form)
      : form(form), rows(ceilDiv(shape.dims[0].out, form.tile())),
        columns(ceilDiv(shape.dims[1].out, form.tile())),
        count(shape.batch * rows * columns) {}

  WinogradForm form;
  int64_t rows, columns; // of an image
  int64_t count;
};

/// The estimated time of a convolution, in operations of a direct one.
double costOf(const ConvShape &shape, const Tiling &tiling) {
  // Measured: the operations that take as long as an element of a transform,
  // with its way through the caches, and as a byte from memory.
  constexpr double perElement = 45, perByte = 10;
  const auto points = static_cast<double>(tiling.form.points()),
             tiles = static_cast<double>(tiling.count),
             channels = static_cast<double>(shape.channels),
             filters = static_cast<double>(shape.filters);
  constexpr double window = 9;
  return points * tiles *
             (2 * channels * filters + perElement * (channels + filters)) +
         (points - window) * channels * filters * floatBytes * perByte;
}

/// The fewest rows, columns and products of a sum that are worth a product.
constexpr int64_t fewest = 16;

/// The best algorithm; none if a direct convolution is about as fast. It
/// depends on the shape alone, so that the bits do.
std::optional<Tiling> chooseTiling(const ConvShape &shape) {
  constexpr double mostTime = 0.9; // that is worth another rounding
  if (shape.channels < fewest || shape.filters < fewest)
    return std::nullopt;
  std::optional<Tiling> best;
  double least = mostTime * shape.flops();
  for (int64_t tile : {4, 2}) {
    const Tiling tiling(shape, WinogradForm(tile));
    const double cost = costOf(shape, tiling);
    if (tiling.count < fewest || cost >= least)
      continue;
    least = cost;
    best.emplace(tiling);
  }
  return best;
}

/// The groups of tiles, of which each takes at most a half of the workspace; 0
/// if that is not enough.
int64_t groupsOf(const ConvShape &shape, const Tiling &tiling,
                 uint64_t workspaceBytes) {
  // Of the transformed input and the products; and the fewest tiles for which
  // the filters are worth reading.
  constexpr int64_t bytes = 2 << 20, leastTiles = 96;
  const int64_t ofTile =
      floatBytes * tiling.form.points() * (shape.channels + shape.filters);
  const int64_t tiles =
      std::min(std::max(leastTiles, bytes / ofTile),
               static_cast<int64_t>(workspaceBytes / 2) / ofTile);
  return tiles < fewest ? 0 : ceilDiv(tiling.count, tiles);
}

class WinogradCall : public LibraryCall {
public:
  /// Computes the tiles in `groups` groups.
  WinogradCall(const sinter_command &command, const ConvShape &shape,
               const Tiling &tiling, int64_t groups)
      : conv_(command), shape_(shape), tiling_(tiling), form_(tiling.form),
        groups_(groups), tilesOfGroup_(ceilDiv(tiling.count, groups_)),
        zeros_(static_cast<size_t>(shape.channels)),
        postOps_(command.conv.params->postOps, command.conv.params->numPostOps),
        inputStride_(strideOf(shape.channels)),
        productStride_(strideOf(shape.filters)) {
    readsResultShape_ =
        std::any_of(postOps_.begin(), postOps_.end(), readsResultShape);
    params_.dtype = params_.outDtype = SINTER_F32;
    params_.batchRank = 1;
    params_.batch[0] = form_.points();
    params_.m = tilesOfGroup_;
    params_.k = params_.aStrideM = shape.channels;
    params_.n = params_.bStrideK = params_.cStrideM = shape.filters;
    params_.aStrideK = params_.bStrideN = params_.cStrideN = 1;
    params_.aBatchStrides[0] = inputStride_;
    params_.bBatchStrides[0] = shape.channels * shape.filters;
    params_.cBatchStrides[0] = productStride_;
    product_.kind = SINTER_CMD_MATMUL;
    product_.matmul = {&params_, SINTER_BY_LIBRARY, 0};
    slices_[0] = {SINTER_SPACE_ARENA, 0, 0, inputBytes()};
    slices_[1] = {SINTER_SPACE_CONSTANT, 0, 0,
                  static_cast<uint64_t>(floatBytes * form_.points() *
                                        params_.bBatchStrides[0])};
    slices_[2] = {SINTER_SPACE_ARENA, 0, inputBytes(), productBytes()};
    product_.slices = slices_.data();
    product_.numSlices = slices_.size();
    product_.numReads = 2;
  }

  /// Null in the result if the products cannot be computed.
  LibraryCallResult prepareProduct(OneDnnContext &context,
                                   const float *filter) {
    const std::vector<float> transformed =
        form_.filters(filter, shape_.channels, shape_.filters);
    return prepareFloatProduct(
        context, product_,
        reinterpret_cast<const uint8_t *>(transformed.data()));
  }
  void take(std::unique_ptr<LibraryCall> products) {
    products_ = std::move(products);
  }

  uint64_t sharedBytes() const override {
    return inputBytes() + productBytes() + products_->sharedBytes();
  }
  uint64_t perWorkerBytes() const override {
    return products_->perWorkerBytes();
  }
  Status bind(const Scratch &scratch, int threads) override {
    scratch_ = scratch;
    Scratch own = scratch;
    own.shared += inputBytes() + productBytes();
    return products_->bind(own, threads);
  }

  Status run(void *const *buffers, const CallContext &context) override {
    for (int64_t group = 0; group < groups_; ++group) {
      const int64_t first = group * tilesOfGroup_,
                    count = std::min(tilesOfGroup_, tiling_.count - first);
      context.parallelFor(count, grainOf(shape_.channels),
                          [&](int, int64_t begin, int64_t end) {
                            for (int64_t i = begin; i < end; ++i)
                              transformInput(buffers, first + i, i);
                          });
      void *const operands[] = {input(), nullptr, products()};
      SINTER_RETURN_IF_ERROR(products_->run(operands, context));
      context.parallelFor(count, grainOf(shape_.filters),
                          [&](int, int64_t begin, int64_t end) {
                            for (int64_t i = begin; i < end; ++i)
                              transformResult(buffers, first + i, i);
                          });
    }
    return {};
  }

  std::string description() const override {
    const std::string tile = std::to_string(form_.tile());
    return "conv by Winograd's F(" + tile + "x" + tile + ", 3x3), " +
           (groups_ == 1 ? "" : std::to_string(groups_) + " groups of ") +
           products_->description();
  }

private:
  /// The elements of one point of all tiles, and a line more: points that were
  /// a multiple of a page apart would share a few places in the caches.
  int64_t strideOf(int64_t channels) const {
    constexpr int64_t line = 16;
    return ceilDiv(tilesOfGroup_ * channels, line) * line + line;
  }
  uint64_t inputBytes() const {
    return static_cast<uint64_t>(floatBytes * form_.points() * inputStride_);
  }
  uint64_t productBytes() const {
    return static_cast<uint64_t>(floatBytes * form_.points() * productStride_);
  }
  float *input() const { return reinterpret_cast<float *>(scratch_.shared); }
  float *products() const {
    return reinterpret_cast<float *>(scratch_.shared + inputBytes());
  }
  /// The fewest tiles that are worth another thread.
  int64_t grainOf(int64_t channels) const {
    constexpr int64_t elements = 64 << 10;
    return std::max<int64_t>(1, elements / (form_.points() * channels));
  }

  /// The image of a tile and its first result.
  struct Place {
    int64_t image, row, column;
  };
  Place placeOf(int64_t tile) const {
    const int64_t ofImage = tiling_.rows * tiling_.columns,
                  inImage = tile % ofImage;
    return {tile / ofImage, inImage / tiling_.columns * form_.tile(),
            inImage % tiling_.columns * form_.tile()};
  }

  /// Tile `tile`, which is number `index` of its group.
  void transformInput(void *const *buffers, int64_t tile, int64_t index) const {
    const Place place = placeOf(tile);
    const ConvDim &y = shape_.dims[0], &x = shape_.dims[1];
    const auto *image = static_cast<const float *>(buffers[0]) +
                        place.image * y.in * x.in * shape_.channels;
    std::array<const float *, WinogradForm::mostPoints> points;
    size_t i = 0;
    for (int64_t dy = 0; dy < form_.side(); ++dy) {
      const int64_t row = place.row + dy - y.padLow;
      for (int64_t dx = 0; dx < form_.side(); ++dx) {
        const int64_t column = place.column + dx - x.padLow;
        points[i++] = row < 0 || row >= y.in || column < 0 || column >= x.in
                          ? zeros_.data()
                          : image + (row * x.in + column) * shape_.channels;
      }
    }
    form_.transformInput(points.data(), shape_.channels,
                         input() + index * shape_.channels, inputStride_);
  }

  void transformResult(void *const *buffers, int64_t tile,
                       int64_t index) const {
    constexpr int64_t most = 64; // filters at once, in the cache of level 1
    alignas(64) float results[WinogradForm::mostResults * most];
    const Place place = placeOf(tile);
    const ConvDim &y = shape_.dims[0], &x = shape_.dims[1];
    const int64_t rows = std::min(form_.tile(), y.out - place.row),
                  columns = std::min(form_.tile(), x.out - place.column),
                  lineStride = x.out * shape_.filters,
                  offset = ((place.image * y.out + place.row) * x.out +
                            place.column) *
                           shape_.filters;
    auto *result = static_cast<float *>(buffers[conv_.numSlices - 1]);
    for (int64_t first = 0; first < shape_.filters; first += most) {
      const int64_t channels = std::min(most, shape_.filters - first);
      form_.transformResult(products() + index * shape_.filters + first,
                            productStride_, channels, results);
      if (!readsResultShape_)
        finish(buffers,
               {results, form_.tile() * form_.tile(), channels, channels, 1},
               first, 0);
      for (int64_t row = 0; row < rows; ++row) {
        const Block line{results + row * form_.tile() * channels, columns,
                         channels, channels, 1};
        const int64_t at = offset + row * lineStride + first;
        if (readsResultShape_)
          finish(buffers, line, first, at);
        copyBlock({result + at, columns, channels, shape_.filters, 1},
                  line.data, channels, 1);
      }
    }
  }

  /// Applies the post-ops to `block`, whose first column is filter `filter` and
  /// whose first element is `offset` of the result.
  void finish(void *const *buffers, const Block &block, int64_t filter,
              int64_t offset) const {
    std::array<PostOpOperand, SINTER_MAX_POST_OPS> operands;
    for (size_t i = 0; i < postOps_.size(); ++i) {
      const sinter_post_op &op = postOps_[i];
      if (!readsOperand(op))
        continue;
      const auto *operand = static_cast<const float *>(buffers[op.slice]);
      operands[i] = op.kind == SINTER_POST_BIAS
                        ? PostOpOperand{operand + filter, 0, 1}
                        : PostOpOperand{operand + offset, shape_.filters, 1};
    }
    applyPostOps(postOps_, block, operands.data());
  }

  const sinter_command &conv_;
  const ConvShape shape_;
  const Tiling tiling_;
  const WinogradForm form_;
  const int64_t groups_, tilesOfGroup_;
  const std::vector<float> zeros_;
  const std::span<const sinter_post_op> postOps_;
  bool readsResultShape_;
  /// Elements between points in the transformed input and in the products.
  const int64_t inputStride_, productStride_;
  sinter_matmul params_{};
  std::array<sinter_slice, 3> slices_{};
  sinter_command product_{};
  std::unique_ptr<LibraryCall> products_;
  Scratch scratch_;
};

/// Whether the algorithms are for such a convolution.
bool isWinogradWindow(const sinter_conv &params) {
  if (!isForwardImageConv(params) || params.groups != 1)
    return false;
  for (int i = 0; i < 2; ++i)
    if (params.kernel[i] != 3 || params.strides[i] != 1 ||
        params.dilations[i] != 1)
      return false;
  return true;
}

} // namespace

LibraryCallResult
sinter::cpu::prepareWinogradConv(OneDnnContext &context,
                                 const sinter_command &command,
                                 const uint8_t *constants) {
  const sinter_conv &params = *command.conv.params;
  const float *filter = constantAddress(command.slices[1], constants);
  if (!filter || floatUnit() == FloatUnit::None || !isWinogradWindow(params))
    return std::unique_ptr<LibraryCall>();
  const ConvShape shape(params);
  if (shape.cropped() || shape.emptySum())
    return std::unique_ptr<LibraryCall>();
  const std::optional<Tiling> tiling = chooseTiling(shape);
  const int64_t groups =
      tiling ? groupsOf(shape, *tiling, context.workspaceBytes) : 0;
  if (!groups)
    return std::unique_ptr<LibraryCall>();
  auto call = std::make_unique<WinogradCall>(command, shape, *tiling, groups);
  LibraryCallResult product = call->prepareProduct(context, filter);
  if (!product.ok() || !*product)
    return product;
  call->take(std::move(*product));
  if (call->sharedBytes() + call->perWorkerBytes() > context.workspaceBytes)
    return std::unique_ptr<LibraryCall>();
  return std::unique_ptr<LibraryCall>(std::move(call));
}
