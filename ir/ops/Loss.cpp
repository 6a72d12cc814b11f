//===- Loss.cpp - losses: verify ------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Checks.h"

using namespace mlir;
using namespace sinter::ir;

#define GET_OP_CLASSES
#include "ir/Loss.cpp.inc"

void SinterDialect::registerLoss() {
  addOperations<
#define GET_OP_LIST
#include "ir/Loss.cpp.inc"
      >();
}

LogicalResult SoftmaxCrossEntropyOp::verify() {
  Report report(*this);
  RankedTensorType logits = getLogits().getType();
  if (failed(checkAxis(report, "axis", getAxis(), logits.getRank())))
    return failure();
  SmallVector<int64_t> shape(logits.getShape());
  shape.erase(shape.begin() + getAxis());
  if (failed(checkShape(report, "labels", getLabels(), shape)) ||
      failed(checkShape(report, "losses", getLosses(), shape)))
    return failure();
  if (getType().getElementType() != logits.getElementType())
    return report("'losses' have element type ", getType().getElementType(),
                  ", expected ", logits.getElementType());
  double smoothing = getLabelSmoothing().convertToDouble();
  if (!(smoothing >= 0 && smoothing <= 1))
    return report("'label_smoothing' is ", smoothing, ", expected 0 to 1");
  return success();
}
