//===- Build.cpp - short forms for building sinter IR ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"

#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace mlir;

namespace sinter::ir {

RankedTensorType withShape(RankedTensorType type, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, type.getElementType());
}

RankedTensorType withElement(RankedTensorType type, Type element) {
  return RankedTensorType::get(type.getShape(), element);
}

SmallVector<int64_t> dropDims(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> kept;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      kept.push_back(size);
  return kept;
}

SmallVector<int64_t> unitDims(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> result(shape);
  for (int64_t dim : dims)
    result[dim] = 1;
  return result;
}

SmallVector<int64_t> allDimsBut(int64_t rank, int64_t dim) {
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < rank; ++i)
    if (i != dim)
      dims.push_back(i);
  return dims;
}

std::optional<SmallVector<int64_t>> broadcastShapes(ArrayRef<int64_t> a,
                                                    ArrayRef<int64_t> b) {
  SmallVector<int64_t> shape(std::max(a.size(), b.size()));
  for (size_t i = 1; i <= shape.size(); ++i) {
    int64_t left = i <= a.size() ? a[a.size() - i] : 1;
    int64_t right = i <= b.size() ? b[b.size() - i] : 1;
    if (left != right && left != 1 && right != 1)
      return std::nullopt;
    shape[shape.size() - i] = left == 1 ? right : left;
  }
  return shape;
}

DenseElementsAttr splatAttr(RankedTensorType type, double value) {
  Type element = type.getElementType();
  if (auto floatType = dyn_cast<FloatType>(element)) {
    llvm::APFloat rounded(value);
    bool losesInfo;
    rounded.convert(floatType.getFloatSemantics(),
                    llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return DenseElementsAttr::get(type, rounded);
  }
  if (element.isInteger(1))
    return DenseElementsAttr::get(type, value != 0);
  bool isSigned = !element.isUnsignedInteger();
  llvm::APSInt integer(element.getIntOrFloatBitWidth(), !isSigned);
  bool isExact;
  llvm::APFloat(value).convertToInteger(integer, llvm::APFloat::rmTowardZero,
                                        &isExact);
  return DenseElementsAttr::get(type,
                                static_cast<const llvm::APInt &>(integer));
}

Value splat(OpBuilder &b, Location loc, RankedTensorType type, double value) {
  return b.create<ConstantOp>(loc, splatAttr(type, value));
}

Value splatLike(OpBuilder &b, Location loc, Value like, double value) {
  return splat(b, loc, tensorType(like), value);
}

Value zerosLike(OpBuilder &b, Location loc, Value like) {
  return splatLike(b, loc, like, 0);
}

Value constantI64(OpBuilder &b, Location loc, ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())},
                                    b.getI64Type());
  return b.create<ConstantOp>(loc, DenseElementsAttr::get(type, values));
}

Value scalarI64(OpBuilder &b, Location loc, int64_t value) {
  auto type = RankedTensorType::get({}, b.getI64Type());
  return b.create<ConstantOp>(loc, DenseElementsAttr::get(type, value));
}

Value broadcastInDim(OpBuilder &b, Location loc, Value v,
                     ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  RankedTensorType type = tensorType(v);
  // If dimensions are in order and ranks are equal, every dimension maps to
  // itself.
  if (type.getShape() == shape)
    return v;
  return b.create<BroadcastOp>(loc, withShape(type, shape), v, dims);
}

Value broadcastTo(OpBuilder &b, Location loc, Value v,
                  ArrayRef<int64_t> shape) {
  int64_t rank = tensorType(v).getRank();
  int64_t first = static_cast<int64_t>(shape.size()) - rank;
  return broadcastInDim(
      b, loc, v, shape,
      llvm::to_vector(llvm::seq<int64_t>(first, first + rank)));
}

Value reshapeTo(OpBuilder &b, Location loc, Value v, ArrayRef<int64_t> shape) {
  RankedTensorType type = tensorType(v);
  if (type.getShape() == shape)
    return v;
  return b.create<ReshapeOp>(loc, withShape(type, shape), v);
}

Value transposeTo(OpBuilder &b, Location loc, Value v, ArrayRef<int64_t> perm) {
  if (llvm::is_sorted(perm))
    return v;
  return b.create<TransposeOp>(loc, v, perm);
}

Value castTo(OpBuilder &b, Location loc, Value v, Type element) {
  RankedTensorType type = tensorType(v);
  if (type.getElementType() == element)
    return v;
  return b.create<CastOp>(loc, withElement(type, element), v);
}

Value sliceAlong(OpBuilder &b, Location loc, Value v, int64_t dim,
                 int64_t begin, int64_t end) {
  RankedTensorType type = tensorType(v);
  if (begin == 0 && end == type.getDimSize(dim))
    return v;
  SmallVector<int64_t> starts(type.getRank(), 0), strides(type.getRank(), 1),
      limits(type.getShape());
  starts[dim] = begin;
  limits[dim] = end;
  return b.create<SliceOp>(loc, v, starts, limits, strides);
}

Value reduceOver(OpBuilder &b, Location loc, ReduceKind kind, Value v,
                 ArrayRef<int64_t> dims) {
  if (dims.empty())
    return v;
  SmallVector<int64_t> sorted(dims);
  llvm::sort(sorted);
  return b.create<ReduceOp>(loc, kind, v, sorted);
}

Value reduceKeep(OpBuilder &b, Location loc, ReduceKind kind, Value v,
                 ArrayRef<int64_t> dims) {
  SmallVector<int64_t> shape = unitDims(tensorType(v).getShape(), dims);
  return reshapeTo(b, loc, reduceOver(b, loc, kind, v, dims), shape);
}

Value spreadOver(OpBuilder &b, Location loc, Value reduced,
                 ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> kept;
  for (int64_t dim = 0, rank = shape.size(); dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      kept.push_back(dim);
  return broadcastInDim(b, loc, reduced, shape, kept);
}

Value reduceMean(OpBuilder &b, Location loc, Value v, ArrayRef<int64_t> dims) {
  double count = 1;
  for (int64_t dim : dims)
    count *= static_cast<double>(tensorType(v).getDimSize(dim));
  Value sum = reduceKeep(b, loc, ReduceKind::sum, v, dims);
  return b.create<DivOp>(loc, sum, splatLike(b, loc, sum, count));
}

} // namespace sinter::ir
