//===- Linear.cpp - meaning of contractions -------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Loops.h"
#include "ir/eval/ScaledRows.h"

using namespace mlir;
using namespace sinter::ir;

/// The positions of all indices over `dims` of a tensor of `shape`, in
/// row-major order.
static std::vector<int64_t> positionsOver(ArrayRef<int64_t> shape,
                                          ArrayRef<int64_t> dims) {
  SmallVector<int64_t> all = rowMajorStrides(shape), sizes, strides;
  for (int64_t dim : dims) {
    sizes.push_back(shape[dim]);
    strides.push_back(all[dim]);
  }
  std::vector<int64_t> positions(sizeOf(sizes));
  forEachPosition(sizes, strides, 0, [&](int64_t i, int64_t position) {
    positions[i] = position;
  });
  return positions;
}

/// The products of one element type; `result` begins with zeros.
template <class T>
static void multiply(DotGeneralOp op, ArrayRef<int64_t> lhsShape,
                     ArrayRef<int64_t> rhsShape, const T *lhs, const T *rhs,
                     T *result) {
  std::vector<int64_t> lhsBatch = positionsOver(lhsShape, op.getLhsBatch()),
                       rhsBatch = positionsOver(rhsShape, op.getRhsBatch()),
                       lhsFree = positionsOver(lhsShape, op.getLhsFree()),
                       rhsFree = positionsOver(rhsShape, op.getRhsFree()),
                       lhsInner = positionsOver(lhsShape, op.getLhsContract()),
                       rhsInner = positionsOver(rhsShape, op.getRhsContract());
  const auto columns = static_cast<int64_t>(rhsFree.size()),
             depth = static_cast<int64_t>(rhsInner.size());
  const auto rows = static_cast<int64_t>(lhsFree.size());
  std::vector<T> block(kScaleLists * depth), matrix(depth * columns);
  T *sums[kScaleLists];
  const T *scales[kScaleLists];
  for (size_t batch = 0; batch < lhsBatch.size(); ++batch) {
    T *to = matrix.data();
    for (int64_t inner : rhsInner)
      for (int64_t column : rhsFree)
        *to++ = rhs[rhsBatch[batch] + inner + column];
    for (int64_t begin = 0; begin < rows; begin += kScaleLists) {
      const int64_t lists = std::min(kScaleLists, rows - begin);
      for (int64_t l = 0; l < lists; ++l) {
        T *row = block.data() + l * depth;
        for (int64_t k = 0; k < depth; ++k)
          row[k] = lhs[lhsBatch[batch] + lhsFree[begin + l] + lhsInner[k]];
        scales[l] = row;
        sums[l] = result;
        result += columns;
      }
      addScaledRows(sums, columns, scales, lists, matrix.data(), depth);
    }
  }
}

LogicalResult DotGeneralOp::evaluate(ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  const Tensor &lhs = operands[0], &rhs = operands[1];
  Tensor result(getType());
  if (result.size() != 0)
    withNumbers(
        [&](const auto *a, const auto *b, auto *sums) {
          multiply(*this, lhs.shape(), rhs.shape(), a, b, sums);
        },
        lhs, rhs, result);
  wrapIntegers(result);
  results.push_back(std::move(result));
  return success();
}
