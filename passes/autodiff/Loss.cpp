//===- Loss.cpp - gradient rules of losses --------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/Rules.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// dx = (softmax(x) - target) g, and 0 for examples that are ignored.
void softmaxCrossEntropyRule(SoftmaxCrossEntropyOp op, OpGradient &g) {
  Value logits = op.getLogits();
  RankedTensorType type = tensorType(logits);
  int64_t axis = op.getAxis();
  double smoothing = op.getLabelSmoothing().convertToDouble();
  double classes = static_cast<double>(type.getDimSize(axis));
  Value labels = g.cast(op.getLabels(), g.b.getI64Type());

  Value index = g.iota(withElement(type, g.b.getI64Type()), axis);
  Value isLabel =
      g.compare(CompareKind::eq, g.unreduce(labels, {axis}, index), index);
  Value elsewhere = g.like(logits, smoothing / classes);
  Value target = g.where(
      isLabel, g.like(logits, 1 - smoothing + smoothing / classes), elsewhere);
  Value difference =
      g.sub(g.make<SoftmaxOp>(logits, static_cast<uint64_t>(axis)), target);

  Value weight = g.grad();
  if (IntegerAttr ignoreIndex = op.getIgnoreIndexAttr()) {
    Value ignored = g.compare(CompareKind::eq, labels,
                              static_cast<double>(ignoreIndex.getInt()));
    weight = g.where(ignored, g.like(weight, 0), weight);
  }
  g.give(0, g.mul(difference, g.unreduce(weight, {axis}, logits)));
}

} // namespace

void addLossRules(GradientRules &rules) {
  rules.add<SoftmaxCrossEntropyOp>(softmaxCrossEntropyRule);
}

} // namespace sinter::passes
