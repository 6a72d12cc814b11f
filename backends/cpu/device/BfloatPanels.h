//===- BfloatPanels.h - blocks of products of bf16 --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The inner loops of bf16 products. A is read in place. B is packed in panels
// of 32 columns, in the order that AMX and vdpbf16ps read: two rows at a time,
// the pair of each column. Both units treat denormal operands as 0 and add in
// float32.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_BFLOATPANELS_H
#define SINTER_BACKENDS_CPU_DEVICE_BFLOATPANELS_H

#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/StepWork.h"
#include "backends/cpu/device/TileRegisters.h"
#include "runtime/base/CpuRates.h"
#include "runtime/base/Float16.h"

#include <array>
#include <cstdint>
#include <span>

namespace sinter::cpu {

/// The rows of a panel that the unit reads at once: an even number of at most
/// 32. One below 32 divides `depth`, which is first rounded up to an even
/// number if it is less than 12.
inline int64_t depthStep(int64_t depth) {
  constexpr int64_t most = 32, least = 12;
  if (depth < least)
    return depth + depth % 2;
  for (int64_t step = most; step >= least; step -= 2)
    if (depth % step == 0)
      return step;
  return most;
}
/// Rounds the depth of a product up to what a panel stores, a multiple of its
/// step.
inline int64_t paddedDepth(int64_t depth) {
  const int64_t step = depthStep(depth);
  return (depth + step - 1) / step * step;
}
/// The bytes of a panel of `depth` rows, which is padded.
inline int64_t panelBytes(int64_t depth) { return 2 * panelColumns * depth; }

/// The rows of A that Dot multiplies at once by a whole panel.
inline constexpr UnitRows dotRows{12, 6};

/// A strided matrix of bf16; strides in elements.
struct BfloatMatrix {
  const rt::Bfloat *data;
  int64_t rowStride, colStride;
};

/// Writes `columns` (at most 32) columns of `b`, from its first element on, of
/// `depth` rows. The rest of the panel is 0.
void packPanel(const BfloatMatrix &b, int64_t depth, int64_t columns,
               uint8_t *panel);

/// Writes `rows` rows of `depth` elements of `a` one after the other, each
/// padded with 0 to paddedDepth(depth) elements.
void packRows(const BfloatMatrix &a, int64_t rows, int64_t depth,
              rt::Bfloat *packed);

/// Rows of A, which are sums of parts: part i of a row begins at element
/// parts[i].inRow + row * rowStride of `data`, or parts[i].inRow + offsets[row]
/// if hasOffsets, which only Dot takes. It has `depth` elements, which is
/// padded. If isOdd (Dot only; a part is one step), the last element of each
/// part counts as 0 and is not read.
struct BfloatRows {
  const rt::Bfloat *data;
  int64_t rowStride;
  int64_t count; // 1 to blockRows
  std::span<const PanelPart> parts;
  int64_t depth, step; // depthStep(depth)
  bool hasOffsets = false, isOdd = false;
  std::array<int64_t, blockRows> offsets; // if hasOffsets
};

/// sums[row * sumStride + column] = the product of rows and panel, for
/// `columns` columns of the panel, or more of them. `unit` is Dot or Tiles;
/// only tiles take steps of `work`.
void multiplyBfloats(rt::Bf16Unit unit, TileRegisters &tiles,
                     const BfloatRows &rows, const uint8_t *panel,
                     int64_t columns, float *sums, int64_t sumStride,
                     PanelFetch &fetch, StepWork &work);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_BFLOATPANELS_H
