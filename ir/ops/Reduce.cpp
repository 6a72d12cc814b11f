//===- Reduce.cpp - reductions: verify and infer --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Checks.h"

using namespace mlir;
using namespace sinter::ir;

#define GET_OP_CLASSES
#include "ir/Reduce.cpp.inc"

void SinterDialect::registerReduce() {
  addOperations<
#define GET_OP_LIST
#include "ir/Reduce.cpp.inc"
      >();
}

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> loc,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  Report report(loc, getOperationName());
  auto type = cast<RankedTensorType>(adaptor.getX().getType());
  ArrayRef<int64_t> dims = adaptor.getDims();
  if (failed(checkDims(report, "dims", dims, type.getRank())))
    return failure();
  if (!llvm::is_sorted(dims))
    return report("'dims' are not ascending");
  ReduceKind kind = adaptor.getKind();
  bool isLogical = kind == ReduceKind::all || kind == ReduceKind::any;
  if (isLogical != type.getElementType().isInteger(1))
    return report("kind ", stringifyReduceKind(kind),
                  isLogical ? " takes i1" : " takes numbers",
                  ", but the operand has element type ", type.getElementType());

  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      shape.push_back(size);
  types.push_back(withShapeOf(type, shape));
  return success();
}

LogicalResult ArgReduceOp::inferReturnTypes(MLIRContext *context,
                                            std::optional<Location> loc,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  Report report(loc, getOperationName());
  auto type = cast<RankedTensorType>(adaptor.getX().getType());
  ReduceKind kind = adaptor.getKind();
  if (kind != ReduceKind::max && kind != ReduceKind::min)
    return report("kind is ", stringifyReduceKind(kind),
                  ", expected max or min");
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(report, "axis", axis, type.getRank())))
    return failure();
  if (type.getDimSize(axis) == 0)
    return report("dimension ", axis,
                  " is empty and has no greatest or smallest element");
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + axis);
  types.push_back(RankedTensorType::get(shape, IntegerType::get(context, 64)));
  return success();
}

/// The type of the reduce_window of `type` with the window of `op`, an adaptor
/// or an op.
template <class WindowOp>
static FailureOr<RankedTensorType>
inferWindow(const Report &report, RankedTensorType type, WindowOp op) {
  int64_t rank = type.getRank();
  if (failed(checkList(report, "window", op.getWindow(), rank, 1)) ||
      failed(checkList(report, "strides", op.getStrides(), rank, 1)) ||
      failed(checkList(report, "dilations", op.getDilations(), rank, 1)) ||
      failed(checkList(report, "pads_low", op.getPadsLow(), rank, 0)) ||
      failed(checkList(report, "pads_high", op.getPadsHigh(), rank, 0)))
    return failure();
  SmallVector<int64_t> shape(rank);
  for (int64_t dim = 0; dim < rank; ++dim) {
    Window window{op.getWindow()[dim], op.getStrides()[dim],
                  op.getDilations()[dim], op.getPadsLow()[dim],
                  op.getPadsHigh()[dim]};
    auto count = countWindows(report, dim, type.getDimSize(dim), window);
    if (failed(count))
      return failure();
    shape[dim] = *count;
  }
  return withShapeOf(type, shape);
}

LogicalResult ReduceWindowOp::inferReturnTypes(MLIRContext *context,
                                               std::optional<Location> loc,
                                               Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  Report report(loc, getOperationName());
  ReduceKind kind = adaptor.getKind();
  if (kind != ReduceKind::sum && kind != ReduceKind::max &&
      kind != ReduceKind::min)
    return report("kind is ", stringifyReduceKind(kind),
                  ", expected sum, max or min");
  auto type = inferWindow(
      report, cast<RankedTensorType>(adaptor.getX().getType()), adaptor);
  if (failed(type))
    return failure();
  types.push_back(*type);
  return success();
}

LogicalResult ReduceWindowGradOp::verify() {
  Report report(*this);
  if (getKind() != ReduceKind::sum && getKind() != ReduceKind::max)
    return report("kind is ", stringifyReduceKind(getKind()),
                  ", expected max or sum");
  auto type = inferWindow(report, getX().getType(), *this);
  if (failed(type))
    return failure();
  if (*type != getOutputGrad().getType())
    return report("'output_grad' has type ", getOutputGrad().getType(),
                  ", but the reduce_window has type ", *type);
  return success();
}

LogicalResult CumulativeOp::verify() {
  Report report(*this);
  if (getKind() != ReduceKind::sum && getKind() != ReduceKind::prod)
    return report("kind is ", stringifyReduceKind(getKind()),
                  ", expected sum or prod");
  return checkAxis(report, "axis", getAxis(), getType().getRank());
}

LogicalResult CumulativePartsOp::verify() {
  Report report(*this);
  if (getKind() != ReduceKind::sum && getKind() != ReduceKind::prod)
    return report("kind is ", stringifyReduceKind(getKind()),
                  ", expected sum or prod");
  RankedTensorType type = getType();
  int64_t axis = getAxis(), part = getPart();
  if (failed(checkAxis(report, "axis", axis, type.getRank())))
    return failure();
  if (part < 1)
    return report("'part' is ", part, ", expected at least 1");
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = shape[axis] > 0 ? (shape[axis] - 1) / part : 0;
  Type element = type.getElementType();
  if (element.isBF16() || element.isF16())
    element = Float32Type::get(getContext());
  auto expected = RankedTensorType::get(shape, element);
  if (getStarts().getType() != expected)
    return report("'starts' has type ", getStarts().getType(), ", expected ",
                  expected);
  return success();
}

LogicalResult TopKOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location> loc,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  Report report(loc, getOperationName());
  auto type = cast<RankedTensorType>(adaptor.getX().getType());
  int64_t axis = adaptor.getAxis(), k = adaptor.getK();
  if (failed(checkAxis(report, "axis", axis, type.getRank())))
    return failure();
  if (k < 0 || k > type.getDimSize(axis))
    return report("'k' is ", k, ", expected 0 to ", type.getDimSize(axis),
                  ", the size of dimension ", axis);
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = k;
  types.push_back(withShapeOf(type, shape));
  types.push_back(RankedTensorType::get(shape, IntegerType::get(context, 64)));
  return success();
}
