//===- FloatPanels.h - tiles of products of fp32 ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The inner loop of fp32 products: some rows of A times a panel of 32 columns
// of B, summed in registers by fused multiply-adds in ascending order of k. All
// units give the same bits.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_FLOATPANELS_H
#define SINTER_BACKENDS_CPU_DEVICE_FLOATPANELS_H

#include <cstdint>

namespace sinter::cpu {

/// The registers of fused multiply-adds.
enum class FloatUnit {
  None,
  Fma8,  // AVX2: 8 floats
  Fma16, // AVX-512: 16 floats
};

/// The widest that this CPU has and that oneDNN may use.
FloatUnit floatUnit();
/// For descriptions: "AVX-512".
const char *nameOf(FloatUnit unit);
/// The most rows of a tile of `columns` columns: their sums fit the registers.
/// `unit` is not None.
int64_t tileRows(FloatUnit unit, int64_t columns);

/// Strides in elements.
struct FloatTile {
  const float *a; // row r begins at a + r * aStride and is contiguous
  int64_t aStride;
  int64_t rows, depth; // at least 1; rows at most tileRows()
  const float *panel;  // row k begins at panel + k * panelStride, of 32 floats
  int64_t panelStride;
  float *result; // row r begins at result + r * resultStride
  int64_t resultStride;
  int64_t columns; // 1 to 32: only these are written
  bool adds;       // to what is in `result`, after all sums
};
void multiplyTile(FloatUnit unit, const FloatTile &tile);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_FLOATPANELS_H
