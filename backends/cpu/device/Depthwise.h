//===- Depthwise.h - convolutions channel by channel ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Forward convolutions of two dimensions with one filter for each channel, on
// dense channels-last activations. Each worker keeps the rows of the input that
// a line of output needs in float32, with their padding. A block is up to 8
// points of a line with 16 channels; a sum is one chain of multiply-adds in the
// order of the window. They are fused with AVX-512; without it, products and
// sums are for operands whose every sum is exact.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_DEPTHWISE_H
#define SINTER_BACKENDS_CPU_DEVICE_DEPTHWISE_H

#include "backends/cpu/device/BlockStore.h"
#include "backends/cpu/device/ConvPlan.h"
#include "backends/cpu/device/OneDnnPrimitive.h"
#include "runtime/device/Library.h"

#include <array>

namespace sinter::cpu {

/// "12 lines of 56 points"
std::string depthwiseLinesText(const ConvShape &shape);
/// The fewest lines that are worth another thread.
int64_t depthwiseGrain(const ConvShape &shape);

class DepthwiseCall : public rt::LibraryCall {
public:
  /// Whether the window is one that this class takes.
  static bool fits(const sinter_conv &params);

  uint64_t sharedBytes() const final;
  uint64_t perWorkerBytes() const final;
  rt::Status bind(const rt::Scratch &scratch, int threads) final;
  rt::Status run(void *const *buffers, const rt::CallContext &context) final;

protected:
  /// The most rows of a window.
  static constexpr int64_t maxHeight = 16;
  /// Channels of a vector.
  static constexpr int64_t vectorChannels = 16;

  DepthwiseCall(const sinter_command &command, int64_t elementBytes);

  /// Widens the constant filter at `filter`.
  void packConstant(OneDnnContext &context, const uint8_t *filter);
  /// Element `index` of `filter`.
  virtual float weightOf(const uint8_t *filter, int64_t index) const = 0;
  /// Widens `points` points of all channels; a point of the result has `stride`
  /// elements, and what is not a channel becomes 0.
  virtual void widenPoints(const uint8_t *from, int64_t points, float *to,
                           int64_t stride) const = 0;
  /// Finishes and stores a block; `sums` as in BlockStore::store.
  virtual void storeBlock(float *sums, const BlockPlace &place,
                          void *const *buffers) const = 0;

  const sinter_command &command_;
  const ConvShape shape_;

private:
  /// The rows of the windows of a line.
  using Rows = std::array<const float *, maxHeight>;

  int64_t windowPoints() const {
    return shape_.dims[0].kernel * shape_.dims[1].kernel;
  }
  int64_t weightBytes() const;
  int64_t rowBytes() const;
  void pack(const uint8_t *filter, float *weights) const;
  void widenRow(const uint8_t *image, int64_t row, float *to) const;
  void runLine(void *const *buffers, const float *weights, const Rows &rows,
               int64_t line) const;

  const int64_t elementBytes_;
  const int64_t stride_;    // of points of a widened row, in elements
  const int64_t rowPoints_; // that windows of a line read, padding included
  PackedBytes constantWeights_;
  rt::Scratch scratch_;
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_DEPTHWISE_H
