//===- RowPanels.h - panels of weights for a few rows -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Weights that a few rows are multiplied by are packed at load in panels of 64
// columns, so that one task reads one stretch of memory from begin to end. What
// a panel contains depends on the type of the weights. A sum is one chain of
// fused multiply-adds of float32 in ascending order of k, or one for each block
// of codes.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_ROWPANELS_H
#define SINTER_BACKENDS_CPU_DEVICE_ROWPANELS_H

#include "sinter/abi.h"

#include <cstdint>

namespace sinter::cpu {

constexpr int64_t rowPanelColumns = 64, maxPanelRows = 4;

/// How far ahead of the loads AVX-512 fetches weights: hardware alone reads
/// large matrices at two thirds of the memory's rate.
constexpr int64_t rowPanelFetch = 8192;

/// The instructions that multiply panels.
enum class RowUnit { None, Avx2, Avx512 };
/// The widest unit of this CPU.
RowUnit rowUnit();

/// Rows of A; strides in elements.
struct PanelRows {
  const float *data;
  int64_t rowStride, colStride;
};

/// What the panels of one matrix have in common.
struct PanelForm {
  int64_t depth; // k
  int64_t block; // of codes
  float zero;    // of 4-bit codes, if there are none per block
  /// Whether AVX-512 reads float weights ahead. Those that stay in the cache of
  /// level 2 from run to run are read faster without.
  bool readsAhead = true;
};

/// sums[row * 64 + column] = the sum over `depth` of a row of A times a column
/// of the panel.
using PanelFunction = void (*)(const PanelRows &a, const uint8_t *panel,
                               const PanelForm &form, float *sums);

/// Columns of a matrix of float32 where it lies; up to 64. `unit` is not None.
namespace columns_in_place {
/// The matrix begins at the first of `columns` columns. Either the elements of
/// a row are contiguous, and `stride` is between rows, or those of a column.
using Function = void (*)(const PanelRows &a, const float *matrix,
                          int64_t stride, int64_t depth, int64_t columns,
                          float *sums);
/// For 1 to maxPanelRows rows of A, and rows of the matrix that are contiguous.
Function ofRows(RowUnit unit, int64_t rows);
/// For 1 or 2 rows of A that are contiguous, and columns that are, too. A sum
/// is one of 16 lanes, which are added pairwise.
Function ofColumns(RowUnit unit, int64_t rows);
} // namespace columns_in_place

/// Panels of float32 or bf16. They have parts, one after the other: for each k
/// the weights of some columns.
namespace plain_panels {
/// The columns of a part.
constexpr int64_t partColumns(RowUnit unit) {
  return unit == RowUnit::Avx2 ? rowPanelColumns / 2 : rowPanelColumns;
}
/// For 1 to maxPanelRows rows; `unit` is not None.
PanelFunction function(RowUnit unit, uint32_t dtype, int64_t rows);
/// The place of column `column` of a part among the weights of one k. Two
/// columns of bf16, 16 apart, are the halves of one word.
constexpr int64_t placeOf(uint32_t dtype, int64_t column) {
  return dtype == SINTER_BF16
             ? column / 32 * 32 + column % 16 * 2 + column / 16 % 2
             : column;
}
} // namespace plain_panels

/// Panels of the codes of sinter_coded_weights. A block has 64 scales, 64 zero
/// points if blocks have some, and the codes: for each k 64 signed bytes, or
/// for each two k 16 words of 8 codes of 4 bits.
namespace coded_panels {
/// `weights` and the codes of a matrix of `depth` rows and `columns` columns.
struct Source {
  const sinter_coded_weights &weights;
  uint32_t dtype; // of the codes, SINTER_U8 or SINTER_I8
  const uint8_t *codes;
  const float *scales, *zeros; // null: one number for all
  int64_t depth, columns;
};
/// Whether blocks of these weights have zero points in their panels.
bool hasZeros(const sinter_coded_weights &weights, uint32_t dtype);
int64_t bytes(const sinter_coded_weights &weights, uint32_t dtype,
              int64_t depth);
void pack(const Source &source, int64_t panel, uint8_t *to);
PanelForm form(const Source &source);
/// As above.
PanelFunction function(RowUnit unit, const sinter_coded_weights &weights,
                       uint32_t dtype, int64_t rows);

/// Weight [k, column] as a number.
float weightAt(const Source &source, int64_t k, int64_t column);
} // namespace coded_panels

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_ROWPANELS_H
