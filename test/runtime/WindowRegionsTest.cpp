//===- WindowRegionsTest.cpp - windows that reach into the padding --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/WindowRegions.h"

#include <catch2/catch.hpp>

#include <random>

using namespace sinter;
using namespace sinter::cpu;

namespace {

/// As of vpdpbusd.
constexpr UnitRows unitRows{8, 5};

/// A convolution whose two dimensions may differ.
struct Window {
  int64_t in[2], kernel[2], stride[2], dilation[2], low[2], high[2];
};

ConvShape shapeOf(const Window &w) {
  sinter_conv p{};
  p.direction = SINTER_CONV_FORWARD;
  p.layout = SINTER_CHANNELS_LAST;
  p.spatialRank = 2;
  p.batch = p.channels = p.filters = p.groups = 1;
  for (int d = 0; d < 2; ++d) {
    p.inputDims[d] = w.in[d];
    p.kernel[d] = w.kernel[d];
    p.strides[d] = w.stride[d];
    p.dilations[d] = w.dilation[d];
    p.padsLow[d] = w.low[d];
    p.padsHigh[d] = w.high[d];
    p.outputDims[d] = (w.in[d] + w.low[d] + w.high[d] -
                       (w.kernel[d] - 1) * w.dilation[d] - 1) /
                          w.stride[d] +
                      1;
  }
  return ConvShape(p);
}

bool isInImage(const ConvDim &dim, int64_t output, int64_t tap) {
  const int64_t at = output * dim.stride - dim.padLow + tap * dim.dilation;
  return at >= 0 && at < dim.in;
}

/// Requires that `taps` has all taps of `output` in the image.
void checkTaps(const ConvDim &dim, int64_t output, TapRange taps) {
  REQUIRE((0 <= taps.begin && taps.begin < taps.end && taps.end <= dim.kernel));
  for (int64_t tap = 0; tap < dim.kernel; ++tap)
    REQUIRE((!isInImage(dim, output, tap) ||
             (taps.begin <= tap && tap < taps.end)));
}

/// Requires that the regions are a partition with all taps in the image.
/// Returns the multiply-adds that they take.
int64_t check(const ConvShape &shape, bool joinsColumns) {
  const ConvDim &y = shape.dims[0], &x = shape.dims[1];
  std::vector<int> seen(static_cast<size_t>(y.out * x.out));
  int64_t products = 0;
  for (const WindowRegion &region :
       windowRegions(shape, joinsColumns, unitRows)) {
    REQUIRE(region.points() > 0);
    products += region.points() * region.y.count() * region.x.count();
    for (int64_t line = 0; line < region.lines; ++line)
      for (int64_t column = 0; column < region.columns; ++column) {
        const int64_t i = region.firstLine + line,
                      j = region.firstColumn + column;
        REQUIRE((i < y.out && j < x.out));
        ++seen[static_cast<size_t>(i * x.out + j)];
        checkTaps(y, i, region.y);
        checkTaps(x, j, region.x);
      }
    if (joinsColumns)
      REQUIRE(region.x.count() == x.kernel);
  }
  REQUIRE(std::ranges::all_of(seen, [](int count) { return count == 1; }));
  return products;
}

} // namespace

TEST_CASE("window regions: padding at all sides of 14x14", "[regions]") {
  const ConvShape shape =
      shapeOf({{14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  // Corners have the taps of their lines.
  REQUIRE(check(shape, false) == 144 * 9 + 28 * 6 + 24 * 6);
  REQUIRE(check(shape, true) == 168 * 9 + 28 * 6);
}

TEST_CASE("window regions: without padding there is one", "[regions]") {
  const ConvShape shape =
      shapeOf({{30, 20}, {3, 5}, {2, 1}, {1, 2}, {0, 0}, {0, 0}});
  REQUIRE(windowRegions(shape, false, unitRows).size() == 1);
  REQUIRE(check(shape, false) == 14 * 12 * 15);
}

TEST_CASE("window regions: few points stay together", "[regions]") {
  const ConvShape shape =
      shapeOf({{2, 2}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  REQUIRE(windowRegions(shape, false, unitRows).size() == 1);
}

TEST_CASE("window regions: outputs of a tap", "[regions]") {
  for (int64_t in : {1, 4, 9})
    for (int64_t kernel : {1, 2, 5})
      for (int64_t stride : {1, 2, 3})
        for (int64_t dilation : {1, 2, 4})
          for (int64_t low : {0, 1, 7}) {
            const int64_t high = kernel * dilation;
            const ConvShape shape = shapeOf({{in, 3},
                                             {kernel, 1},
                                             {stride, 1},
                                             {dilation, 1},
                                             {low, 0},
                                             {high, 0}});
            const ConvDim &dim = shape.dims[0];
            for (int64_t tap = 0; tap < kernel; ++tap) {
              const OutputRange range = outputsInImage(dim, tap);
              for (int64_t output = 0; output < dim.out; ++output)
                REQUIRE(isInImage(dim, output, tap) ==
                        (range.begin <= output && output < range.end));
            }
          }
}

TEST_CASE("window regions: windows in the padding alone", "[regions]") {
  const ConvShape shape =
      shapeOf({{4, 40}, {2, 3}, {1, 1}, {1, 1}, {5, 1}, {5, 1}});
  check(shape, false);
}

TEST_CASE("window regions: random windows", "[regions]") {
  std::mt19937 random(3);
  auto upTo = [&](int64_t most) {
    return 1 + static_cast<int64_t>(random() % static_cast<uint32_t>(most));
  };
  for (int i = 0; i < 500; ++i) {
    Window w{};
    for (int d = 0; d < 2; ++d) {
      w.kernel[d] = upTo(7);
      w.stride[d] = upTo(3);
      w.dilation[d] = upTo(3);
      w.low[d] = upTo(8) - 1;
      w.high[d] = upTo(8) - 1;
      w.in[d] = (w.kernel[d] - 1) * w.dilation[d] + upTo(30);
    }
    check(shapeOf(w), random() % 2);
  }
}
