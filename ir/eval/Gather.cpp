//===- Gather.cpp - meaning of gather and scatter ops ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// These ops belong to the family Shape.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Loops.h"

#include <algorithm>

using namespace mlir;
using namespace sinter::ir;

/// The position of `index` in a dimension of `size` > 0, clamped to it.
static int64_t clampIndex(int64_t index, int64_t size) {
  return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size - 1);
}

/// The position of `index` in a dimension of `size`; nothing if it is outside.
static std::optional<int64_t> checkIndex(int64_t index, int64_t size) {
  int64_t position = index < 0 ? index + size : index;
  if (position < 0 || position >= size)
    return std::nullopt;
  return position;
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::evaluate(ArrayRef<Tensor> operands,
                                 SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0], &indices = operands[1];
  Tensor result(getType());
  AxisView view(x.shape(), getAxis());
  int64_t count = indices.size();
  if (result.size() != 0)
    withElements(x, result, [&](const auto &from, auto &to) {
      for (int64_t outer = 0; outer < view.outer; ++outer)
        for (int64_t i = 0; i < count; ++i) {
          int64_t slice = clampIndex(indices.ints[i], view.size);
          std::copy_n(from.begin() + view.at(outer, slice, 0), view.inner,
                      to.begin() + (outer * count + i) * view.inner);
        }
    });
  results.push_back(std::move(result));
  return success();
}

/// The strides of `shape`, with 0 for `axis`, whose position an index gives.
static SmallVector<int64_t> stridesBeside(ArrayRef<int64_t> shape,
                                          int64_t axis) {
  SmallVector<int64_t> strides = rowMajorStrides(shape);
  strides[axis] = 0;
  return strides;
}

LogicalResult GatherElementsOp::evaluate(ArrayRef<Tensor> operands,
                                         SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0], &indices = operands[1];
  Tensor result(getType());
  int64_t axis = getAxis(), size = x.shape()[axis];
  int64_t stride = rowMajorStrides(x.shape())[axis];
  withElements(x, result, [&](const auto &from, auto &to) {
    forEachPosition(
        result.shape(), stridesBeside(x.shape(), axis), 0,
        [&](int64_t i, int64_t position) {
          to[i] = from[position + clampIndex(indices.ints[i], size) * stride];
        });
  });
  results.push_back(std::move(result));
  return success();
}

LogicalResult GatherNdOp::evaluate(ArrayRef<Tensor> operands,
                                   SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0], &indices = operands[1];
  Tensor result(getType());
  if (result.size() == 0) {
    results.push_back(std::move(result));
    return success();
  }
  int64_t batchDims = getBatchDims(), tuple = indices.shape().back();
  SmallVector<int64_t> strides = rowMajorStrides(x.shape());
  int64_t batches = sizeOf(x.shape().take_front(batchDims));
  int64_t batchSize = sizeOf(x.shape().drop_front(batchDims));
  int64_t sliceSize = sizeOf(x.shape().drop_front(batchDims + tuple));
  int64_t tuples = sizeOf(indices.shape().drop_back()) / batches;
  withElements(x, result, [&](const auto &from, auto &to) {
    for (int64_t i = 0; i < batches * tuples; ++i) {
      int64_t position = i / tuples * batchSize;
      for (int64_t k = 0; k < tuple; ++k) {
        int64_t dim = batchDims + k;
        position += clampIndex(indices.ints[i * tuple + k], x.shape()[dim]) *
                    strides[dim];
      }
      std::copy_n(from.begin() + position, sliceSize,
                  to.begin() + i * sliceSize);
    }
  });
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

/// Applies one update to element `to` of `result`.
static void update(ScatterKind kind, Tensor &result, int64_t to,
                   const Tensor &updates, int64_t from) {
  if (kind == ScatterKind::set)
    return result.copyElement(to, updates, from);
  if (result.isFloat()) {
    double &old = result.floats[to], value = updates.floats[from];
    old = kind == ScatterKind::sum    ? old + value
          : kind == ScatterKind::prod ? old * value
          : kind == ScatterKind::max  ? maximum(old, value)
                                      : minimum(old, value);
    return;
  }
  int64_t &old = result.ints[to], value = updates.ints[from];
  bool isLess = lessInt(old, value, result.isUnsigned());
  old = kind == ScatterKind::sum    ? wrapAdd(old, value)
        : kind == ScatterKind::prod ? wrapMul(old, value)
        : kind == ScatterKind::max  ? (isLess ? value : old)
                                    : (isLess ? old : value);
}

LogicalResult ScatterOp::evaluate(ArrayRef<Tensor> operands,
                                  SmallVectorImpl<Tensor> &results) {
  Tensor result = operands[0];
  const Tensor &indices = operands[1], &updates = operands[2];
  AxisView view(result.shape(), getAxis());
  int64_t count = indices.size();
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (int64_t i = 0; i < count; ++i)
      if (auto slice = checkIndex(indices.ints[i], view.size))
        for (int64_t inner = 0; inner < view.inner; ++inner)
          update(getKind(), result, view.at(outer, *slice, inner), updates,
                 (outer * count + i) * view.inner + inner);
  wrapIntegers(result);
  results.push_back(std::move(result));
  return success();
}

LogicalResult ScatterElementsOp::evaluate(ArrayRef<Tensor> operands,
                                          SmallVectorImpl<Tensor> &results) {
  Tensor result = operands[0];
  const Tensor &indices = operands[1], &updates = operands[2];
  int64_t axis = getAxis(), size = result.shape()[axis];
  int64_t stride = rowMajorStrides(result.shape())[axis];
  forEachPosition(updates.shape(), stridesBeside(result.shape(), axis), 0,
                  [&](int64_t i, int64_t position) {
                    if (auto index = checkIndex(indices.ints[i], size))
                      update(getKind(), result, position + *index * stride,
                             updates, i);
                  });
  wrapIntegers(result);
  results.push_back(std::move(result));
  return success();
}

LogicalResult ScatterNdOp::evaluate(ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  Tensor result = operands[0];
  const Tensor &indices = operands[1], &updates = operands[2];
  int64_t tuple = indices.shape().back();
  SmallVector<int64_t> strides = rowMajorStrides(result.shape());
  int64_t sliceSize = sizeOf(result.shape().drop_front(tuple));
  int64_t tuples = sizeOf(indices.shape().drop_back());
  for (int64_t i = 0; i < tuples; ++i) {
    int64_t position = 0;
    bool isInside = true;
    for (int64_t k = 0; k < tuple && isInside; ++k) {
      auto index = checkIndex(indices.ints[i * tuple + k], result.shape()[k]);
      isInside = index.has_value();
      position += index.value_or(0) * strides[k];
    }
    for (int64_t j = 0; isInside && j < sliceSize; ++j)
      update(getKind(), result, position + j, updates, i * sliceSize + j);
  }
  wrapIntegers(result);
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

LogicalResult IndexFaultOp::evaluate(ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  Tensor result(getType());
  const auto &indices = operands[0].ints;
  const int64_t lower = getLower(), upper = getUpper();
  for (size_t i = 0; i < indices.size(); ++i)
    if (indices[i] < lower || indices[i] >= upper) {
      result.ints[0] = int64_t(i) + 1;
      result.ints[1] = indices[i];
      break;
    }
  results.push_back(std::move(result));
  return success();
}
