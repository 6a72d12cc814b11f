//===- Linear.cpp - meaning of contractions -------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Loops.h"

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

LogicalResult DotGeneralOp::evaluate(ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  const Tensor &lhs = operands[0], &rhs = operands[1];
  Tensor result(getType());
  if (result.size() == 0) {
    results.push_back(std::move(result));
    return success();
  }
  std::vector<int64_t> lhsBatch = positionsOver(lhs.shape(), getLhsBatch());
  std::vector<int64_t> rhsBatch = positionsOver(rhs.shape(), getRhsBatch());
  std::vector<int64_t> lhsFree = positionsOver(lhs.shape(), getLhsFree());
  std::vector<int64_t> rhsFree = positionsOver(rhs.shape(), getRhsFree());
  std::vector<int64_t> lhsInner = positionsOver(lhs.shape(), getLhsContract());
  std::vector<int64_t> rhsInner = positionsOver(rhs.shape(), getRhsContract());

  int64_t to = 0;
  for (size_t batch = 0; batch < lhsBatch.size(); ++batch)
    for (int64_t row : lhsFree)
      for (int64_t column : rhsFree) {
        int64_t left = lhsBatch[batch] + row, right = rhsBatch[batch] + column;
        if (result.isFloat()) {
          double sum = 0;
          for (size_t k = 0; k < lhsInner.size(); ++k)
            sum += lhs.floats[left + lhsInner[k]] *
                   rhs.floats[right + rhsInner[k]];
          result.floats[to++] = sum;
        } else {
          int64_t sum = 0;
          for (size_t k = 0; k < lhsInner.size(); ++k)
            sum = wrapAdd(sum, wrapMul(lhs.ints[left + lhsInner[k]],
                                       rhs.ints[right + rhsInner[k]]));
          result.ints[to++] = sum;
        }
      }
  wrapIntegers(result);
  results.push_back(std::move(result));
  return success();
}
