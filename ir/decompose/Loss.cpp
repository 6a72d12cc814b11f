//===- Loss.cpp - decompositions of losses --------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/decompose/Compute.h"

using namespace mlir;
using namespace sinter::ir;

SmallVector<Value> SoftmaxCrossEntropyOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getLogits());
  int64_t axis = getAxis();
  double smoothing = getLabelSmoothing().convertToDouble();
  Value logits = c.load(getLogits());
  ArrayRef<int64_t> shape = tensorType(logits).getShape();
  Value greatest = c.make<StopGradientOp>(c.max(logits, axis));
  Value shifted = c.sub(logits, c.spread(greatest, logits, axis));
  Value logSum = c.make<LogOp>(c.sum(c.make<ExpOp>(shifted), axis));

  // A label that is not a class matches no index, so nothing is read out of
  // range.
  Value labels = castTo(c.b, c.loc, getLabels(), c.b.getI64Type());
  auto indexType = RankedTensorType::get(shape, c.b.getI64Type());
  Value classes = c.b.create<IotaOp>(c.loc, indexType, axis);
  Value isLabel =
      c.compare(CompareKind::eq, classes, c.spread(labels, logits, axis));
  Value picked = c.sum(c.where(isLabel, shifted, c.constant(shifted, 0)), axis);

  Value loss =
      c.sub(logSum, smoothing == 0 ? picked : c.mul(picked, 1 - smoothing));
  if (smoothing != 0) {
    double share = smoothing / static_cast<double>(shape[axis]);
    loss = c.sub(loss, c.mul(c.sum(shifted, axis), share));
  }
  if (std::optional<uint64_t> ignored = getIgnoreIndex()) {
    Value ignoredLabel =
        c.fill(scalarI64(c.b, c.loc, static_cast<int64_t>(*ignored)), labels);
    Value isIgnored = c.compare(CompareKind::eq, labels, ignoredLabel);
    loss = c.where(isIgnored, c.constant(loss, 0), loss);
  }
  return {c.store(loss)};
}
