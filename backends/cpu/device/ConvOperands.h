//===- ConvOperands.h - operands of a convolution ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The library computes on dense channels-last activations and on filters in a
// blocked layout of its choice. These classes convert operands between those
// layouts and the layouts of a program.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_CONVOPERANDS_H
#define SINTER_BACKENDS_CPU_DEVICE_CONVOPERANDS_H

#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/ConvPlan.h"
#include "backends/cpu/device/OneDnnPrimitive.h"

#include <vector>

namespace sinter::cpu {

/// The layout of one activation: of the whole, and of the part that is used.
class ActivationView {
public:
  ActivationView() = default;
  ActivationView(const ConvShape &shape, bool input);

  /// True if the used part is dense and channels last, as the library requires.
  bool direct() const { return direct_; }
  int64_t channels() const { return channels_; }
  int64_t imageElements() const { return channels_ * storedPoints_; }
  /// The number of points per row of the first dimension, in the used part.
  int64_t rowPoints() const { return rowPoints_; }

  /// The strides of points and of channels in memory.
  int64_t pointStride() const { return channelsFirst_ ? 1 : channels_; }
  int64_t channelStride() const { return channelsFirst_ ? storedPoints_ : 1; }

  /// Calls segment(memoryOffset, densePoint, points) for the runs of adjacent
  /// points that make up rows [rowBegin, rowBegin + rows) of image `image`.
  /// `densePoint` counts from the first of those rows.
  template <typename Function>
  void forEachRun(int64_t image, int64_t rowBegin, int64_t rows,
                  Function &&segment) const {
    int64_t start = image * imageElements();
    if (!cropped_) {
      segment(start + rowBegin * rowPoints_ * pointStride(), int64_t(0),
              rows * rowPoints_);
      return;
    }
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < used_[1]; ++j) {
        int64_t line = ((rowBegin + i + crop_[0]) * stored_[1] + j + crop_[1]) *
                           stored_[2] +
                       crop_[2];
        segment(start + line * pointStride(), (i * used_[1] + j) * used_[2],
                used_[2]);
      }
  }

  /// Copies channels [channelBegin, channelBegin + channels) of rows of images
  /// to dense channels-last memory.
  void gather(const float *memory, int64_t imageBegin, int64_t images,
              int64_t rowBegin, int64_t rows, int64_t channelBegin,
              int64_t channels, float *dense) const;

private:
  int64_t channels_ = 0, storedPoints_ = 0, rowPoints_ = 0;
  int64_t stored_[3] = {1, 1, 1}, used_[3] = {1, 1, 1}, crop_[3] = {0, 0, 0};
  bool channelsFirst_ = false, cropped_ = false, direct_ = false;
};

/// Converts a filter between its plain layout and the library's, in one or more
/// independent pieces. Throws dnnl::error.
class FilterReorder {
public:
  FilterReorder() = default;
  FilterReorder(const OneDnnContext &context, const ConvShape &shape,
                int64_t filters, const shim::Desc &packed, bool toPacked);

  int64_t pieces() const { return static_cast<int64_t>(pieces_.size()); }
  uint64_t scratchpadBytes() const;
  void bind(const OneDnnContext &context, const rt::Scratch &scratch,
            int threads);
  /// Moves piece `piece`; the addresses are of the whole filters.
  bool run(const OneDnnContext &context, int worker, int64_t piece,
           const float *plain, const void *packed) const;

private:
  struct Piece {
    OneDnnPrimitive reorder;
    int64_t plainOffset; // elements
  };
  std::vector<Piece> pieces_;
  bool toPacked_ = false;
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_CONVOPERANDS_H
