//===- BfloatWindow.cpp - bf16 convolutions in panels ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Forward convolutions of two dimensions on dense channels-last activations, on
// CPUs whose unit for bf16 is faster than fp32. The product of each point of
// the window is one part of the depth, so nothing is gathered: the rows of a
// block are adjacent points of the image, or of a copy with its padding. With
// strides of 1 a block runs on over the end of a line; the points in between
// are computed and dropped. With a window of one point and strides, the copy
// has only the points that are read.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/BfloatCall.h"
#include "backends/cpu/device/BfloatUnit.h"
#include "backends/cpu/device/ConvPlan.h"
#include "backends/cpu/device/OneDnnLibrary.h"
#include "backends/cpu/device/PostOps.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

/// How the rows of A lie in an image or in its copy.
struct WindowPlan {
  explicit WindowPlan(const ConvShape &shape);

  bool isCopied;
  int64_t channels; // of a point of the image or copy
  /// The copy has input points `stride` apart; its first line and column are
  /// padding of `padRows` and `padColumns`.
  int64_t copyRows, copyColumns, copyStride[2], padRows, padColumns;
  /// Steps from a row of A to the next, and between lines of the result, in
  /// points.
  int64_t pointStep, lineStep;
  /// The points of a line: those of the result, and with blocks that run over
  /// the end of a line those to the next line.
  int64_t linePoints;
  bool runsOn;
  int64_t blocksOfLine; // unless it runs on
  int64_t blocks;
};

WindowPlan::WindowPlan(const ConvShape &shape) {
  const ConvDim &y = shape.dims[0], &x = shape.dims[1];
  const bool isPoint = y.kernel == 1 && x.kernel == 1;
  channels = paddedDepth(shape.channels);
  const bool hasPads = y.padLow || y.padHigh || x.padLow || x.padHigh;
  const bool hasStrides = y.stride > 1 || x.stride > 1;
  isCopied = hasPads || (isPoint && hasStrides) || channels != shape.channels;
  padRows = y.padLow;
  padColumns = x.padLow;
  copyStride[0] = copyStride[1] = 1;
  copyRows = y.padLow + y.in + y.padHigh;
  copyColumns = x.padLow + x.in + x.padHigh;
  int64_t strides[2] = {y.stride, x.stride};
  if (isPoint && hasStrides) {
    copyStride[0] = std::exchange(strides[0], 1);
    copyStride[1] = std::exchange(strides[1], 1);
    copyRows = y.out;
    copyColumns = x.out;
  }
  pointStep = strides[1];
  lineStep = strides[0] * copyColumns;
  runsOn = strides[0] == 1 && strides[1] == 1;
  linePoints = runsOn ? copyColumns : x.out;
  blocksOfLine = (x.out + blockRows - 1) / blockRows;
  // The points after the last line's are out of reach.
  const int64_t points = (y.out - 1) * linePoints + x.out;
  blocks = runsOn ? (points + blockRows - 1) / blockRows : y.out * blocksOfLine;
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
                   sizesOf(shape, WindowPlan(shape))),
        shape_(shape), plan_(shape) {
    if (constantB)
      packConstantB(context, constantB);
  }

  std::string description() const override {
    return "conv of bf16 by " + std::string(nameOf(bfloatUnit())) + ", " +
           std::to_string(plan_.blocks) + " blocks of " +
           std::to_string(shape_.batch) + " images" +
           (hasConstantB() ? ", filter packed at load"
                           : ", filter packed in each run") +
           (plan_.isCopied ? ", input copied" : "");
  }

private:
  int64_t outputColumns() const { return shape_.dims[1].out; }

  static Sizes sizesOf(const ConvShape &shape, const WindowPlan &plan) {
    const ConvDim &y = shape.dims[0], &x = shape.dims[1];
    std::vector<int64_t> parts;
    for (int64_t i = 0; i < y.kernel; ++i)
      for (int64_t j = 0; j < x.kernel; ++j)
        parts.push_back((i * y.dilation * plan.copyColumns + j * x.dilation) *
                        plan.channels);
    return {shape.batch,
            /*sharesB=*/true,
            shape.filters,
            plan.blocks,
            2 * plan.channels * plan.pointStep,
            std::move(parts),
            plan.channels,
            plan.isCopied ? plan.copyRows : 0,
            plan.isCopied ? 2 * plan.copyRows * plan.copyColumns * plan.channels
                          : 0};
  }

  const Bfloat *operandA(void *const *buffers, int64_t image) const override {
    return static_cast<const Bfloat *>(buffers[0]) +
           image * shape_.inputPoints() * shape_.channels;
  }
  const Bfloat *operandB(void *const *buffers, int64_t) const override {
    return static_cast<const Bfloat *>(buffers[1]);
  }
  void pack(const Bfloat *filter, int64_t first, int64_t columns,
            uint8_t *panel) const override {
    const int64_t points = shape_.dims[0].kernel * shape_.dims[1].kernel,
                  filterStride = shape_.channels * points;
    for (int64_t point = 0; point < points; ++point)
      packPanel({filter + first * filterStride + point, points, filterStride},
                shape_.channels, columns,
                panel + point * panelBytes(plan_.channels));
  }
  /// A line of the image with its padding, or the points of it that are read.
  void copy(const Bfloat *image, int64_t line, Bfloat *copy) const override {
    const int64_t channels = shape_.channels, padded = plan_.channels;
    Bfloat *to = copy + line * plan_.copyColumns * padded;
    const ConvDim &y = shape_.dims[0], &x = shape_.dims[1];
    auto zero = [&](int64_t points) {
      to = std::fill_n(to, points * padded, Bfloat());
    };
    const int64_t row = line * plan_.copyStride[0] - plan_.padRows;
    if (row < 0 || row >= y.in)
      return zero(plan_.copyColumns);
    const Bfloat *from = image + row * x.in * channels;
    const int64_t step = plan_.copyStride[1];
    // Adjacent points with all their channels are one stretch of memory.
    const bool isDense = step == 1 && padded == channels;
    int64_t column = -plan_.padColumns;
    for (int64_t i = 0; i < plan_.copyColumns;) {
      if (column < 0 || column >= x.in) {
        zero(1);
        ++i;
        column += step;
        continue;
      }
      const int64_t points =
          isDense ? std::min(x.in - column, plan_.copyColumns - i) : 1;
      to = std::copy_n(from + column * channels, points * channels, to);
      to = std::fill_n(to, points * (padded - channels), Bfloat());
      i += points;
      column += points * step;
    }
  }
  void setBlock(int64_t block, int64_t image, BfloatRows &rows,
                BlockPlace &place) const override {
    const int64_t channels = plan_.channels, filters = shape_.filters,
                  columns = outputColumns(),
                  offset = image * shape_.outputPoints() * filters +
                           place.firstColumn;
    rows.rowStride = plan_.pointStep * channels;
    if (!plan_.runsOn) {
      const int64_t line = block / plan_.blocksOfLine,
                    first = block % plan_.blocksOfLine * blockRows;
      rows.data += (line * plan_.lineStep + first * plan_.pointStep) * channels;
      rows.count = place.count = std::min(blockRows, columns - first);
      for (int64_t i = 0; i < place.count; ++i)
        place.rows[static_cast<size_t>(i)] =
            offset + (line * columns + first + i) * filters;
      return;
    }
    const int64_t first = block * blockRows,
                  last = (shape_.dims[0].out - 1) * plan_.linePoints + columns;
    rows.data += first * channels;
    rows.count = place.count = std::min(blockRows, last - first);
    int64_t line = first / plan_.linePoints, column = first % plan_.linePoints;
    for (int64_t i = 0; i < place.count; ++i) {
      place.rows[static_cast<size_t>(i)] =
          column < columns ? offset + (line * columns + column) * filters
                           : BlockPlace::dropped;
      if (++column == plan_.linePoints) {
        column = 0;
        ++line;
      }
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
  // Few channels would be mostly padding.
  if (!fitsBfloatStore(command) || params.groups != 1 ||
      paddedDepth(params.channels) > 2 * params.channels)
    return std::unique_ptr<LibraryCall>();
  const float *filter = constantAddress(command.slices[1], constants);
  return std::unique_ptr<LibraryCall>(std::make_unique<BfloatWindowCall>(
      context, command, shape, params.outDtype ? params.outDtype : params.dtype,
      reinterpret_cast<const Bfloat *>(filter)));
}
