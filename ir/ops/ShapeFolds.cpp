//===- ShapeFolds.cpp - identities of shape ops ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Folders compose an op with the one before it, in place, and remove ops that
// move nothing. They copy no bytes of constants: splats and views are enough
// here.
//
//===----------------------------------------------------------------------===//
#include "ir/ops/Folds.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sinter::ir;

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

/// A splat of the same value in the shape of `type`; nothing if it is not a
/// splat.
static OpFoldResult resizeSplat(Attribute constant, RankedTensorType type) {
  SplatElementsAttr splat = asSplat(constant);
  return splat ? OpFoldResult(splat.resizeSplat(type)) : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// Every element moves
//===----------------------------------------------------------------------===//

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto inner = getX().getDefiningOp<BroadcastOp>()) {
    SmallVector<int64_t> dims;
    for (int64_t dim : inner.getDims())
      dims.push_back(getDims()[dim]);
    setDims(dims);
    getXMutable().assign(inner.getX());
    return getResult();
  }
  return resizeSplat(adaptor.getX(), getType());
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto inner = getX().getDefiningOp<ReshapeOp>()) {
    if (inner.getX().getType() == getType())
      return inner.getX();
    getXMutable().assign(inner.getX());
    return getResult();
  }
  // The same bytes under another type.
  if (auto resource =
          dyn_cast_if_present<DenseResourceElementsAttr>(adaptor.getX()))
    return DenseResourceElementsAttr::get(getType(), resource.getRawHandle());
  if (auto dense = dyn_cast_if_present<DenseElementsAttr>(adaptor.getX()))
    return dense.reshape(getType());
  return {};
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (llvm::equal(getPerm(), llvm::seq<int64_t>(0, getPerm().size())))
    return getX();
  if (auto inner = getX().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> perm;
    for (int64_t dim : getPerm())
      perm.push_back(inner.getPerm()[dim]);
    setPerm(perm);
    getXMutable().assign(inner.getX());
    return getResult();
  }
  return resizeSplat(adaptor.getX(), getType());
}

OpFoldResult ReverseOp::fold(FoldAdaptor adaptor) {
  auto isUnit = [&](int64_t dim) { return getType().getDimSize(dim) <= 1; };
  if (llvm::all_of(getDims(), isUnit) || asSplat(adaptor.getX()))
    return getX();
  auto inner = getX().getDefiningOp<ReverseOp>();
  if (!inner || inner.getDims() != getDims())
    return {};
  return inner.getX();
}

//===----------------------------------------------------------------------===//
// Parts and wholes
//===----------------------------------------------------------------------===//

/// Makes `op` a slice of the operand of `inner`, which is a slice, too.
static LogicalResult composeSlices(SliceOp op, SliceOp inner) {
  SmallVector<int64_t> starts, limits, strides;
  for (auto [dim, size] : llvm::enumerate(op.getType().getShape())) {
    // A start may be at the limit, where nothing follows; then only the size
    // counts.
    int64_t start = inner.getStarts()[dim], stride = 1;
    if (size > 0)
      start += op.getStarts()[dim] * inner.getStrides()[dim];
    if (size > 1 && llvm::MulOverflow(op.getStrides()[dim],
                                      inner.getStrides()[dim], stride))
      return failure();
    starts.push_back(start);
    limits.push_back(size == 0 ? start : start + (size - 1) * stride + 1);
    strides.push_back(stride);
  }
  op.setStarts(starts);
  op.setLimits(limits);
  op.setStrides(strides);
  op.getXMutable().assign(inner.getX());
  return success();
}

/// Makes `op` a slice of the single operand of `concat` from which it takes
/// elements.
static LogicalResult sliceOnePart(SliceOp op, ConcatOp concat) {
  int64_t axis = concat.getAxis(), start = op.getStarts()[axis],
          limit = op.getLimits()[axis];
  if (start == limit)
    return failure();
  int64_t first = 0;
  for (Value part : concat.getInputs()) {
    int64_t end = first + tensorType(part).getDimSize(axis);
    if (start >= first && limit <= end) {
      SmallVector<int64_t> starts(op.getStarts()), limits(op.getLimits());
      starts[axis] -= first;
      limits[axis] -= first;
      op.setStarts(starts);
      op.setLimits(limits);
      op.getXMutable().assign(part);
      return success();
    }
    first = end;
  }
  return failure();
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  // Slices only shrink, so the same shape means the same elements.
  if (getX().getType() == getType())
    return getX();
  auto inner = getX().getDefiningOp<SliceOp>();
  if (inner && succeeded(composeSlices(*this, inner)))
    return getResult();
  auto concat = getX().getDefiningOp<ConcatOp>();
  if (concat && succeeded(sliceOnePart(*this, concat)))
    return getResult();
  return resizeSplat(adaptor.getX(), getType());
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  // Padding only grows, so the same type means no padding.
  return getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getInputs().size() == 1)
    return getInputs().front();
  // Concats along the same axis are joined, and empty operands are left out.
  SmallVector<Value> parts;
  for (Value input : getInputs()) {
    auto inner = input.getDefiningOp<ConcatOp>();
    if (inner && inner.getAxis() == getAxis())
      llvm::append_range(parts, inner.getInputs());
    else
      parts.push_back(input);
  }
  llvm::erase_if(parts, [&](Value part) {
    return tensorType(part).getDimSize(getAxis()) == 0;
  });
  if (parts.empty())
    return getInputs().front();
  if (parts.size() == 1)
    return parts.front();
  if (llvm::equal(parts, getInputs()))
    return {};
  getInputsMutable().assign(parts);
  return getResult();
}
