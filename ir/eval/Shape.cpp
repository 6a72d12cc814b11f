//===- Shape.cpp - meaning of shape ops -----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Evaluate.h"
#include "ir/eval/Loops.h"

using namespace mlir;
using namespace sinter::ir;

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::evaluate(ArrayRef<Tensor> operands,
                                   SmallVectorImpl<Tensor> &results) {
  FailureOr<Tensor> value = evaluateConstantOp(*this);
  if (failed(value))
    return failure();
  results.push_back(std::move(*value));
  return success();
}

LogicalResult IotaOp::evaluate(ArrayRef<Tensor> operands,
                               SmallVectorImpl<Tensor> &results) {
  Tensor result(getType());
  AxisView view(result.shape(), getAxis());
  for (int64_t i = 0, size = result.size(); i < size; ++i) {
    int64_t index = i / view.inner % view.size;
    if (result.isFloat())
      result.floats[i] = static_cast<double>(index);
    else
      result.ints[i] = index;
  }
  wrapIntegers(result);
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Every element moves
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::evaluate(ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0];
  // A dimension that repeats has stride 0.
  SmallVector<int64_t> from = rowMajorStrides(x.shape()),
                       strides(getType().getRank(), 0);
  for (auto [i, dim] : llvm::enumerate(getDims()))
    strides[dim] = x.shape()[i] == 1 ? 0 : from[i];
  results.push_back(moveElements(getType(), x, strides));
  return success();
}

LogicalResult ReshapeOp::evaluate(ArrayRef<Tensor> operands,
                                  SmallVectorImpl<Tensor> &results) {
  Tensor result(getType());
  result.floats = operands[0].floats;
  result.ints = operands[0].ints;
  results.push_back(std::move(result));
  return success();
}

LogicalResult TransposeOp::evaluate(ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  SmallVector<int64_t> from = rowMajorStrides(operands[0].shape()), strides;
  for (int64_t dim : getPerm())
    strides.push_back(from[dim]);
  results.push_back(moveElements(getType(), operands[0], strides));
  return success();
}

LogicalResult ReverseOp::evaluate(ArrayRef<Tensor> operands,
                                  SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0];
  SmallVector<int64_t> strides = rowMajorStrides(x.shape());
  int64_t start = 0;
  for (int64_t dim : getDims()) {
    start += (x.shape()[dim] - 1) * strides[dim];
    strides[dim] = -strides[dim];
  }
  results.push_back(moveElements(getType(), x, strides, start));
  return success();
}

//===----------------------------------------------------------------------===//
// Parts and wholes
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::evaluate(ArrayRef<Tensor> operands,
                                SmallVectorImpl<Tensor> &results) {
  SmallVector<int64_t> from = rowMajorStrides(operands[0].shape()),
                       strides(from);
  int64_t start = 0;
  for (auto [dim, size] : llvm::enumerate(getType().getShape())) {
    start += getStarts()[dim] * from[dim];
    // A stride may exceed the size, and overflow when multiplied; with one
    // element it is not used.
    strides[dim] = size > 1 ? from[dim] * getStrides()[dim] : 0;
  }
  results.push_back(moveElements(getType(), operands[0], strides, start));
  return success();
}

LogicalResult PadOp::evaluate(ArrayRef<Tensor> operands,
                              SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0];
  Tensor result(getType());
  SmallVector<int64_t> to = rowMajorStrides(result.shape()), strides(to);
  int64_t start = 0;
  for (auto [dim, size] : llvm::enumerate(x.shape())) {
    start += getLow()[dim] * to[dim];
    strides[dim] = size > 1 ? to[dim] * (getInterior()[dim] + 1) : 0;
  }
  withElements(operands[1], result, [](const auto &value, auto &elements) {
    std::fill(elements.begin(), elements.end(), value[0]);
  });
  withElements(x, result, [&](const auto &from, auto &elements) {
    forEachPosition(
        x.shape(), strides, start,
        [&](int64_t i, int64_t position) { elements[position] = from[i]; });
  });
  results.push_back(std::move(result));
  return success();
}

LogicalResult ConcatOp::evaluate(ArrayRef<Tensor> operands,
                                 SmallVectorImpl<Tensor> &results) {
  Tensor result(getType());
  AxisView whole(result.shape(), getAxis());
  int64_t first = 0;
  for (const Tensor &operand : operands) {
    AxisView part(operand.shape(), getAxis());
    int64_t run = part.size * part.inner;
    withElements(operand, result, [&](const auto &from, auto &to) {
      for (int64_t outer = 0; outer < part.outer; ++outer)
        std::copy_n(from.begin() + outer * run, run,
                    to.begin() + whole.at(outer, first, 0));
    });
    first += part.size;
  }
  results.push_back(std::move(result));
  return success();
}
