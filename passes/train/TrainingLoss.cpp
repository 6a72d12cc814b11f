//===- TrainingLoss.cpp - losses of @step and sums of @eval ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/train/Training.h"

#include "ir/Locations.h"
#include "passes/OpClasses.h"
#include "sinter/program_names.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// The losses of a batch, one per example (cross-entropy) or element, not yet
/// combined.
struct Losses {
  Value values;  // f32 or f64
  Value counted; // i1 of the same shape: those that are not ignored; null: all
  Value correct; // i1 of the same shape: correct answers; null: not defined
  Value root;    // the logits, if their cotangent is known in closed form, and
  Value slope;   // d value / d root, of the root's type; null otherwise
};

/// Losses and sums are at least f32.
Value widened(ValueBuilder &b, Value value) {
  Type element = tensorType(value).getElementType();
  return element.getIntOrFloatBitWidth() < 32 ? b.cast(value, b.b.getF32Type())
                                              : value;
}

Losses crossEntropy(ValueBuilder &b, const LossPlan &plan,
                    const BuildTrainingOptions &options, Value logits,
                    Value labels, bool wantsCorrect) {
  Losses losses;
  auto argMax = [&](Value x) {
    return b.make<ArgReduceOp>(ReduceKind::max, x,
                               static_cast<uint64_t>(plan.axis));
  };
  if (plan.hasSoftLabels) {
    Value target = b.cast(labels, tensorType(logits).getElementType());
    if (options.labelSmoothing != 0)
      target = b.add(
          b.mul(target, 1 - options.labelSmoothing),
          options.labelSmoothing /
              static_cast<double>(tensorType(logits).getDimSize(plan.axis)));
    Value logs = b.make<LogSoftmaxOp>(logits, static_cast<uint64_t>(plan.axis));
    losses.values = b.neg(b.sum(b.mul(target, logs), {plan.axis}));
    if (wantsCorrect)
      losses.correct =
          b.compare(CompareKind::eq, argMax(logits), argMax(target));
    return losses;
  }
  SmallVector<int64_t> shape =
      dropDims(tensorType(logits).getShape(), SmallVector<int64_t>{plan.axis});
  Value classes = b.reshape(labels, shape);
  bool ignores = options.ignoreIndex != std::numeric_limits<int64_t>::min();
  IntegerAttr ignoreIndex =
      ignores ? b.b.getI64IntegerAttr(options.ignoreIndex) : IntegerAttr();
  Type lossType = withShape(tensorType(logits), shape);
  losses.values = b.make<SoftmaxCrossEntropyOp>(
      lossType, logits, classes, b.b.getI64IntegerAttr(plan.axis), ignoreIndex,
      b.b.getF64FloatAttr(options.labelSmoothing));
  if (ignores)
    losses.counted =
        b.compare(CompareKind::ne, classes,
                  b.like(classes, static_cast<double>(options.ignoreIndex)));
  if (wantsCorrect)
    losses.correct = b.compare(CompareKind::eq, argMax(logits),
                               b.cast(classes, b.b.getI64Type()));
  return losses;
}

/// x (1 - t) + log(1 + exp(-x)), without overflow; its slope is sigmoid(x) - t.
Losses binaryCrossEntropy(ValueBuilder &b, Value logits, Value target,
                          bool wantsCorrect) {
  Value small = b.make<Log1pOp>(b.exp(b.neg(b.make<AbsOp>(logits))));
  Value linear = b.sub(b.make<ReluOp>(logits), b.mul(logits, target));
  Losses losses{b.add(linear, small), {}, {}, logits, {}};
  losses.slope = b.sub(b.make<SigmoidOp>(logits), target);
  if (wantsCorrect)
    losses.correct = b.make<NotOp>(
        b.make<XorOp>(b.compare(CompareKind::gt, logits, b.like(logits, 0)),
                      b.compare(CompareKind::gt, target, b.like(target, 0.5))));
  return losses;
}

/// With delta 1.
Losses huber(ValueBuilder &b, Value difference) {
  Value distance = b.make<AbsOp>(difference);
  Value isNear = b.compare(CompareKind::lt, distance, b.like(distance, 1));
  Value near = b.mul(b.square(difference), 0.5);
  return {b.where(isNear, near, b.add(distance, -0.5)), {}, {}, {}, {}};
}

Losses buildLosses(ValueBuilder &b, const LossPlan &plan,
                   const BuildTrainingOptions &options, Value output,
                   Value labels, bool wantsCorrect) {
  Value logits = widened(b, logitsOf(output, plan));
  auto target = [&] {
    return b.cast(labels, tensorType(logits).getElementType());
  };
  auto difference = [&] { return b.sub(logits, target()); };
  switch (plan.kind) {
  case LossKind::CrossEntropy:
    return crossEntropy(b, plan, options, logits, labels, wantsCorrect);
  case LossKind::Bce:
    return binaryCrossEntropy(b, logits, target(), wantsCorrect);
  case LossKind::Mse:
    return {b.square(difference()), {}, {}, {}, {}};
  case LossKind::L1:
    return {b.make<AbsOp>(difference()), {}, {}, {}, {}};
  case LossKind::Huber:
    return huber(b, difference());
  case LossKind::SoftCrossEntropy: // see LossPlan
  case LossKind::None:             // has no labels
    break;
  }
  llvm_unreachable("not a loss by labels");
}

SmallVector<int64_t> allDims(Value value) {
  return firstDims(tensorType(value).getRank());
}

/// The loss that the graph itself computes, as a scalar.
Value graphLoss(ValueBuilder &b, Value output) { return b.reshape(output, {}); }

Location lossLocation(OpBuilder &builder) {
  return partLocation(builder.getContext(), kLossPart);
}

} // namespace

/// A mask of the `losses` of rows below `validRows`; null if they have no
/// dimensions.
static Value validLosses(ValueBuilder &b, const RowDependence &rows,
                         const LossPlan &plan, Value losses, Value validRows) {
  ArrayRef<int64_t> shape = tensorType(losses).getShape();
  if (shape.empty())
    return {};
  // The logits may have several rows for each row of the batch.
  int64_t perRow =
      plan.batch > 0 ? std::max<int64_t>(shape[0] / plan.batch, 1) : 1;
  RowDim place = rows.dimOf(losses).value_or(RowDim{0, 1, perRow});
  return validMask(b, shape, place, plan.batch, validRows);
}

/// The value of a constant whose elements are one number, maybe broadcast.
static std::optional<double> constantNumber(Value value) {
  for (Operation *op = value.getDefiningOp();
       isa_and_nonnull<BroadcastOp, ReshapeOp, CastOp>(op);
       op = value.getDefiningOp())
    value = op->getOperand(0);
  return splatNumber(value);
}

Operation *findRowSum(Value value, int64_t batch) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return nullptr;
  if (isa<ReshapeOp, CastOp, NegOp>(op))
    return findRowSum(op->getOperand(0), batch);
  // Whether a division by `number` makes a mean of the sum over rows.
  auto isOfRows = [&](double number) {
    const double rows = std::fabs(number) / static_cast<double>(batch);
    return rows > 0.5 && std::fabs(rows - std::round(rows)) < 1e-4 * rows;
  };
  if (isa<DivOp>(op)) {
    std::optional<double> divisor = constantNumber(op->getOperand(1));
    return divisor && !isOfRows(*divisor) ? findRowSum(op->getOperand(0), batch)
                                          : nullptr;
  }
  if (isa<MulOp>(op)) {
    for (unsigned i : {0, 1})
      if (std::optional<double> factor = constantNumber(op->getOperand(i)))
        return *factor != 0 && !isOfRows(1 / *factor)
                   ? findRowSum(op->getOperand(1 - i), batch)
                   : nullptr;
    return nullptr;
  }
  if (isa<AddOp, SubOp>(op)) {
    Operation *first = findRowSum(op->getOperand(0), batch);
    return first ? first : findRowSum(op->getOperand(1), batch);
  }
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce || reduce.getKind() != ReduceKind::sum)
    return nullptr;
  const bool isOverBatch = llvm::is_contained(reduce.getDims(), 0) &&
                           tensorType(reduce.getX()).getDimSize(0) == batch;
  // The rows may have been divided before, or this may be a sum of sums.
  if (Operation *before = reduce.getX().getDefiningOp())
    for (unsigned i = 0; i < before->getNumOperands(); ++i)
      if (std::optional<double> number = constantNumber(before->getOperand(i));
          number && *number != 0 &&
          ((isa<DivOp>(before) && i == 1 && isOfRows(*number)) ||
           (isa<MulOp>(before) && isOfRows(1 / *number))))
        return nullptr;
  return isOverBatch ? op : findRowSum(reduce.getX(), batch);
}

/// Says so if the loss of a batch, which the graph computes, is not the mean of
/// the losses of its parts.
static void warnIfNotMean(ValueBuilder &b, func::FuncOp step,
                          const LossPlan &plan, Value output, int64_t parts) {
  if (plan.batch < 2)
    return; // of one row, a sum is the mean
  const RowDependence rows(step, plan.batch);
  MaskedLoss masked = maskGraphLoss(b, rows, output, plan.batch,
                                    scalarI64(b.b, b.loc, plan.batch));
  Operation *sum = findRowSum(output, plan.batch),
            *mixing = masked.loss ? nullptr : masked.mixedBy;
  if (sum || mixing)
    (sum ? sum : mixing)->emitWarning()
        << "the loss of a step is the mean of the losses of " << parts
        << " parts of the batch, which is not the loss of the whole batch: "
        << (sum ? "this is a sum over rows"
                : "here rows are mixed, and not only by a mean");
}

FailureOr<StepLoss> buildStepLoss(OpBuilder &builder, func::FuncOp step,
                                  const LossPlan &plan,
                                  const BuildTrainingOptions &options,
                                  Value output, Value labels, Value validRows) {
  ValueBuilder b(builder, lossLocation(builder));
  Type f32 = builder.getF32Type();
  // In shards, too, so that sums do not depend on how many a replica has.
  const bool accumulates = options.accumulate > 1,
             countsLater = accumulates || options.pairwise;
  // With micro-batches, sums over replicas come after the last micro-batch.
  const int64_t replicas = accumulates ? 1 : options.replicas;
  const double parts = static_cast<double>(options.replicas) *
                       static_cast<double>(options.accumulate);
  if (plan.kind == LossKind::None) {
    if (validRows)
      return emitError(output.getLoc(),
                       "is the loss of a whole batch: --pad-last-batch needs "
                       "one of the trainer's losses, not --loss=none");
    Value loss = graphLoss(b, output);
    if (parts == 1)
      return StepLoss{b.cast(loss, f32), loss, {}, {}};
    // The mean of the losses of the parts.
    warnIfNotMean(b, step, plan, output, static_cast<int64_t>(parts));
    double share = 1.0 / parts;
    Value mean = b.mul(sumOverReplicas(b, b.cast(loss, f32), replicas), share);
    return StepLoss{mean, loss, b.like(loss, share), {}};
  }
  Losses losses =
      buildLosses(b, plan, options, output, labels, /*wantsCorrect=*/false);
  RankedTensorType type = tensorType(losses.values);
  const RowDependence rows(step, plan.batch);
  Operation *mixedBy = rows.mixedBy(losses.values);
  if (validRows && mixedBy)
    return mixedBy->emitError(
        "mixes the rows of a batch, as far as the compiler can tell, so steps "
        "cannot leave out the rows that pad it: this contradicts "
        "--pad-last-batch");
  Value valid = validRows ? validLosses(b, rows, plan, losses.values, validRows)
                          : Value();
  if (valid) {
    losses.values = b.where(valid, losses.values, b.like(losses.values, 0));
    losses.counted =
        losses.counted ? b.make<AndOp>(losses.counted, valid) : valid;
  }
  Value sum = b.sum(losses.values, allDims(losses.values));
  const double elements =
      parts * static_cast<double>(std::max<int64_t>(type.getNumElements(), 1));
  Value count = b.like(sum, elements), countedHere;
  if (losses.counted && countsLater) {
    countedHere = b.sum(b.cast(losses.counted, f32), allDims(losses.counted));
  } else if (losses.counted) {
    // If every example is ignored, the sum is 0, and so is the loss.
    Value mask = b.cast(losses.counted, type.getElementType());
    Value counted = sumOverReplicas(b, b.sum(mask, allDims(mask)), replicas);
    count = b.max(counted, b.like(sum, 1));
  }
  Value loss = b.div(sum, count);
  StepLoss result{sumOverReplicas(b, b.cast(loss, f32), replicas),
                  loss,
                  {},
                  countedHere,
                  elements,
                  mixedBy};
  if (losses.slope) {
    result.root = losses.root;
    result.seed = b.div(losses.slope, b.broadcast(count, type.getShape(), {}));
    if (valid)
      result.seed = b.where(valid, result.seed, b.like(result.seed, 0));
  }
  return result;
}

/// Sums for a loss of a whole batch that the graph itself computes. Each row
/// adds its share of the loss and counts once. So a mean over rows becomes the
/// mean over all rows of all batches, and a sum over rows that of a batch.
static EvalSums graphSums(ValueBuilder &b, const RowDependence &rows,
                          const LossPlan &plan, Value output, Value validRows) {
  Type f32 = b.b.getF32Type();
  // The number of rows that count. A larger number than the batch means all.
  Value number = b.make<MinOp>(validRows, scalarI64(b.b, b.loc, plan.batch));
  Value count = b.cast(number, f32);
  auto scalar = [&](Value value) { return b.cast(graphLoss(b, value), f32); };
  MaskedLoss masked = maskGraphLoss(b, rows, output, plan.batch, validRows);
  if (masked.loss && plan.batch > 1) {
    Value loss = scalar(masked.loss);
    Value empty = masked.empty ? scalar(masked.empty) : Value();
    if (empty)
      loss = b.sub(loss, empty);
    Value sum = b.mul(loss, static_cast<double>(plan.batch));
    if (empty)
      sum = b.add(sum, b.mul(empty, count));
    return {{{SINTER_OUTPUT_LOSS_SUM, sum}, {SINTER_OUTPUT_LOSS_COUNT, count}},
            nullptr};
  }
  // Otherwise rows cannot be left out, and only whole batches count.
  Value isWhole =
      b.compare(CompareKind::ge, validRows, scalarI64(b.b, b.loc, plan.batch));
  Value loss = scalar(output);
  return {{{SINTER_OUTPUT_LOSS_SUM, b.where(isWhole, loss, b.like(loss, 0))},
           {SINTER_OUTPUT_LOSS_COUNT, b.cast(isWhole, f32)}},
          masked.mixedBy};
}

FailureOr<EvalSums> buildEvalSums(OpBuilder &builder, func::FuncOp eval,
                                  const LossPlan &plan,
                                  const BuildTrainingOptions &options,
                                  Value output, Value labels, Value validRows) {
  ValueBuilder b(builder, lossLocation(builder));
  Type f32 = builder.getF32Type();
  if (plan.kind == LossKind::None)
    return graphSums(b, RowDependence(eval, plan.batch), plan, output,
                     validRows);
  Losses losses =
      buildLosses(b, plan, options, output, labels, /*wantsCorrect=*/true);
  RowDependence rows(eval, plan.batch);
  if (failed(checkRowsIndependent(rows, logitsOf(output, plan))))
    return failure();
  if (rows.mixedBy(losses.values))
    return emitError(output.getLoc(), "has the rows of the batch along another "
                                      "dimension than the labels");
  Value counted = losses.counted;
  if (Value valid = validLosses(b, rows, plan, losses.values, validRows))
    counted = counted ? b.make<AndOp>(counted, valid) : valid;
  auto sumOf = [&](Value value) {
    return b.cast(b.sum(value, allDims(value)), f32);
  };
  Value values = losses.values;
  Value count;
  if (counted) {
    values = b.where(counted, values, b.like(values, 0));
    count = sumOf(b.cast(counted, f32));
  } else {
    count = b.splat(RankedTensorType::get({}, f32), 1);
  }
  EvalSums result{{{SINTER_OUTPUT_LOSS_SUM, sumOf(values)},
                   {SINTER_OUTPUT_LOSS_COUNT, count}},
                  {}};
  if (losses.correct) {
    Value correct =
        counted ? b.make<AndOp>(losses.correct, counted) : losses.correct;
    result.sums.push_back({SINTER_OUTPUT_CORRECT, sumOf(b.cast(correct, f32))});
    result.sums.push_back({SINTER_OUTPUT_CORRECT_COUNT, count});
  }
  return result;
}

} // namespace sinter::passes
