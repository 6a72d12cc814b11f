//===- MatmulPlan.h - the shape of a product and how it is cut --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Pure arithmetic on a sinter_matmul: the smallest equivalent problem, and the
// slices in which it is computed. What must stay true: nothing here depends on
// the number of threads.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_MATMULPLAN_H
#define SINTER_BACKENDS_CPU_DEVICE_MATMULPLAN_H

#include "backends/cpu/device/Partition.h"
#include "sinter/abi.h"

#include <algorithm>
#include <cstdint>

namespace sinter::cpu {

/// Strides of one operand, in elements: rows, columns, and per batch dimension.
struct Strides {
  int64_t row = 0, col = 0;
  int64_t batch[SINTER_MAX_BATCH_DIMS] = {};
};

/// Rows of A in groups: rows of a group are the shape's stride apart, groups
/// this one.
struct RowGroups {
  int64_t size;
  int64_t stride = 0; // in elements; of no meaning if all rows are one group
};

/// C[b] = A[b] * B[b] with A m x k, B k x n, C m x n. Batch dimensions of size
/// 1 are removed, adjacent ones are merged if possible, and a batch that only
/// extends m is folded into it. If possible, C's rows are contiguous.
struct MatmulShape {
  int batchRank = 0;
  int64_t batch[SINTER_MAX_BATCH_DIMS] = {};
  int64_t m = 0, n = 0, k = 0;
  Strides a, b, c;
  bool transposed =
      false; // operands were swapped: C is the original's transpose

  static MatmulShape simplify(const sinter_matmul &params);
  /// Becomes C^T = B^T * A^T.
  void transpose();
  /// If all products of a batch have the same B, and the rows of their results
  /// are one stride apart in some order, joins them into one product. Otherwise
  /// changes nothing. Returns the groups of rows of A, one if nothing changed.
  RowGroups joinBatch();

  int64_t batchCount() const;
  /// The product of all batch dimensions except the last, and the last.
  int64_t outerCount() const;
  int64_t innerCount() const { return batchRank ? batch[batchRank - 1] : 1; }
  int64_t innerStride(const Strides &strides) const {
    return batchRank ? strides.batch[batchRank - 1] : 0;
  }
  /// Offset in elements of product `batch` of all.
  int64_t batchOffset(const Strides &strides, int64_t batch) const {
    if (batch == 0) // often the only one: without the divisions
      return 0;
    return outerOffset(strides, batch / innerCount()) +
           batch % innerCount() * innerStride(strides);
  }
  /// True if all products have the same B.
  bool sharesB() const {
    return std::all_of(b.batch, b.batch + batchRank,
                       [](int64_t stride) { return stride == 0; });
  }
  /// Offset in elements of outer batch index `outer`.
  int64_t outerOffset(const Strides &strides, int64_t outer) const;
  bool empty() const { return m == 0 || n == 0 || batchCount() == 0; }
  /// True if the library can read the rows x cols operand in place: one stride
  /// is 1, the other is at least a whole line, and each stride, including that
  /// of the inner batch, is at least the extent of the smaller ones. The last
  /// condition fails for every second row of matrices with an odd number of
  /// rows.
  bool isPlain(const Strides &strides, int64_t rows, int64_t cols) const;
};

/// How operands reach the library.
enum class MatmulMode {
  Direct,  // A and B as they are in memory
  PackedB, // B packed at load; rows of A dense
};

/// The slices: inner batch x m x n x k pieces, for every outer batch index.
/// With several k pieces, each has its own partial result.
struct MatmulPlan {
  Partition batch, m, n, k;

  static MatmulPlan make(const MatmulShape &shape, MatmulMode mode);

  int64_t slicesPerOuter() const {
    return batch.count() * m.count() * n.count() * k.count();
  }

private:
  void cutPacked(const MatmulShape &shape, int64_t wanted);
  void cutDirect(const MatmulShape &shape, int64_t pieces, int64_t batchSlices);
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_MATMULPLAN_H
