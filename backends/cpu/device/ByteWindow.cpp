//===- ByteWindow.cpp - convolutions of 8-bit integers in panels ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Forward convolutions of two dimensions on dense channels-last activations.
// WindowPlan.h says how they are products. A part may end within a step of the
// unit: the elements behind it meet zeros of the panel, so the channels need no
// padding, only some bytes behind the copy.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ByteCall.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/WindowPlan.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

/// A line of the window is one part if that takes fewer steps than its points.
/// Products with padding are left out if they are 0, and if no sums of the
/// panel's columns correct them.
WindowPlan planOf(const ConvShape &shape, ByteUnit unit, ByteSigns signs,
                  int32_t padValue) {
  const int64_t channels = shape.channels, width = shape.dims[1].kernel,
                depth = paddedBytes(channels), line = width * channels;
  const bool joins =
      shape.dims[1].dilation == 1 && paddedBytes(line) < width * depth;
  WindowForm form{channels, joins, joins ? paddedBytes(line) : depth,
                  /*elementBytes=*/1, /*takesOffsets=*/unit != ByteUnit::Tiles};
  if (form.takesOffsets && !signs.a && signs.b && padValue == 0)
    form.unitRows = unitRows(unit);
  WindowPlan plan(shape, form);
  plan.isCopied |= depth != channels;
  return plan;
}

class ByteWindowCall : public ByteCall {
public:
  ByteWindowCall(OneDnnContext &context, const sinter_command &command,
                 const ConvShape &shape, const WindowPlan &plan, ByteUnit unit,
                 ByteSigns signs, const uint8_t *constantB)
      : ByteCall(command,
                 ByteStore({command.conv.params->postOps,
                            command.conv.params->numPostOps},
                           command.conv.params->outDtype, /*alongRows=*/false,
                           /*columnStride=*/1),
                 sizesOf(shape, plan), factorsOf(shape, plan, unit, signs)),
        shape_(shape), plan_(plan) {
    if (constantB)
      packConstantB(context, constantB);
  }

  std::string description() const override {
    return std::string("conv of 8 bits by ") + nameOf(unit()) + ", " +
           plan_.text(shape_.batch, hasConstantB());
  }

private:
  static Factors factorsOf(const ConvShape &shape, const WindowPlan &plan,
                           ByteUnit unit, ByteSigns signs) {
    return {unit,
            signs,
            plan.parts,
            plan.depth,
            shape.channels * (plan.joinsColumns ? shape.dims[1].kernel : 1),
            plan.skipsGaps};
  }
  static Sizes sizesOf(const ConvShape &shape, const WindowPlan &plan) {
    return {shape.batch,
            /*sharesB=*/true,
            shape.filters,
            plan.blocks,
            plan.elements * plan.planes(),
            /*depth=*/0,
            /*panelBytes=*/0,
            plan.copyLines(),
            plan.isCopied ? plan.copyElements() + plan.depth : 0};
  }

  const uint8_t *operandA(void *const *buffers, int64_t image) const override {
    return static_cast<const uint8_t *>(buffers[0]) +
           image * shape_.inputPoints() * shape_.channels;
  }
  const uint8_t *operandB(void *const *buffers, int64_t) const override {
    return static_cast<const uint8_t *>(buffers[1]);
  }
  void pack(const uint8_t *filter, int64_t first, int64_t columns,
            uint8_t *panel) const override {
    const int64_t height = shape_.dims[0].kernel, width = shape_.dims[1].kernel,
                  points = height * width, channels = shape_.channels,
                  filterStride = channels * points;
    std::fill_n(panel, bytePanelBytes(panelDepth()), uint8_t(0));
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x) {
        const int64_t row = plan_.joinsColumns ? y * plan_.depth + x * channels
                                               : (y * width + x) * plan_.depth;
        packBytePanel({filter + first * filterStride + y * width + x, points,
                       filterStride},
                      signs().b, channels, columns, row, panelDepth(), panel);
      }
  }
  void copy(const uint8_t *image, int64_t line, uint8_t *copy) const override {
    plan_.copyLine(image, line, copy,
                   static_cast<uint8_t>(command_.conv.params->padValue));
  }
  RowForm formOf(int64_t block) const override {
    const PlannedRegion &region = plan_.regionOf(block);
    return {region.rowsOf(block), region.parts};
  }
  void setBlock(const uint8_t *a, int64_t block, int64_t image, ByteBlock &rows,
                BlockPlace &place) const override {
    if (rows.hasOffsets) {
      plan_.placePoints(image, block, place, rows.offsets);
      rows.data = a;
      return;
    }
    plan_.placeRows(image, block, place);
    rows.rowStride = plan_.elements;
    rows.data = a + block * blockRows * plan_.elements;
  }

  const ConvShape shape_;
  const WindowPlan plan_;
};

} // namespace

bool sinter::cpu::isByteWindow(const sinter_conv &params) {
  if (!isForwardImageConv(params))
    return false;
  const ConvShape shape(params);
  return shape.batch != 0 && shape.filters != 0 && shape.outputPoints() != 0 &&
         !shape.emptySum() && !shape.cropped();
}

LibraryCallResult sinter::cpu::prepareByteWindow(OneDnnContext &context,
                                                 const sinter_command &command,
                                                 const uint8_t *constants) {
  const sinter_conv &params = *command.conv.params;
  std::optional<ByteSigns> signs = byteSigns(command);
  std::optional<ByteUnit> unit =
      signs && isByteWindow(params) && params.groups == 1
          ? unitOf(command, {params.postOps, params.numPostOps},
                   params.outDtype)
          : std::nullopt;
  if (!unit)
    return std::unique_ptr<LibraryCall>();
  const ConvShape shape = ConvShape(params).withJoinedImages();
  const float *filter = constantAddress(command.slices[1], constants);
  return std::unique_ptr<LibraryCall>(std::make_unique<ByteWindowCall>(
      context, command, shape, planOf(shape, *unit, *signs, params.padValue),
      *unit, *signs, reinterpret_cast<const uint8_t *>(filter)));
}
