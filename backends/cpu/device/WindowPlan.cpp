//===- WindowPlan.cpp - rows of convolutions without a gather -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/WindowPlan.h"
#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/EveryWidth.h"

using namespace sinter::cpu;

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

/// The dimension whose windows' lines are parts. A point has `stride` columns.
static PlaneDim joined(const ConvDim &dim) {
  PlaneDim plane(dim);
  plane.remainders = {0};
  plane.taps = {{0, 0}};
  const int64_t columns = (dim.out - 1) * dim.stride + dim.kernel;
  plane.points = (columns + dim.stride - 1) / dim.stride;
  return plane;
}

WindowPlan::WindowPlan(const ConvShape &shape, const WindowForm &form)
    : y(shape.dims[0]),
      x(form.joinsColumns ? joined(shape.dims[1]) : PlaneDim(shape.dims[1])),
      imageRows(shape.dims[0].in), imageColumns(shape.dims[1].in),
      imageChannels(shape.channels), outColumns(shape.dims[1].out),
      outPoints(shape.outputPoints()), filters(shape.filters),
      channels(form.channels), joinsColumns(form.joinsColumns),
      pointColumns(joinsColumns ? shape.dims[1].stride : 1),
      elements(pointColumns * channels), depth(form.depth),
      isCopied(joinsColumns || channels != shape.channels),
      skipsGaps(form.takesOffsets && x.points != outColumns) {
  for (const ConvDim &each : shape.dims)
    isCopied |= each.padLow || each.padHigh || each.stride > 1;
  // The points after the last line's are out of reach.
  rows =
      skipsGaps ? outPoints : (shape.dims[0].out - 1) * x.points + outColumns;
  for (const PlaneDim::Tap &row : y.taps)
    for (const PlaneDim::Tap &column : x.taps)
      parts.push_back(
          {offsetOf(row.plane, column.plane, row.shift, column.shift),
           static_cast<int64_t>(parts.size()) * panelColumns * depth *
               form.elementBytes});
  const bool leavesOutPadding = skipsGaps && form.unitRows.has_value();
  for (const WindowRegion &region :
       leavesOutPadding ? windowRegions(shape, joinsColumns, *form.unitRows)
                        : std::vector{wholeRegion(shape)}) {
    const int64_t ofRegion = skipsGaps ? region.points() : rows;
    regions.push_back({region, blocks, ofRegion, partsOf(region)});
    blocks += ceilDiv(ofRegion, blockRows);
  }
}

std::string WindowPlan::text(int64_t images, bool hasConstantFilter) const {
  return std::to_string(rows) + " rows of " + std::to_string(images) +
         " images, filter packed " +
         (hasConstantFilter ? "at load" : "in each run") +
         (isCopied ? ", input copied" : "") +
         (regions.size() > 1 ? ", padding left out" : "");
}

/// The parts with the taps of `region`.
std::vector<PanelPart> WindowPlan::partsOf(const WindowRegion &region) const {
  const TapRange columns = joinsColumns ? TapRange{0, 1} : region.x;
  std::vector<PanelPart> own;
  for (int64_t row = region.y.begin; row < region.y.end; ++row)
    for (int64_t column = columns.begin; column < columns.end; ++column)
      own.push_back(parts[static_cast<size_t>(row) * x.taps.size() +
                          static_cast<size_t>(column)]);
  return own;
}

int64_t WindowPlan::copyLines() const {
  return isCopied ? static_cast<int64_t>(y.remainders.size()) * y.points : 0;
}

int64_t WindowPlan::copyElements() const {
  return isCopied ? offsetOf(static_cast<int64_t>(y.remainders.size()), 0, 0, 0)
                  : 0;
}

SINTER_EVERY_WIDTH
static void placeEvenly(int64_t first, int64_t stride,
                        std::array<int64_t, blockRows> &rows) {
  for (int64_t i = 0; i < blockRows; ++i)
    rows[static_cast<size_t>(i)] = first + i * stride;
}

void WindowPlan::placeRows(int64_t image, int64_t block,
                           BlockPlace &place) const {
  const int64_t points = x.points, first = block * blockRows,
                line = first / points;
  int64_t column = first - line * points,
          offset = (image * outPoints + line * outColumns +
                    std::min(column, outColumns)) *
                       filters +
                   place.firstColumn;
  place.count = std::min(blockRows, rows - first);
  if (points == outColumns)
    return placeEvenly(offset, filters, place.rows);
  for (int64_t i = 0; i < place.count; ++i) {
    const bool isResult = column < outColumns;
    place.rows[static_cast<size_t>(i)] =
        isResult ? offset : BlockPlace::dropped;
    offset += isResult ? filters : 0;
    if (++column == points)
      column = 0;
  }
}

void WindowPlan::placePoints(int64_t image, int64_t block, BlockPlace &place,
                             std::array<int64_t, blockRows> &inputs) const {
  const PlannedRegion &own = regionOf(block);
  const WindowRegion &region = own.region;
  const int64_t first = (block - own.firstBlock) * blockRows,
                inRegion = first / region.columns;
  int64_t column = first - inRegion * region.columns;
  const int64_t line = region.firstLine + inRegion;
  int64_t input = (line * x.points + region.firstColumn + column) * elements;
  int64_t offset =
      (image * outPoints + line * outColumns + region.firstColumn + column) *
          filters +
      place.firstColumn;
  place.count = own.rowsOf(block);
  const bool isAdjacent = region.columns == outColumns;
  if (isAdjacent)
    placeEvenly(offset, filters, place.rows);
  for (int64_t i = 0; i < place.count; ++i) {
    const auto row = static_cast<size_t>(i);
    inputs[row] = input;
    if (!isAdjacent)
      place.rows[row] = offset;
    input += elements;
    offset += filters;
    if (++column == region.columns) {
      column = 0;
      input += (x.points - region.columns) * elements;
      offset += (outColumns - region.columns) * filters;
    }
  }
}
