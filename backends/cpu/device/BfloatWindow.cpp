//===- BfloatWindow.cpp - bf16 convolutions in panels ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Forward convolutions of two dimensions on dense channels-last activations, on
// CPUs whose unit for bf16 is faster than fp32. The product of each point of
// the window is one part of the depth, so nothing is gathered: the rows of a
// block are adjacent points of the image, or of a copy with its padding. A
// stride becomes 1 in the copy, which has one plane for each remainder of
// coordinates that windows read. A block runs on over the end of a line; the
// points in between are computed and dropped.
//
// With few channels (an image has three), a whole line of the window is one
// part: its points are adjacent in memory. The copy pads them to 4, 8 or 16
// channels and keeps the columns together, and a row of A begins a stride of
// columns after the one before.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/BfloatCall.h"
#include "backends/cpu/device/BfloatUnit.h"
#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/ConvPlan.h"
#include "backends/cpu/device/OneDnnLibrary.h"
#include "backends/cpu/device/PostOps.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

/// The most columns of a window that are one part.
constexpr int64_t maxJoinedColumns = 16;

/// One dimension of the planes.
struct PlaneDim {
  explicit PlaneDim(const ConvDim &dim);

  /// The coordinate in the image, which may be outside, of point `point` of
  /// plane `plane`.
  int64_t inImage(int64_t plane, int64_t point) const {
    return point * stride + remainders[static_cast<size_t>(plane)] - padLow;
  }

  int64_t stride, padLow;
  std::vector<int64_t> remainders; // by plane
  struct Tap {
    int64_t plane, shift; // of the window's point
  };
  std::vector<Tap> taps;
  int64_t points; // of a plane
};

PlaneDim::PlaneDim(const ConvDim &dim)
    : stride(dim.stride), padLow(dim.padLow), points(dim.out) {
  for (int64_t i = 0; i < dim.kernel; ++i) {
    const int64_t at = i * dim.dilation;
    auto found = std::find(remainders.begin(), remainders.end(), at % stride);
    taps.push_back({found - remainders.begin(), at / stride});
    if (found == remainders.end())
      remainders.push_back(at % stride);
    points = std::max(points, dim.out + at / stride);
  }
}

/// The layout of the rows of A, in the image or in its copy.
struct WindowPlan {
  explicit WindowPlan(const ConvShape &shape);

  int64_t planes() const {
    return static_cast<int64_t>(y.remainders.size() * x.remainders.size());
  }
  /// The elements in front of a point of the copy.
  int64_t offsetOf(int64_t yPlane, int64_t xPlane, int64_t row,
                   int64_t column) const {
    const int64_t plane =
        yPlane * static_cast<int64_t>(x.remainders.size()) + xPlane;
    return ((plane * y.points + row) * x.points + column) * elements;
  }

  PlaneDim y, x;
  int64_t channels;     // of a column of the image or copy
  bool joinsColumns;    // a line of the window is one part
  int64_t pointColumns; // columns of a point
  int64_t elements;     // of a point
  int64_t depth;        // of a part
  bool isCopied;
  int64_t rows; // of A
};

/// The dimension whose windows' lines are parts. A point has `stride` columns.
PlaneDim joined(const ConvDim &dim) {
  PlaneDim plane(dim);
  plane.remainders = {0};
  plane.taps = {{0, 0}};
  const int64_t columns = (dim.out - 1) * dim.stride + dim.kernel;
  plane.points = (columns + dim.stride - 1) / dim.stride;
  return plane;
}

/// Channels that are padded to less than a step of the unit.
int64_t fewChannels(int64_t channels) {
  return channels <= 4 ? 4 : channels <= 8 ? 8 : 16;
}

bool joinsColumnsOf(const ConvShape &shape) {
  const ConvDim &x = shape.dims[1];
  const int64_t depth = x.kernel * fewChannels(shape.channels);
  return shape.channels < 16 && x.dilation == 1 &&
         x.kernel <= maxJoinedColumns && paddedDepth(depth) == depth;
}

WindowPlan::WindowPlan(const ConvShape &shape)
    : y(shape.dims[0]), x(shape.dims[1]), channels(paddedDepth(shape.channels)),
      joinsColumns(joinsColumnsOf(shape)), pointColumns(1), elements(channels),
      depth(channels), isCopied(channels != shape.channels) {
  const ConvDim &dim = shape.dims[1];
  if (joinsColumns) {
    x = joined(dim);
    channels = fewChannels(shape.channels);
    pointColumns = dim.stride;
    elements = pointColumns * channels;
    depth = dim.kernel * channels;
    isCopied = true;
  }
  for (const ConvDim &each : shape.dims)
    isCopied |= each.padLow || each.padHigh || each.stride > 1;
  // The points after the last line's are out of reach.
  rows = (shape.dims[0].out - 1) * x.points + dim.out;
}

class BfloatWindowCall : public BfloatCall {
public:
  BfloatWindowCall(OneDnnContext &context, const sinter_command &command,
                   const ConvShape &shape, uint32_t outDtype,
                   const Bfloat *constantB)
      : BfloatCall(command,
                   BlockStore({command.conv.params->postOps,
                               command.conv.params->numPostOps},
                              outDtype, /*biasAlongRows=*/false),
                   sizesOf(shape, WindowPlan(shape)),
                   depthOf(WindowPlan(shape))),
        shape_(shape), plan_(shape) {
    if (constantB)
      packConstantB(context, reinterpret_cast<const uint8_t *>(constantB));
  }

  std::string description() const override {
    return "conv of bf16 by " + std::string(nameOf(bfloatUnit())) + ", " +
           std::to_string(plan_.rows) + " rows of " +
           std::to_string(shape_.batch) + " images" +
           (hasConstantB() ? ", filter packed at load"
                           : ", filter packed in each run") +
           (plan_.isCopied ? ", input copied" : "");
  }

private:
  static Depth depthOf(const WindowPlan &plan) {
    std::vector<int64_t> parts;
    for (const PlaneDim::Tap &row : plan.y.taps)
      for (const PlaneDim::Tap &column : plan.x.taps)
        parts.push_back(
            plan.offsetOf(row.plane, column.plane, row.shift, column.shift));
    return {std::move(parts), plan.depth};
  }
  static Sizes sizesOf(const ConvShape &shape, const WindowPlan &plan) {
    const auto yPlanes = static_cast<int64_t>(plan.y.remainders.size());
    return {shape.batch,
            /*sharesB=*/true,
            shape.filters,
            ceilDiv(plan.rows, blockRows),
            2 * plan.elements * plan.planes(),
            /*depth=*/0,
            /*panelBytes=*/0,
            plan.isCopied ? yPlanes * plan.y.points : 0,
            plan.isCopied ? 2 * plan.offsetOf(yPlanes, 0, 0, 0) : 0};
  }

  const uint8_t *operandA(void *const *buffers, int64_t image) const override {
    return static_cast<const uint8_t *>(buffers[0]) +
           2 * image * shape_.inputPoints() * shape_.channels;
  }
  const uint8_t *operandB(void *const *buffers, int64_t) const override {
    return static_cast<const uint8_t *>(buffers[1]);
  }
  void pack(const uint8_t *filter, int64_t first, int64_t columns,
            uint8_t *panel) const override {
    const int64_t points = shape_.dims[0].kernel * shape_.dims[1].kernel,
                  filterStride = shape_.channels * points;
    const BfloatMatrix filters{reinterpret_cast<const Bfloat *>(filter) +
                                   first * filterStride,
                               points, filterStride};
    if (plan_.joinsColumns)
      return packLines(filters, columns, panel);
    for (int64_t point = 0; point < points; ++point)
      packPanel({filters.data + point, points, filterStride}, shape_.channels,
                columns, panel + point * panelBytes(plan_.depth));
  }
  /// Packs parts that are lines of the window. The rows of `filter` are
  /// channels, its columns filters.
  void packLines(const BfloatMatrix &filter, int64_t columns,
                 uint8_t *panel) const {
    const int64_t width = shape_.dims[1].kernel;
    Bfloat line[maxJoinedColumns * 16 * panelColumns];
    for (int64_t y = 0; y < shape_.dims[0].kernel; ++y) {
      std::fill_n(line, plan_.depth * panelColumns, Bfloat());
      for (int64_t x = 0; x < width; ++x)
        for (int64_t channel = 0; channel < shape_.channels; ++channel)
          for (int64_t i = 0; i < columns; ++i)
            line[(x * plan_.channels + channel) * panelColumns + i] =
                filter.data[channel * filter.rowStride + i * filter.colStride +
                            y * width + x];
      packPanel({line, panelColumns, 1}, plan_.depth, columns,
                panel + y * panelBytes(plan_.depth));
    }
  }
  /// A line of all planes of one remainder of rows.
  void copy(const uint8_t *image, int64_t line, uint8_t *copy) const override {
    const int64_t plane = line / plan_.y.points, row = line % plan_.y.points;
    for (size_t i = 0; i < plan_.x.remainders.size(); ++i)
      copyLine(reinterpret_cast<const Bfloat *>(image),
               plan_.y.inImage(plane, row), static_cast<int64_t>(i),
               reinterpret_cast<Bfloat *>(copy) +
                   plan_.offsetOf(plane, static_cast<int64_t>(i), row, 0));
  }
  /// Row `row` of the image, at the columns of `plane`.
  void copyLine(const Bfloat *image, int64_t row, int64_t plane,
                Bfloat *to) const {
    const int64_t channels = shape_.channels, padded = plan_.channels,
                  columns = plan_.x.points * plan_.pointColumns,
                  width = shape_.dims[1].in;
    auto zero = [&](int64_t count) {
      to = std::fill_n(to, count * padded, Bfloat());
    };
    if (row < 0 || row >= shape_.dims[0].in)
      return zero(columns);
    const Bfloat *from = image + row * width * channels;
    // Adjacent columns with all their channels are one stretch of memory.
    const bool isAdjacent = plan_.joinsColumns || plan_.x.stride == 1,
               isDense = isAdjacent && padded == channels;
    for (int64_t i = 0; i < columns;) {
      const int64_t column =
          isAdjacent ? i - plan_.x.padLow : plan_.x.inImage(plane, i);
      if (column < 0 || column >= width) {
        zero(1);
        ++i;
        continue;
      }
      const int64_t count = isDense ? std::min(width - column, columns - i) : 1;
      to = std::copy_n(from + column * channels, count * channels, to);
      to = std::fill_n(to, count * (padded - channels), Bfloat());
      i += count;
    }
  }
  void setBlock(int64_t block, int64_t image, BfloatRows &rows,
                BlockPlace &place) const override {
    const int64_t filters = shape_.filters, columns = shape_.dims[1].out,
                  points = plan_.x.points, first = block * blockRows;
    rows.rowStride = plan_.elements;
    rows.data += first * plan_.elements;
    rows.count = place.count = std::min(blockRows, plan_.rows - first);
    const int64_t line = first / points;
    int64_t column = first - line * points,
            offset = (image * shape_.outputPoints() + line * columns +
                      std::min(column, columns)) *
                         filters +
                     place.firstColumn;
    for (int64_t i = 0; i < place.count; ++i) {
      const bool isResult = column < columns;
      place.rows[static_cast<size_t>(i)] =
          isResult ? offset : BlockPlace::dropped;
      offset += isResult ? filters : 0;
      if (++column == points)
        column = 0;
    }
  }

  const ConvShape shape_;
  const WindowPlan plan_;
};

} // namespace

bool sinter::cpu::fitsBfloatStore(const sinter_command &command) {
  const sinter_conv &params = *command.conv.params;
  if (params.dtype != SINTER_BF16 || bfloatUnit() == Bf16Unit::Widened ||
      params.direction != SINTER_CONV_FORWARD || params.spatialRank != 2 ||
      params.layout != SINTER_CHANNELS_LAST)
    return false;
  const ConvShape shape(params);
  if (shape.batch == 0 || shape.filters == 0 || shape.outputPoints() == 0 ||
      shape.emptySum() || shape.cropped())
    return false;
  return !readsOther(command, {params.postOps, params.numPostOps});
}

LibraryCallResult
sinter::cpu::prepareBfloatWindow(OneDnnContext &context,
                                 const sinter_command &command,
                                 const uint8_t *constants) {
  const sinter_conv &params = *command.conv.params;
  const ConvShape shape(params);
  // Other windows of few channels would be mostly padding.
  if (!fitsBfloatStore(command) || params.groups != 1 ||
      (paddedDepth(params.channels) > 2 * params.channels &&
       !joinsColumnsOf(shape)))
    return std::unique_ptr<LibraryCall>();
  const float *filter = constantAddress(command.slices[1], constants);
  return std::unique_ptr<LibraryCall>(std::make_unique<BfloatWindowCall>(
      context, command, shape, params.outDtype ? params.outDtype : params.dtype,
      reinterpret_cast<const Bfloat *>(filter)));
}
