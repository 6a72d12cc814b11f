//===- WindowRegions.h - windows that reach into the padding ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_WINDOWREGIONS_H
#define SINTER_BACKENDS_CPU_DEVICE_WINDOWREGIONS_H

#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/ConvPlan.h"

#include <cstdint>
#include <vector>

namespace sinter::cpu {

/// Points of a window in one dimension: [begin, end).
struct TapRange {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
  bool operator==(const TapRange &) const = default;
};

/// Outputs of one dimension: [begin, end).
struct OutputRange {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
  bool operator==(const OutputRange &) const = default;
};
/// Those that have point `tap` of their windows in the image.
OutputRange outputsInImage(const ConvDim &dim, int64_t tap);

/// Points of the result whose windows have the same points in the image. The
/// others are padding: their products are 0 and need not be computed.
struct WindowRegion {
  int64_t firstLine, lines, firstColumn, columns; // of the result
  TapRange y, x; // at least one of each; it may be padding
  int64_t points() const { return lines * columns; }
};

/// The whole result, with whole windows.
WindowRegion wholeRegion(const ConvShape &shape);

/// Regions that cover the result of a convolution of two dimensions, or the
/// whole one if its parts would be too small to be multiplied fast in
/// `unitRows`. With `joinsColumns`, windows keep all their columns.
std::vector<WindowRegion> windowRegions(const ConvShape &shape,
                                        bool joinsColumns,
                                        const UnitRows &unitRows);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_WINDOWREGIONS_H
