//===- WindowRegions.cpp - windows that reach into the padding ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/WindowRegions.h"

#include <algorithm>

using namespace sinter::cpu;

namespace {

/// Adjacent outputs of one dimension that have the same taps in the image.
struct Run {
  int64_t first, count;
  TapRange taps;
};

TapRange allTaps(const ConvDim &dim) { return {0, dim.kernel}; }

/// Of a window entirely in the padding, one tap, whose product is 0.
TapRange tapsInImage(const ConvDim &dim, int64_t output) {
  const int64_t first = output * dim.stride - dim.padLow;
  auto tapsBefore = [&](int64_t end) { // the image's coordinate `end`
    return std::clamp<int64_t>(ceilDiv(end - first, dim.dilation), 0,
                               dim.kernel);
  };
  const TapRange taps{first < 0 ? tapsBefore(0) : 0,
                      first < dim.in ? tapsBefore(dim.in) : 0};
  return taps.begin < taps.end ? taps : TapRange{0, 1};
}

std::vector<Run> runsOf(const ConvDim &dim) {
  std::vector<Run> runs;
  for (int64_t i = 0; i < dim.out; ++i) {
    const TapRange taps = tapsInImage(dim, i);
    if (!runs.empty() && runs.back().taps == taps)
      ++runs.back().count;
    else
      runs.push_back({i, 1, taps});
  }
  return runs;
}

/// In products of one point. Points are multiplied in groups.
double costOf(const WindowRegion &region, const UnitRows &unitRows) {
  const int64_t groups = ceilDiv(region.points(), unitRows.most);
  return static_cast<double>(
      std::max(region.points(), groups * unitRows.least) * region.y.count() *
      region.x.count());
}

} // namespace

OutputRange sinter::cpu::outputsInImage(const ConvDim &dim, int64_t tap) {
  // The tap of output 0 is at this coordinate of the image.
  const int64_t first = tap * dim.dilation - dim.padLow;
  auto outputsBefore = [&](int64_t end) { // the image's coordinate `end`
    return first < end ? std::min(ceilDiv(end - first, dim.stride), dim.out)
                       : 0;
  };
  return {outputsBefore(0), outputsBefore(dim.in)};
}

WindowRegion sinter::cpu::wholeRegion(const ConvShape &shape) {
  const ConvDim &y = shape.dims[0], &x = shape.dims[1];
  return {0, y.out, 0, x.out, allTaps(y), allTaps(x)};
}

/// Lines at the edges are one region each, with the corners: these would be
/// regions of single points.
std::vector<WindowRegion> sinter::cpu::windowRegions(const ConvShape &shape,
                                                     bool joinsColumns,
                                                     const UnitRows &unitRows) {
  const ConvDim &y = shape.dims[0], &x = shape.dims[1];
  const WindowRegion whole = wholeRegion(shape);
  std::vector<WindowRegion> regions;
  for (const Run &lines : runsOf(y)) {
    if (lines.taps != allTaps(y) || joinsColumns) {
      regions.push_back(
          {lines.first, lines.count, 0, x.out, lines.taps, allTaps(x)});
      continue;
    }
    for (const Run &columns : runsOf(x))
      regions.push_back({lines.first, lines.count, columns.first, columns.count,
                         lines.taps, columns.taps});
  }
  double cost = 0;
  for (const WindowRegion &region : regions)
    cost += costOf(region, unitRows);
  if (cost >= costOf(whole, unitRows))
    return {whole};
  return regions;
}
