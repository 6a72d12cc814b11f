//===- AttentionUnits.h - what multiplies within attention ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// An attention has two products: of queries and keys, and of probabilities and
// values. A unit packs their operands and multiplies them; sums are float32.
// The left operand is rows of the unit's elements, the right one is panels of
// columns.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_ATTENTIONUNITS_H
#define SINTER_BACKENDS_CPU_DEVICE_ATTENTIONUNITS_H

#include "backends/cpu/device/TileRegisters.h"

#include <cstdint>
#include <memory>
#include <string>

namespace sinter::cpu {

/// Rows of an operand in memory, of the attention's type. The elements of a row
/// are adjacent; the stride is in elements.
struct HeadRows {
  const void *data;
  int64_t stride;
};

/// Packed rows of the left operand, `stride` bytes apart, of which `depth`
/// elements are multiplied.
struct AttentionRows {
  const uint8_t *data;
  int64_t stride, count, depth;
};
/// The panels of a depth x columns matrix.
struct AttentionPanels {
  const uint8_t *data;
  int64_t depth, columns;
};

/// Scratch of one worker for rows that are converted.
inline constexpr int64_t attentionBufferBytes = 64 * 128 * sizeof(float);

class AttentionUnit {
public:
  virtual ~AttentionUnit() = default;

  /// "fp32 by AVX-512".
  virtual std::string name() const = 0;
  /// The rows of the left operand that are multiplied at once.
  virtual int64_t blockRows() const = 0;
  /// The elements of a row of the left operand that meets `depth` rows of
  /// panels with `panelDepth` rows; those from `depth` on are 0.
  virtual int64_t rowElements(int64_t depth, int64_t panelDepth) const = 0;
  virtual int64_t elementBytes() const = 0;
  /// The bytes of the panels of a depth x columns matrix, a multiple of 64.
  virtual int64_t panelBytes(int64_t depth, int64_t columns) const = 0;

  /// Makes rows of the left operand. The distance between them is `toStride`
  /// bytes; `depth` is at most 128.
  virtual void packRows(const HeadRows &from, int64_t rows, int64_t depth,
                        uint8_t *to, int64_t toStride) const = 0;
  /// Makes panels whose column i is row i of `from`; `depth` is at most 128.
  virtual void packTransposed(const HeadRows &from, int64_t rows, int64_t depth,
                              uint8_t *panels, float *buffer) const = 0;
  /// Makes panels whose row i is row i of `from`; at most 128 columns.
  virtual void packPanels(const HeadRows &from, int64_t rows, int64_t columns,
                          uint8_t *panels, float *buffer) const = 0;
  /// Makes a row of the left operand of e^((x - greatest) * scale), where x are
  /// the first `count` elements of `line`, none of which is above `greatest`.
  /// The line may change up to a multiple of 16 elements; `to` has room for so
  /// many, too. Returns the sum.
  virtual float exponentials(float *line, int64_t count, float greatest,
                             float scale, uint8_t *to,
                             int64_t elements) const = 0;

  /// sums[row * sumStride + column] = left operand times the first `columns`
  /// columns of panels. Columns are written up to a multiple of 32.
  virtual void multiply(TileRegisters &tiles, const AttentionRows &rows,
                        const AttentionPanels &panels, int64_t columns,
                        float *sums, int64_t sumStride) const = 0;

  /// to = x * scale, `count` elements of the attention's type.
  virtual void storeLine(const float *x, float scale, int64_t count,
                         void *to) const = 0;
};

/// For attention of `dtype`: F32, F16 or BF16; null for others. bf16 is
/// multiplied as such if a unit for it is faster than fp32 on this CPU;
/// otherwise 16-bit floats become float32.
std::unique_ptr<const AttentionUnit> attentionUnit(uint32_t dtype);

/// The largest of the first `count` elements, without NaN; -inf if there is
/// none. Elements up to a multiple of 16 become -inf.
float greatestOf(float *line, int64_t count);
/// line = line * scale + mask; `mask` may be null.
void scaleAndMask(float *line, float scale, const float *mask, int64_t count);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_ATTENTIONUNITS_H
