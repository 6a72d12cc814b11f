//===- TensorShape.h - how tensor cores share a contraction -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A block of threads computes a tile of `rows` x `columns` results in parts of
// `depth` steps of the sum; `stages` parts are in shared memory or being copied
// there. Each warp computes `warpRows` x `warpColumns` of the tile by mma.sync.
//
// A result is one chain of matrix instructions along the sum, each with 16
// steps of 16-bit numbers (8 of tf32), for every tile: its bits depend only on
// the length of the sum. Missing steps at the end are products of zeros.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_CODEGEN_TENSORSHAPE_H
#define SINTER_BACKENDS_CUDA_CODEGEN_TENSORSHAPE_H

#include <cstdint>

namespace sinter::cuda {

/// Rows of a matrix instruction. Operands are read in units of this: the
/// columns of two instructions.
inline constexpr int64_t kMatrixOuter = 16;
/// Columns of a matrix instruction.
inline constexpr int64_t kMatrixColumns = 8;

/// All numbers except the stages are powers of two.
struct TensorShape {
  int64_t rows, columns, depth;
  int64_t warpRows, warpColumns;
  int64_t stages;

  int64_t warps() const { return rows / warpRows * (columns / warpColumns); }
  int64_t threads() const;
  /// Bytes of shared memory for a part of the sum.
  int64_t stageBytes(int64_t elementBytes) const {
    return (rows + columns) * depth * elementBytes;
  }

  /// For `batch` products of rows x depth and depth x columns matrices whose
  /// elements have `elementBytes`.
  static TensorShape choose(int64_t batch, int64_t rows, int64_t columns,
                            int64_t depth, int64_t elementBytes);
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_CODEGEN_TENSORSHAPE_H
