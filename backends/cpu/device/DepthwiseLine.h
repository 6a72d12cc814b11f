//===- DepthwiseLine.h - a line of one filter for each channel --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The inner loop of DotDepthwise: windows of bf16 by vdpbf16ps, which adds two
// products at once. A pair is two rows of a window; the last row of an odd
// window is paired with zeros. The columns of the input are read once, from
// left to right; the sums of the windows that a column belongs to are in
// registers. A sum is one chain that begins with the bias, columns in order,
// and of each column its pairs; or two chains, one of even pairs and one of odd
// pairs.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_DEPTHWISELINE_H
#define SINTER_BACKENDS_CPU_DEVICE_DEPTHWISELINE_H

#include "runtime/base/Float16.h"

#include <array>
#include <cstdint>

namespace sinter::cpu {

/// What becomes of the sums of a line: float32 in scratch, or bf16 in the
/// result after a function.
enum class LineEnd { Sums, Bfloats, Relu, HardSwish };

/// Adjacent points of a line of the result, and up to 32 channels of them. A
/// column is a point of a row of the input.
struct DepthwiseLine {
  static constexpr int64_t maxHeight = 7;

  /// Column 0 of the rows of the windows, at the first channel. A row outside
  /// the input is zeros.
  std::array<const rt::Bfloat *, maxHeight> rows;
  int64_t columns;      // of a row
  int64_t firstColumn;  // of the first window; less than 0 in padding
  int64_t columnStride; // elements between columns, and between points
  int64_t channels;     // 1 to depthwiseLineChannels()
  const uint8_t *weights;
  const rt::Bfloat *bias; // of the first channel; null: none
  int64_t points;
  LineEnd end;
  /// The first point at the first channel: one of them.
  rt::Bfloat *result;
  float *sums; // points are panelColumns apart, aligned to 64 bytes
};

using RunDepthwiseLine = void (*)(const DepthwiseLine &line);

/// The function for lines of `channels` channels and windows of size x size;
/// null for others than 3x3, 5x5 and 7x7 with a stride of 1 or 2. With
/// `fetchesNext`, the `stride` rows below the last one are fetched into the
/// cache. The CPU has a unit for bf16.
RunDepthwiseLine depthwiseLine(int64_t size, int64_t stride, int64_t channels,
                               bool fetchesNext);

/// The most channels of a line of `points` points. The weights of few channels
/// stay in registers, which is worth more lines where these are long.
int64_t depthwiseLineChannels(int64_t size, int64_t points);

/// The bytes of the weights of a line.
int64_t depthwiseLineBytes(int64_t size, int64_t channels);

/// Packs the weights of channels of a filter, the first of which is at
/// `filter`. `weights` is aligned to 64 bytes.
void packDepthwiseLine(const rt::Bfloat *filter, int64_t size, int64_t channels,
                       uint8_t *weights);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_DEPTHWISELINE_H
