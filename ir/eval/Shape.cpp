//===- Shape.cpp - meaning of shape ops -----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Evaluate.h"
#include "ir/eval/Loops.h"

#include "llvm/ADT/TypeSwitch.h"

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

static Walk walkOfBroadcast(BroadcastOp op) {
  // A dimension that repeats has stride 0.
  ArrayRef<int64_t> shape = op.getX().getType().getShape();
  SmallVector<int64_t> from = rowMajorStrides(shape),
                       strides(op.getType().getRank(), 0);
  for (auto [i, dim] : llvm::enumerate(op.getDims()))
    strides[dim] = shape[i] == 1 ? 0 : from[i];
  return {strides};
}

static Walk walkOfTranspose(TransposeOp op) {
  SmallVector<int64_t> from = rowMajorStrides(op.getX().getType().getShape()),
                       strides;
  for (int64_t dim : op.getPerm())
    strides.push_back(from[dim]);
  return {strides};
}

static Walk walkOfReverse(ReverseOp op) {
  ArrayRef<int64_t> shape = op.getX().getType().getShape();
  Walk walk{rowMajorStrides(shape)};
  for (int64_t dim : op.getDims()) {
    walk.start += (shape[dim] - 1) * walk.strides[dim];
    walk.strides[dim] = -walk.strides[dim];
  }
  return walk;
}

static Walk walkOfSlice(SliceOp op) {
  SmallVector<int64_t> from = rowMajorStrides(op.getX().getType().getShape());
  Walk walk{from};
  for (auto [dim, size] : llvm::enumerate(op.getType().getShape())) {
    walk.start += op.getStarts()[dim] * from[dim];
    // A stride may exceed the size, and overflow when multiplied; with one
    // element it is not used.
    walk.strides[dim] = size > 1 ? from[dim] * op.getStrides()[dim] : 0;
  }
  return walk;
}

std::optional<Walk> sinter::ir::walkOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Walk>>(op)
      .Case(walkOfBroadcast)
      .Case(walkOfTranspose)
      .Case(walkOfReverse)
      .Case(walkOfSlice)
      .Default([](Operation *) { return std::optional<Walk>(); });
}

/// The result of an op that has a walk.
static LogicalResult moveAll(Operation *op, ArrayRef<Tensor> operands,
                             SmallVectorImpl<Tensor> &results) {
  Tensor result(tensorType(op->getResult(0)));
  withElements(operands[0], result, [&](const auto &from, auto &to) {
    moveElements(result.shape(), *walkOf(op), from.data(), to.data());
  });
  results.push_back(std::move(result));
  return success();
}

LogicalResult BroadcastOp::evaluate(ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  return moveAll(*this, operands, results);
}

LogicalResult TransposeOp::evaluate(ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  return moveAll(*this, operands, results);
}

LogicalResult ReverseOp::evaluate(ArrayRef<Tensor> operands,
                                  SmallVectorImpl<Tensor> &results) {
  return moveAll(*this, operands, results);
}

LogicalResult ReshapeOp::evaluate(ArrayRef<Tensor> operands,
                                  SmallVectorImpl<Tensor> &results) {
  Tensor result(getType());
  result.floats = operands[0].floats;
  result.ints = operands[0].ints;
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Parts and wholes
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::evaluate(ArrayRef<Tensor> operands,
                                SmallVectorImpl<Tensor> &results) {
  return moveAll(*this, operands, results);
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
