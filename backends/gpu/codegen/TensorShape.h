//===- TensorShape.h - how tensor cores share a contraction -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A block of threads computes a tile of `rows` x `columns` results in parts of
// `depth` steps of the sum; `stages` parts are in shared memory or being copied
// there. Each warp computes `warpRows` x `warpColumns` of the tile by matrix
// instructions (Intrinsics.h). Operands are read in units of kMatrixOuter rows
// or columns: the columns of two instructions.
//
// A result is one chain of matrix instructions along the sum, each with 16
// steps of 16-bit numbers (8 of tf32), for every tile: its bits depend only on
// the length of the sum. Missing steps at the end are products of zeros.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_GPU_CODEGEN_TENSORSHAPE_H
#define SINTER_BACKENDS_GPU_CODEGEN_TENSORSHAPE_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>

namespace sinter::gpu {

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

  /// Shapes for `batch` products of rows x depth and depth x columns matrices
  /// whose elements have `elementBytes`: first the one that gives enough blocks
  /// work, then smaller and larger ones, none twice. All give the same bits.
  static llvm::SmallVector<TensorShape, 4>
  candidates(int64_t batch, int64_t rows, int64_t columns, int64_t depth,
             int64_t elementBytes);
  /// "128x64x32": rows, columns and depth.
  std::string text() const;
  bool operator==(const TensorShape &) const = default;
};

} // namespace sinter::gpu

#endif // SINTER_BACKENDS_GPU_CODEGEN_TENSORSHAPE_H
