//===- Norm.cpp - softmax and normalisations: verify ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Checks.h"

using namespace mlir;
using namespace sinter::ir;

#define GET_OP_CLASSES
#include "ir/Norm.cpp.inc"

void SinterDialect::registerNorm() {
  addOperations<
#define GET_OP_LIST
#include "ir/Norm.cpp.inc"
      >();
}

LogicalResult SoftmaxOp::verify() {
  return checkAxis(Report(*this), "axis", getAxis(), getType().getRank());
}

LogicalResult LogSoftmaxOp::verify() {
  return checkAxis(Report(*this), "axis", getAxis(), getType().getRank());
}

/// Checks that `value` has the shape `shape` and the element type of `x`.
static LogicalResult checkLike(const Report &report, StringRef field,
                               Value value, RankedTensorType x,
                               ArrayRef<int64_t> shape) {
  if (failed(checkShape(report, field, value, shape)))
    return failure();
  if (tensorType(value).getElementType() != x.getElementType())
    return report("'", field, "' has element type ",
                  tensorType(value).getElementType(), ", expected ",
                  x.getElementType());
  return success();
}

LogicalResult LayerNormOp::verify() {
  Report report(*this);
  RankedTensorType type = getType();
  if (failed(checkAxis(report, "axis", getAxis(), type.getRank())))
    return failure();
  ArrayRef<int64_t> shape = type.getShape().drop_front(getAxis());
  if (failed(checkLike(report, "scale", getScale(), type, shape)))
    return failure();
  return getBias() ? checkLike(report, "bias", getBias(), type, shape)
                   : success();
}

/// The number of channels of an op over N C ..; fails if the rank is below 2.
static FailureOr<int64_t> channelsOf(const Report &report,
                                     RankedTensorType type) {
  if (type.getRank() < 2)
    return report("'x' has rank ", type.getRank(), ", expected at least 2");
  return type.getDimSize(1);
}

LogicalResult BatchNormOp::verify() {
  Report report(*this);
  auto channels = channelsOf(report, getX().getType());
  return failed(channels) ? failure()
                          : checkLike(report, "scale", getScale(),
                                      getX().getType(), {*channels});
}

LogicalResult BatchNormTrainingOp::verify() {
  Report report(*this);
  auto channels = channelsOf(report, getX().getType());
  return failed(channels) ? failure()
                          : checkLike(report, "scale", getScale(),
                                      getX().getType(), {*channels});
}

LogicalResult GroupNormOp::verify() {
  Report report(*this);
  auto channels = channelsOf(report, getType());
  if (failed(channels))
    return failure();
  int64_t groups = getGroups();
  if (groups < 1 || *channels % groups != 0)
    return report("'groups' is ", groups, ", which does not divide ", *channels,
                  " channels");
  return checkLike(report, "scale", getScale(), getType(), {*channels});
}
