//===- AttentionUnits.cpp - what multiplies within attention --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/AttentionUnits.h"

#include "backends/cpu/device/BfloatPanels.h"
#include "backends/cpu/device/BfloatUnit.h"
#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/EveryWidth.h"
#include "backends/cpu/device/FloatPanels.h"
#include "backends/cpu/device/Partition.h"
#include "runtime/base/FloatFunctions.h"
#include "sinter/abi.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace sinter;
using namespace sinter::cpu;
using rt::Bfloat;

namespace {

constexpr float negativeInfinity = -std::numeric_limits<float>::infinity();

/// What a loop adds up or compares, one element for each column of a line. Two
/// of them hide the latency of an operation. Functions take references: how
/// vectors are passed depends on the CPU.
typedef float Lanes __attribute__((vector_size(4 * lineColumns)));

inline void load(Lanes &lanes, const float *from) {
  std::memcpy(&lanes, from, sizeof(lanes));
}
inline void keepGreater(Lanes &greatest, const float *line) {
  Lanes x;
  load(x, line);
  greatest = x > greatest ? x : greatest;
}
/// Of halves, their halves, and so on.
template <class Operation>
inline float joined(const Lanes &lanes, Operation &&operation) {
  float parts[lineColumns];
  std::memcpy(parts, &lanes, sizeof(parts));
  for (int64_t half = lineColumns / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i)
      parts[i] = operation(parts[i], parts[i + half]);
  return parts[0];
}

/// `count` is a multiple of lineColumns.
SINTER_EVERY_WIDTH
float greatestOfLines(const float *line, int64_t count) {
  Lanes even = Lanes{} + negativeInfinity, odd = even;
  int64_t i = 0;
  for (; i + 2 * lineColumns <= count; i += 2 * lineColumns) {
    keepGreater(even, line + i);
    keepGreater(odd, line + i + lineColumns);
  }
  if (i < count)
    keepGreater(even, line + i);
  even = odd > even ? odd : even;
  return joined(even, [](float x, float y) { return x > y ? x : y; });
}

SINTER_EVERY_WIDTH
void scaleLine(float *line, float scale, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    line[i] *= scale;
}
SINTER_EVERY_WIDTH
void scaleAndMaskLine(float *line, float scale, const float *mask,
                      int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    line[i] = line[i] * scale + mask[i];
}

/// to = e^((x - greatest) * scale) for a line. Adds the line to `sums`. The
/// exponent of the greatest element is 0, however large it is.
inline void addExponentials(const float *x, float greatest, float scale,
                            float *to, Lanes &sums) {
  SINTER_FUSE_MULTIPLY_ADD
  float line[lineColumns]; // `to` may be `x`
  for (int64_t i = 0; i < lineColumns; ++i) {
    float exponent = (x[i] - greatest) * scale;
    exponent = exponent < rt::kExpLeast ? rt::kExpLeast : exponent;
    line[i] = rt::fastExp</*isBounded=*/true>(exponent);
  }
  std::memcpy(to, line, sizeof(line));
  Lanes added;
  load(added, line);
  sums += added;
}

/// The same for lines; the sum. `count` is a multiple of lineColumns.
SINTER_EVERY_WIDTH
float exponentialsOfLines(const float *x, int64_t count, float greatest,
                          float scale, float *to) {
  Lanes even = {}, odd = {};
  int64_t i = 0;
  for (; i + 2 * lineColumns <= count; i += 2 * lineColumns) {
    addExponentials(x + i, greatest, scale, to + i, even);
    addExponentials(x + i + lineColumns, greatest, scale, to + i + lineColumns,
                    odd);
  }
  if (i < count)
    addExponentials(x + i, greatest, scale, to + i, even);
  even += odd;
  return joined(even, [](float x, float y) { return x + y; });
}

SINTER_EVERY_WIDTH
void storeFloats(const float *x, float scale, int64_t count, float *to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = x[i] * scale;
}

inline void widenLine(const float *from, int64_t count, float *to) {
  std::memcpy(to, from, static_cast<size_t>(4 * count));
}
template <class From>
void widenLine(const From *from, int64_t count, float *to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = rt::toFloat(from[i]);
}

/// `T` is what memory has; all else is float32.
template <class T> class FloatUnitOfAttention : public AttentionUnit {
public:
  std::string name() const override {
    return std::string(std::is_same_v<T, float>    ? "fp32"
                       : std::is_same_v<T, Bfloat> ? "bf16, widened,"
                                                   : "fp16, widened,") +
           " by " +
           (floatUnit() == FloatUnit::None ? "loops" : nameOf(floatUnit()));
  }
  /// Whole tiles of six rows, for the most lines that a panel has.
  int64_t blockRows() const override { return 36; }
  int64_t rowElements(int64_t depth, int64_t) const override { return depth; }
  int64_t elementBytes() const override { return sizeof(float); }
  int64_t panelBytes(int64_t depth, int64_t columns) const override {
    return 4 * depth * wholeLines(columns);
  }

  void packRows(const HeadRows &from, int64_t rows, int64_t depth, uint8_t *to,
                int64_t toStride) const override {
    for (int64_t row = 0; row < rows; ++row)
      widenLine(static_cast<const T *>(from.data) + row * from.stride, depth,
                reinterpret_cast<float *>(to + row * toStride));
  }
  void packTransposed(const HeadRows &from, int64_t rows, int64_t depth,
                      uint8_t *panels, float *buffer) const override {
    auto *to = reinterpret_cast<float *>(panels);
    const Partition parts = panelsOf(rows);
    for (int64_t i = 0; i < parts.count(); ++i) {
      const Floats floats =
          floatsOf(from, parts.begin(i), parts.size(i), depth, buffer);
      copyToPanel(to + parts.begin(i) * depth, depth, parts.size(i),
                  floats.data, 1, floats.stride);
    }
  }
  void packPanels(const HeadRows &from, int64_t rows, int64_t columns,
                  uint8_t *panels, float *buffer) const override {
    auto *to = reinterpret_cast<float *>(panels);
    const Partition parts = panelsOf(columns);
    for (int64_t first = 0; first < rows; first += bufferRows) {
      const int64_t count = std::min(bufferRows, rows - first);
      const Floats floats = floatsOf(from, first, count, columns, buffer);
      for (int64_t i = 0; i < parts.count(); ++i)
        copyToPanel(to + parts.begin(i) * rows +
                        first * wholeLines(parts.size(i)),
                    count, parts.size(i), floats.data + parts.begin(i),
                    floats.stride, 1);
    }
  }
  float exponentials(float *line, int64_t count, float greatest, float scale,
                     uint8_t *to, int64_t) const override {
    return exponentialsOfLines(line, wholeLines(count), greatest, scale,
                               reinterpret_cast<float *>(to));
  }

  void multiply(TileRegisters &, const AttentionRows &rows,
                const AttentionPanels &panels, int64_t columns, float *sums,
                int64_t sumStride) const override {
    const FloatUnit unit = floatUnit();
    FloatTile tile{};
    tile.aStride = rows.stride / 4;
    tile.depth = rows.depth;
    tile.resultStride = sumStride;
    const Partition parts = panelsOf(panels.columns);
    for (int64_t i = 0; i < parts.count() && parts.begin(i) < columns; ++i) {
      tile.panel = reinterpret_cast<const float *>(panels.data) +
                   parts.begin(i) * panels.depth;
      tile.panelStride = wholeLines(parts.size(i));
      tile.columns = std::min(parts.size(i), columns - parts.begin(i));
      const Partition tiles(
          rows.count, ceilDiv(rows.count, tileRows(unit, tile.columns)), 1);
      for (int64_t j = 0; j < tiles.count(); ++j) {
        tile.rows = tiles.size(j);
        tile.a = reinterpret_cast<const float *>(rows.data) +
                 tiles.begin(j) * tile.aStride;
        tile.result = sums + tiles.begin(j) * sumStride + parts.begin(i);
        PanelFetch nothing;
        if (unit == FloatUnit::None)
          multiplyByLoops(tile);
        else
          multiplyTile(unit, tile, nothing);
      }
    }
  }
  void storeLine(const float *x, float scale, int64_t count,
                 void *to) const override {
    if constexpr (std::is_same_v<T, float>)
      return storeFloats(x, scale, count, static_cast<float *>(to));
    auto *line = static_cast<T *>(to);
    for (int64_t i = 0; i < count; ++i)
      rt::fromFloat(x[i] * scale, line[i]);
  }

private:
  static constexpr int64_t bufferRows = 64;

  struct Floats {
    const float *data;
    int64_t stride;
  };

  /// Panels of nearly as many lines each: narrow ones take more loads for each
  /// multiplication.
  static Partition panelsOf(int64_t columns) {
    return {columns, ceilDiv(columns, tileColumns(floatUnit())), lineColumns};
  }
  /// Up to 64 rows as float32: in place, or in the buffer.
  static Floats floatsOf(const HeadRows &from, int64_t first, int64_t rows,
                         int64_t depth, float *buffer) {
    const T *data = static_cast<const T *>(from.data) + first * from.stride;
    if constexpr (std::is_same_v<T, float>)
      return {data, from.stride};
    for (int64_t row = 0; row < rows; ++row)
      widenLine(data + row * from.stride, depth, buffer + row * depth);
    return {buffer, depth};
  }

  /// Missing columns become 0.
  static void copyToPanel(float *to, int64_t rows, int64_t columns,
                          const float *from, int64_t rowStride,
                          int64_t colStride) {
    const int64_t stride = wholeLines(columns);
    if (columns < stride)
      std::memset(to, 0, static_cast<size_t>(4 * stride * rows));
    copyBlock({to, rows, columns, stride, 1}, from, rowStride, colStride);
  }

  /// Without AVX2.
  static void multiplyByLoops(const FloatTile &tile) {
    for (int64_t row = 0; row < tile.rows; ++row) {
      const float *a = tile.a + row * tile.aStride;
      float *result = tile.result + row * tile.resultStride;
      std::fill(result, result + tile.columns, 0.0F);
      for (int64_t k = 0; k < tile.depth; ++k)
        for (int64_t i = 0; i < tile.columns; ++i)
          result[i] += a[k] * tile.panel[k * tile.panelStride + i];
    }
  }
};

#if defined(__x86_64__)
/// to = x * scale, rounded to nearest; denormal numbers become 0, as which the
/// unit reads them.
__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) void
roundLine(const float *x, float scale, int64_t count, Bfloat *to) {
  for (int64_t i = 0; i < count; i += lineColumns) {
    const auto mask =
        static_cast<__mmask16>((1U << std::min(lineColumns, count - i)) - 1);
    const __m512 scaled = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, x + i),
                                        _mm512_set1_ps(scale));
    _mm256_mask_storeu_epi16(to + i, mask, (__m256i)_mm512_cvtneps_pbh(scaled));
  }
}

class BfloatUnitOfAttention : public AttentionUnit {
public:
  std::string name() const override {
    return std::string("bf16 by ") + nameOf(bfloatUnit());
  }
  int64_t blockRows() const override { return cpu::blockRows; }
  int64_t rowElements(int64_t depth, int64_t panelDepth) const override {
    const int64_t step = depthStep(panelDepth);
    return ceilDiv(depth, step) * step;
  }
  int64_t elementBytes() const override { return sizeof(Bfloat); }
  int64_t panelBytes(int64_t depth, int64_t columns) const override {
    return bytesOfPanel(depth) * ceilDiv(columns, panelColumns);
  }

  void packRows(const HeadRows &from, int64_t rows, int64_t depth, uint8_t *to,
                int64_t toStride) const override {
    for (int64_t row = 0; row < rows; ++row)
      cpu::packRows({dataOf(from) + row * from.stride, from.stride, 1}, 1,
                    depth, reinterpret_cast<Bfloat *>(to + row * toStride));
  }
  void packTransposed(const HeadRows &from, int64_t rows, int64_t depth,
                      uint8_t *panels, float *) const override {
    for (int64_t first = 0; first < rows; first += panelColumns) {
      packPanel({dataOf(from) + first * from.stride, 1, from.stride}, depth,
                std::min(panelColumns, rows - first), panels);
      panels += bytesOfPanel(depth);
    }
  }
  void packPanels(const HeadRows &from, int64_t rows, int64_t columns,
                  uint8_t *panels, float *) const override {
    for (int64_t first = 0; first < columns; first += panelColumns) {
      packPanel({dataOf(from) + first, from.stride, 1}, rows,
                std::min(panelColumns, columns - first), panels);
      panels += bytesOfPanel(rows);
    }
  }
  float exponentials(float *line, int64_t count, float greatest, float scale,
                     uint8_t *to, int64_t elements) const override {
    const int64_t whole = wholeLines(count);
    const float sum = exponentialsOfLines(line, whole, greatest, scale, line);
    auto *row = reinterpret_cast<Bfloat *>(to);
    roundLine(line, 1.0F, whole, row);
    if (whole < elements)
      std::fill(row + whole, row + elements, Bfloat());
    return sum;
  }

  void multiply(TileRegisters &tiles, const AttentionRows &rows,
                const AttentionPanels &panels, int64_t columns, float *sums,
                int64_t sumStride) const override {
    static constexpr PanelPart onePart[] = {{0, 0}};
    BfloatRows a;
    a.data = reinterpret_cast<const Bfloat *>(rows.data);
    a.rowStride = rows.stride / 2;
    a.count = rows.count;
    a.parts = onePart;
    a.depth = rowElements(rows.depth, panels.depth);
    a.step = depthStep(panels.depth);
    const uint8_t *panel = panels.data;
    PanelFetch nothing;
    StepWork noWork;
    for (int64_t column = 0; column < columns; column += panelColumns) {
      multiplyBfloats(bfloatUnit(), tiles, a, panel, panelColumns,
                      sums + column, sumStride, nothing, noWork);
      panel += bytesOfPanel(panels.depth);
    }
  }
  void storeLine(const float *x, float scale, int64_t count,
                 void *to) const override {
    roundLine(x, scale, count, static_cast<Bfloat *>(to));
  }

private:
  static const Bfloat *dataOf(const HeadRows &rows) {
    return static_cast<const Bfloat *>(rows.data);
  }
  static int64_t bytesOfPanel(int64_t depth) {
    return cpu::panelBytes(paddedDepth(depth));
  }
};
#endif

} // namespace

float sinter::cpu::greatestOf(float *line, int64_t count) {
  const int64_t whole = wholeLines(count);
  std::fill(line + count, line + whole, negativeInfinity);
  return greatestOfLines(line, whole);
}

void sinter::cpu::scaleAndMask(float *line, float scale, const float *mask,
                               int64_t count) {
  if (mask)
    scaleAndMaskLine(line, scale, mask, count);
  else
    scaleLine(line, scale, count);
}

std::unique_ptr<const AttentionUnit>
sinter::cpu::attentionUnit(uint32_t dtype) {
  switch (dtype) {
  case SINTER_F32:
    return std::make_unique<FloatUnitOfAttention<float>>();
  case SINTER_F16:
    return std::make_unique<FloatUnitOfAttention<rt::Half>>();
  case SINTER_BF16:
#if defined(__x86_64__)
    if (bfloatUnit() != rt::Bf16Unit::Widened)
      return std::make_unique<BfloatUnitOfAttention>();
#endif
    return std::make_unique<FloatUnitOfAttention<Bfloat>>();
  default:
    return nullptr;
  }
}
