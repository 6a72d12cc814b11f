//===- BfloatWindow.cpp - bf16 convolutions in panels ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Forward convolutions of two dimensions on dense channels-last activations, on
// CPUs whose unit for bf16 is faster than fp32. WindowPlan.h says how they are
// products. Where a line of the window is one part, the copy pads the channels
// to 4, 8 or 16, or not at all if the line is one step of vdpbf16ps.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/BfloatCall.h"
#include "backends/cpu/device/BfloatUnit.h"
#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/PostOps.h"
#include "backends/cpu/device/WindowPlan.h"

#include <algorithm>
#include <optional>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

/// The most columns of a window that are one part.
constexpr int64_t maxJoinedColumns = 16;

/// Channels that are padded to less than a step of the unit.
int64_t fewChannels(int64_t channels) {
  return channels <= 4 ? 4 : channels <= 8 ? 8 : 16;
}

/// The form of a window of which a line is one part.
struct JoinedForm {
  int64_t channels; // of a column
  int64_t depth;    // of a part, an even number
  bool isOdd;
};

std::optional<JoinedForm> joinedForm(const ConvShape &shape) {
  const ConvDim &x = shape.dims[1];
  if (shape.channels >= 16 || x.dilation > 1 || x.kernel > maxJoinedColumns)
    return std::nullopt;
  // vdpbf16ps takes a line of any length.
  const int64_t exact = x.kernel * shape.channels, even = exact + exact % 2;
  if (bfloatUnit() == Bf16Unit::Dot && depthStep(even) == even)
    return JoinedForm{shape.channels, even, exact != even};
  const int64_t channels = fewChannels(shape.channels),
                depth = x.kernel * channels;
  return paddedDepth(depth) == depth
             ? std::optional(JoinedForm{channels, depth, false})
             : std::nullopt;
}

WindowForm formOf(const ConvShape &shape) {
  const int64_t depth = paddedDepth(shape.channels);
  WindowForm form{depth, /*joinsColumns=*/false, depth, /*elementBytes=*/2};
  if (std::optional<JoinedForm> joined = joinedForm(shape)) {
    form.channels = joined->channels;
    form.joinsColumns = true;
    form.depth = joined->depth;
  }
  if (bfloatUnit() == Bf16Unit::Dot) {
    form.takesOffsets = true;
    form.unitRows = dotRows;
  }
  return form;
}

class BfloatWindowCall : public BfloatCall {
public:
  BfloatWindowCall(OneDnnContext &context, const sinter_command &command,
                   const ConvShape &shape, const WindowPlan &plan,
                   uint32_t outDtype, const Bfloat *constantB)
      : BfloatCall(command,
                   BlockStore({command.conv.params->postOps,
                               command.conv.params->numPostOps},
                              outDtype, /*biasAlongRows=*/false),
                   sizesOf(shape, plan), depthOf(shape, plan)),
        shape_(shape), plan_(plan) {
    if (constantB)
      packConstantB(context, reinterpret_cast<const uint8_t *>(constantB));
  }

  std::string description() const override {
    return "conv of bf16 by " + std::string(nameOf(bfloatUnit())) + ", " +
           plan_.text(shape_.batch, hasConstantB());
  }

private:
  static Depth depthOf(const ConvShape &shape, const WindowPlan &plan) {
    const std::optional<JoinedForm> joined = joinedForm(shape);
    return {plan.parts, plan.depth, joined && joined->isOdd};
  }
  static Sizes sizesOf(const ConvShape &shape, const WindowPlan &plan) {
    return {shape.batch,
            /*sharesB=*/true,
            shape.filters,
            plan.blocks,
            2 * plan.elements * plan.planes(),
            /*depth=*/0,
            /*panelBytes=*/0,
            plan.copyLines(),
            2 * plan.copyElements()};
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
  void copy(const uint8_t *image, int64_t line, uint8_t *copy) const override {
    plan_.copyLine(reinterpret_cast<const Bfloat *>(image), line,
                   reinterpret_cast<Bfloat *>(copy));
  }
  void setBlock(int64_t block, int64_t image, BfloatRows &rows,
                BlockPlace &place) const override {
    if (plan_.skipsGaps) {
      plan_.placePoints(image, block, place, rows.offsets);
      rows.parts = plan_.regionOf(block).parts;
      rows.hasOffsets = true;
      rows.count = place.count;
      return;
    }
    plan_.placeRows(image, block, place);
    rows.rowStride = plan_.elements;
    rows.data += block * blockRows * plan_.elements;
    rows.count = place.count;
  }

  const ConvShape shape_;
  const WindowPlan plan_;
};

} // namespace

bool sinter::cpu::fitsBfloatStore(const sinter_command &command) {
  const sinter_conv &params = *command.conv.params;
  if (params.dtype != SINTER_BF16 || bfloatUnit() == Bf16Unit::Widened ||
      !isForwardImageConv(params))
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
  const ConvShape shape = ConvShape(params).withJoinedImages();
  // Other windows of few channels would be mostly padding.
  if (!fitsBfloatStore(command) || params.groups != 1 ||
      (paddedDepth(params.channels) > 2 * params.channels &&
       !joinedForm(shape)))
    return std::unique_ptr<LibraryCall>();
  const float *filter = constantAddress(command.slices[1], constants);
  return std::unique_ptr<LibraryCall>(std::make_unique<BfloatWindowCall>(
      context, command, shape, WindowPlan(shape, formOf(shape)),
      params.outDtype ? params.outDtype : params.dtype,
      reinterpret_cast<const Bfloat *>(filter)));
}
