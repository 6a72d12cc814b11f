//===- WindowPlan.h - rows of convolutions without a gather -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Forward convolutions of two dimensions on dense channels-last activations, as
// products of blocks and panels. The product of each point of the window is one
// part of the depth, so nothing is gathered: the rows of a block are adjacent
// points of the image, or of a copy with its padding. A stride becomes 1 in the
// copy, which has one plane for each remainder of coordinates that windows
// read. For units that read rows at one stride, a block runs on over the end of
// a line; the points in between are computed and dropped.
//
// With few channels (an image has three), a whole line of the window is one
// part: its points are adjacent in memory. The columns stay together, and a row
// of A begins a stride of columns after the one before.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_WINDOWPLAN_H
#define SINTER_BACKENDS_CPU_DEVICE_WINDOWPLAN_H

#include "backends/cpu/device/BlockStore.h"
#include "backends/cpu/device/ConvPlan.h"
#include "backends/cpu/device/WindowRegions.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace sinter::cpu {

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

/// What a unit multiplies.
struct WindowForm {
  int64_t channels;     // of a column of the copy
  bool joinsColumns;    // a part is a line of the window
  int64_t depth;        // of a part, in elements
  int64_t elementBytes; // of a panel
  /// The unit can read rows at any offset, so the points between lines need not
  /// be computed.
  bool takesOffsets = false;
  /// How it multiplies them, if products with padding may be left out.
  std::optional<UnitRows> unitRows = std::nullopt;
};

/// A region of the result. Its blocks follow those of the region before.
struct PlannedRegion {
  WindowRegion region;
  int64_t firstBlock;
  int64_t rows;                 // of A
  std::vector<PanelPart> parts; // of its rows, among those of the panel

  /// The rows of one of its blocks.
  int64_t rowsOf(int64_t block) const {
    return std::min(blockRows, rows - (block - firstBlock) * blockRows);
  }
};

/// The layout of the rows of A, in the image or in its copy. All sizes are in
/// elements.
struct WindowPlan {
  WindowPlan(const ConvShape &shape, const WindowForm &form);

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
  /// "300 rows of 2 images, filter packed at load, input copied, padding left
  /// out".
  std::string text(int64_t images, bool hasConstantFilter) const;
  /// The region of block `block`.
  const PlannedRegion &regionOf(int64_t block) const {
    return *std::find_if(regions.rbegin(), regions.rend(),
                         [&](const PlannedRegion &region) {
                           return region.firstBlock <= block;
                         });
  }
  /// The lines of the copy, which are its units, and its elements.
  int64_t copyLines() const;
  int64_t copyElements() const;
  /// Copies line `line` of all planes of one remainder of rows. Outside of the
  /// image is `padding`.
  template <class Element>
  void copyLine(const Element *image, int64_t line, Element *copy,
                Element padding = Element()) const;
  /// Sets the rows of `place` to those of block `block` of image `image`, from
  /// `place.firstColumn` on. Not if skipsGaps.
  void placeRows(int64_t image, int64_t block, BlockPlace &place) const;
  /// The same if skipsGaps. Sets the elements of A in front of each row, too.
  void placePoints(int64_t image, int64_t block, BlockPlace &place,
                   std::array<int64_t, blockRows> &inputs) const;

  PlaneDim y, x;
  int64_t imageRows, imageColumns, imageChannels, outColumns, outPoints,
      filters;
  int64_t channels;     // of a column of the image or copy
  bool joinsColumns;    // a line of the window is one part
  int64_t pointColumns; // columns of a point
  int64_t elements;     // of a point
  int64_t depth;        // of a part
  bool isCopied;
  bool skipsGaps;                     // rows of A are points of the result
  int64_t rows;                       // of A
  std::vector<PanelPart> parts;       // of a panel
  std::vector<PlannedRegion> regions; // the whole result unless skipsGaps
  int64_t blocks = 0;

private:
  std::vector<PanelPart> partsOf(const WindowRegion &region) const;
  template <class Element>
  void copyColumns(const Element *from, int64_t count, Element *to) const;
  template <class Element>
  void copyPlane(const Element *image, int64_t row, int64_t plane, Element *to,
                 Element padding) const;
};

template <class Element>
void WindowPlan::copyLine(const Element *image, int64_t line, Element *copy,
                          Element padding) const {
  const int64_t plane = line / y.points, row = line % y.points;
  for (size_t i = 0; i < x.remainders.size(); ++i)
    copyPlane(image, y.inImage(plane, row), static_cast<int64_t>(i),
              copy + offsetOf(plane, static_cast<int64_t>(i), row, 0), padding);
}

/// Adjacent columns, each with its channels and zeros behind them.
template <class Element>
void WindowPlan::copyColumns(const Element *from, int64_t count,
                             Element *to) const {
  if (channels == imageChannels) {
    std::copy_n(from, count * channels, to);
    return;
  }
  // Of an image, whose columns are too short for a call each.
  constexpr int64_t few = 3;
  if (imageChannels == few && channels == few + 1) {
    for (int64_t i = 0; i < count; ++i, from += few, to += few + 1) {
      std::copy_n(from, few, to);
      to[few] = Element();
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i, from += imageChannels) {
    to = std::copy_n(from, imageChannels, to);
    to = std::fill_n(to, channels - imageChannels, Element());
  }
}

/// Row `row` of the image, at the columns of `plane`.
template <class Element>
void WindowPlan::copyPlane(const Element *image, int64_t row, int64_t plane,
                           Element *to, Element padding) const {
  const int64_t columns = x.points * pointColumns;
  auto pad = [&](int64_t count) {
    to = std::fill_n(to, count * channels, padding);
  };
  if (row < 0 || row >= imageRows)
    return pad(columns);
  const Element *from = image + row * imageColumns * imageChannels;
  const bool isAdjacent = joinsColumns || x.stride == 1;
  for (int64_t i = 0; i < columns;) {
    const int64_t column = isAdjacent ? i - x.padLow : x.inImage(plane, i);
    if (column < 0 || column >= imageColumns) {
      pad(1);
      ++i;
      continue;
    }
    const int64_t count =
        isAdjacent ? std::min(imageColumns - column, columns - i) : 1;
    copyColumns(from + column * imageChannels, count, to);
    to += count * channels;
    i += count;
  }
}

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_WINDOWPLAN_H
