//===- Shape.cpp - shape ops: verify and infer ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Checks.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sinter::ir;

#define GET_OP_CLASSES
#include "ir/Shape.cpp.inc"

void SinterDialect::registerShape() {
  addOperations<
#define GET_OP_LIST
#include "ir/Shape.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  Report report(*this);
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(getValue())) {
    // IR printed without its resources may be read again, for inspection only.
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    RankedTensorType type = getType();
    int64_t expected =
        type.getNumElements() * elementSizeBytes(type.getElementType());
    if (blob && static_cast<int64_t>(blob->getData().size()) != expected)
      return report("the resource holds ", blob->getData().size(),
                    " bytes, expected ", expected);
    return success();
  }
  if (!isa<DenseElementsAttr>(getValue()))
    return report("the value must be dense or dense_resource");
  return success();
}

LogicalResult IotaOp::verify() {
  return checkAxis(Report(*this), "axis", getAxis(), getType().getRank());
}

//===----------------------------------------------------------------------===//
// Every element moves
//===----------------------------------------------------------------------===//

/// Checks that `x` has the element type of `result`.
static LogicalResult checkElementType(const Report &report, RankedTensorType x,
                                      RankedTensorType result) {
  if (x.getElementType() == result.getElementType())
    return success();
  return report("operand and result have element types ", x.getElementType(),
                " and ", result.getElementType(), ", expected equal ones");
}

LogicalResult BroadcastOp::verify() {
  Report report(*this);
  RankedTensorType from = getX().getType(), to = getType();
  ArrayRef<int64_t> dims = getDims();
  if (static_cast<int64_t>(dims.size()) != from.getRank())
    return report("'dims' has ", dims.size(), " entries, expected ",
                  from.getRank());
  if (failed(checkDims(report, "dims", dims, to.getRank())))
    return failure();
  if (!llvm::is_sorted(dims))
    return report("'dims' are not ascending");
  for (auto [i, dim] : llvm::enumerate(dims))
    if (from.getDimSize(i) != 1 && from.getDimSize(i) != to.getDimSize(dim))
      return report("dimension ", i, " of size ", from.getDimSize(i),
                    " cannot become dimension ", dim, " of size ",
                    to.getDimSize(dim));
  return checkElementType(report, from, to);
}

LogicalResult ReshapeOp::verify() {
  Report report(*this);
  RankedTensorType from = getX().getType(), to = getType();
  if (from.getNumElements() != to.getNumElements())
    return report("turns ", from.getNumElements(), " elements into ",
                  to.getNumElements());
  return checkElementType(report, from, to);
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *context,
                                            std::optional<Location> loc,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  Report report(loc, getOperationName());
  auto type = cast<RankedTensorType>(adaptor.getX().getType());
  ArrayRef<int64_t> perm = adaptor.getPerm();
  if (static_cast<int64_t>(perm.size()) != type.getRank())
    return report("'perm' has ", perm.size(), " entries, expected ",
                  type.getRank());
  if (failed(checkDims(report, "perm", perm, type.getRank())))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim : perm)
    shape.push_back(type.getDimSize(dim));
  types.push_back(withShapeOf(type, shape));
  return success();
}

LogicalResult ReverseOp::verify() {
  return checkDims(Report(*this), "dims", getDims(), getType().getRank());
}

//===----------------------------------------------------------------------===//
// Parts and wholes
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::inferReturnTypes(MLIRContext *context,
                                        std::optional<Location> loc,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  Report report(loc, getOperationName());
  auto type = cast<RankedTensorType>(adaptor.getX().getType());
  ArrayRef<int64_t> starts = adaptor.getStarts(), limits = adaptor.getLimits();
  ArrayRef<int64_t> strides = adaptor.getStrides();
  if (failed(checkList(report, "starts", starts, type.getRank(), 0)) ||
      failed(checkList(report, "limits", limits, type.getRank(), 0)) ||
      failed(checkList(report, "strides", strides, type.getRank(), 1)))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (starts[dim] > limits[dim])
      return report("dimension ", dim, " starts at ", starts[dim],
                    ", after its limit ", limits[dim]);
    if (limits[dim] > type.getDimSize(dim))
      return report("the limit of dimension ", dim, " is ", limits[dim],
                    ", but its size is ", type.getDimSize(dim));
    int64_t length = limits[dim] - starts[dim];
    shape.push_back(length == 0 ? 0 : (length - 1) / strides[dim] + 1);
  }
  types.push_back(withShapeOf(type, shape));
  return success();
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *context,
                                      std::optional<Location> loc,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  Report report(loc, getOperationName());
  auto type = cast<RankedTensorType>(adaptor.getX().getType());
  auto value = cast<RankedTensorType>(adaptor.getValue().getType());
  if (value != withShapeOf(type, {}))
    return report("the padding value has type ", value, ", expected ",
                  withShapeOf(type, {}));
  if (failed(checkList(report, "low", adaptor.getLow(), type.getRank(), 0)) ||
      failed(checkList(report, "high", adaptor.getHigh(), type.getRank(), 0)) ||
      failed(checkList(report, "interior", adaptor.getInterior(),
                       type.getRank(), 0)))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t size = type.getDimSize(dim), between = 0;
    bool overflows = llvm::MulOverflow(std::max<int64_t>(size - 1, 0),
                                       adaptor.getInterior()[dim], between) ||
                     llvm::AddOverflow(size, between, size) ||
                     llvm::AddOverflow(size, adaptor.getLow()[dim], size) ||
                     llvm::AddOverflow(size, adaptor.getHigh()[dim], size);
    if (overflows)
      return report("the padded size of dimension ", dim, " overflows");
    shape.push_back(size);
  }
  types.push_back(withShapeOf(type, shape));
  return success();
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> loc,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  Report report(loc, getOperationName());
  if (adaptor.getInputs().empty())
    return report("has no operand");
  auto first = cast<RankedTensorType>(adaptor.getInputs().front().getType());
  int64_t axis = adaptor.getAxis(), total = 0;
  if (failed(checkAxis(report, "axis", axis, first.getRank())))
    return failure();
  for (auto [i, input] : llvm::enumerate(adaptor.getInputs())) {
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<int64_t> shape(type.getShape());
    if (type.getRank() == first.getRank())
      shape[axis] = first.getDimSize(axis);
    if (withShapeOf(type, shape) != first)
      return report("operand ", i, " has type ", type,
                    ", which does not continue ", first, " along dimension ",
                    axis);
    if (llvm::AddOverflow(total, type.getDimSize(axis), total))
      return report("the size of dimension ", axis, " overflows");
  }
  SmallVector<int64_t> shape(first.getShape());
  shape[axis] = total;
  types.push_back(withShapeOf(first, shape));
  return success();
}

//===----------------------------------------------------------------------===//
// Gather and scatter
//===----------------------------------------------------------------------===//

/// Fails if elements would have to come from an empty dimension of `x`.
static LogicalResult checkSource(const Report &report, RankedTensorType x,
                                 int64_t dim, ArrayRef<int64_t> shape) {
  if (x.getDimSize(dim) != 0 || llvm::is_contained(shape, 0))
    return success();
  return report("dimension ", dim, " of 'x' is empty, but the result is not");
}

/// The shape of the slices of `x` along `axis`, one per index.
static FailureOr<SmallVector<int64_t>> inferGather(const Report &report,
                                                   RankedTensorType x,
                                                   RankedTensorType indices,
                                                   int64_t axis) {
  if (failed(checkAxis(report, "axis", axis, x.getRank())))
    return failure();
  SmallVector<int64_t> shape(x.getShape().take_front(axis));
  llvm::append_range(shape, indices.getShape());
  llvm::append_range(shape, x.getShape().drop_front(axis + 1));
  return shape;
}

/// The shape of the slices of `x` that the tuples of `indices` choose.
static FailureOr<SmallVector<int64_t>> inferGatherNd(const Report &report,
                                                     RankedTensorType x,
                                                     RankedTensorType indices,
                                                     int64_t batchDims) {
  int64_t rank = indices.getRank();
  if (batchDims < 0 || batchDims >= rank || batchDims > x.getRank())
    return report("'batch_dims' is ", batchDims, ", but 'x' has rank ",
                  x.getRank(), " and 'indices' has rank ", rank);
  if (x.getShape().take_front(batchDims) !=
      indices.getShape().take_front(batchDims))
    return report("'x' and 'indices' differ in the ", batchDims,
                  " batch dimensions");
  int64_t tuple = indices.getDimSize(rank - 1);
  if (tuple > x.getRank() - batchDims)
    return report("the index tuples have ", tuple,
                  " entries, but 'x' has only ", x.getRank() - batchDims,
                  " dimensions after the batch");
  SmallVector<int64_t> shape(indices.getShape().drop_back());
  llvm::append_range(shape, x.getShape().drop_front(batchDims + tuple));
  return shape;
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> loc,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  Report report(loc, getOperationName());
  auto shape = inferGather(
      report, x, cast<RankedTensorType>(adaptor.getIndices().getType()),
      adaptor.getAxis());
  if (failed(shape) ||
      failed(checkSource(report, x, adaptor.getAxis(), *shape)))
    return failure();
  types.push_back(withShapeOf(x, *shape));
  return success();
}

LogicalResult IndexFaultOp::inferReturnTypes(MLIRContext *context,
                                             std::optional<Location> loc,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get({2}, IntegerType::get(context, 64)));
  return success();
}

LogicalResult IndexFaultOp::verify() {
  if (static_cast<int64_t>(getLower()) < static_cast<int64_t>(getUpper()))
    return success();
  return Report(*this)("no index is in the range from ",
                       static_cast<int64_t>(getLower()), " to ",
                       static_cast<int64_t>(getUpper()));
}

LogicalResult GatherElementsOp::inferReturnTypes(MLIRContext *context,
                                                 std::optional<Location> loc,
                                                 Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  Report report(loc, getOperationName());
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  auto indices = cast<RankedTensorType>(adaptor.getIndices().getType());
  int64_t axis = adaptor.getAxis();
  if (indices.getRank() != x.getRank())
    return report("'indices' has rank ", indices.getRank(), ", expected ",
                  x.getRank());
  if (failed(checkAxis(report, "axis", axis, x.getRank())))
    return failure();
  for (int64_t dim = 0; dim < x.getRank(); ++dim)
    if (dim != axis && indices.getDimSize(dim) > x.getDimSize(dim))
      return report("dimension ", dim, " of 'indices' has size ",
                    indices.getDimSize(dim), ", but that of 'x' only ",
                    x.getDimSize(dim));
  if (failed(checkSource(report, x, axis, indices.getShape())))
    return failure();
  types.push_back(withShapeOf(x, indices.getShape()));
  return success();
}

LogicalResult GatherNdOp::inferReturnTypes(MLIRContext *context,
                                           std::optional<Location> loc,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  auto indices = cast<RankedTensorType>(adaptor.getIndices().getType());
  Report report(loc, getOperationName());
  auto shape = inferGatherNd(report, x, indices, adaptor.getBatchDims());
  if (failed(shape))
    return failure();
  for (int64_t i = 0; i < indices.getShape().back(); ++i)
    if (failed(checkSource(report, x, adaptor.getBatchDims() + i, *shape)))
      return failure();
  types.push_back(withShapeOf(x, *shape));
  return success();
}

/// Checks what all scatters have in common: the type of the updates, and a kind
/// that suits it.
template <class ScatterLikeOp>
static LogicalResult verifyScatter(const Report &report, ScatterLikeOp op,
                                   ArrayRef<int64_t> shape) {
  if (failed(checkShape(report, "updates", op.getUpdates(), shape)))
    return failure();
  Type element = op.getType().getElementType();
  if (op.getUpdates().getType().getElementType() != element)
    return report("'updates' have element type ",
                  op.getUpdates().getType().getElementType(), ", expected ",
                  element);
  if (op.getKind() != ScatterKind::set && element.isInteger(1))
    return report("kind ", stringifyScatterKind(op.getKind()),
                  " takes numbers, but the operand has element type i1");
  return success();
}

LogicalResult ScatterOp::verify() {
  Report report(*this);
  auto shape =
      inferGather(report, getX().getType(), getIndices().getType(), getAxis());
  return failed(shape) ? failure() : verifyScatter(report, *this, *shape);
}

LogicalResult ScatterElementsOp::verify() {
  Report report(*this);
  RankedTensorType x = getX().getType(), indices = getIndices().getType();
  int64_t axis = getAxis();
  if (indices.getRank() != x.getRank())
    return report("'indices' has rank ", indices.getRank(), ", expected ",
                  x.getRank());
  if (failed(checkAxis(report, "axis", axis, x.getRank())))
    return failure();
  for (int64_t dim = 0; dim < x.getRank(); ++dim)
    if (dim != axis && indices.getDimSize(dim) > x.getDimSize(dim))
      return report("dimension ", dim, " of 'indices' has size ",
                    indices.getDimSize(dim), ", but that of 'x' only ",
                    x.getDimSize(dim));
  return verifyScatter(report, *this, indices.getShape());
}

LogicalResult ScatterNdOp::verify() {
  Report report(*this);
  if (getIndices().getType().getRank() == 0)
    return report("'indices' is a scalar, expected a tensor of index tuples");
  auto shape = inferGatherNd(report, getX().getType(), getIndices().getType(),
                             /*batchDims=*/0);
  return failed(shape) ? failure() : verifyScatter(report, *this, *shape);
}
