//===- TrainingScale.cpp - loss scaling -----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The rules are those of PyTorch's GradScaler with its defaults. The scale is
// applied to the cotangent of the differentiated value instead of the loss.
// That is equivalent and leaves the reported loss unscaled.
//
//===----------------------------------------------------------------------===//
#include "passes/train/TrainingSlots.h"

#include "ir/Locations.h"
#include "sinter/program_names.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

constexpr double kFirstScale = 65536, kGrowth = 2, kBackoff = 0.5;
constexpr int64_t kGrowthInterval = 2000;

ValueBuilder builderOf(OpBuilder &builder) {
  return {builder, partLocation(builder.getContext(), kLossScalePart)};
}

} // namespace

FailureOr<LossScaling>
LossScaling::create(Location loc, const BuildTrainingOptions &options) {
  LossScaling scaling;
  if (options.lossScale == "none")
    return scaling;
  if (options.lossScale == "dynamic") {
    scaling.isDynamic = true;
    return scaling;
  }
  // The scale must be a finite float32 that is not 0.
  double number = 0;
  if (StringRef(options.lossScale).getAsDouble(number) || !(number > 0) ||
      !std::isfinite(static_cast<float>(number)) ||
      static_cast<float>(number) == 0)
    return emitError(loc) << "loss-scale must be none, dynamic or a number "
                             "above 0, not "
                          << options.lossScale;
  scaling.fixedScale = number;
  return scaling;
}

Value LossScaling::scaleSeed(OpBuilder &builder, func::FuncOp step, Value root,
                             Value seed) {
  if (!isDynamic && fixedScale == 1)
    return seed;
  ValueBuilder b = builderOf(builder);
  Value cotangent = seed ? seed : b.like(root, 1);
  if (!isDynamic)
    return b.mul(cotangent, fixedScale);
  SlotTable slots(step);
  auto scalar = RankedTensorType::get({}, builder.getF32Type()),
       count = RankedTensorType::get({}, builder.getI64Type());
  std::tie(scaleState, scale) = slots.add(SINTER_STATE_LOSS_SCALE, scalar, {},
                                          splatAttr(scalar, kFirstScale));
  growthState = slots.declare(SINTER_STATE_GROWTH_TRACKER, count, {});
  skippedState = slots.declare(SINTER_STATE_SKIPPED_STEPS, count, {});
  RankedTensorType type = tensorType(cotangent);
  return b.mul(cotangent, b.broadcast(b.cast(scale, type.getElementType()),
                                      type.getShape(), {}));
}

void LossScaling::enter(func::FuncOp step, bool isOther) {
  if (!isDynamic)
    return;
  SlotTable slots(step);
  if (isOther)
    scale = slots.argument(scaleState);
  growth = slots.argument(growthState);
  skipped = slots.argument(skippedState);
}

void LossScaling::check(OpBuilder &builder, const Sharding &sharding,
                        ArrayRef<TrainedState> states) {
  if (!isDynamic)
    return;
  ValueBuilder b = builderOf(builder);
  // GradScaler takes the reciprocal in float64. Those of powers of two are
  // exact in float32.
  inverse = b.div(b.like(scale, 1), scale);
  allFinite = sharding.allFinite(builder, b.loc, states);
}

Value LossScaling::unscaled(OpBuilder &builder, Value gradient) const {
  if (!isDynamic && fixedScale == 1)
    return gradient;
  ValueBuilder b = builderOf(builder);
  if (!isDynamic)
    return b.mul(gradient, 1 / fixedScale);
  RankedTensorType type = tensorType(gradient);
  return b.mul(gradient, b.broadcast(b.cast(inverse, type.getElementType()),
                                     type.getShape(), {}));
}

void LossScaling::finish(OpBuilder &builder, func::FuncOp step,
                         const StateUpdates &parts, const StateUpdates &others,
                         StateUpdates &updates) {
  if (!isDynamic)
    return;
  ValueBuilder b = builderOf(builder);
  keepUnless(builder, allFinite, step, parts, others, updates);
  Value one = b.like(growth, 1), none = b.like(growth, 0);
  Value successes = b.add(growth, one);
  Value grows = b.compare(CompareKind::eq, successes, double(kGrowthInterval));
  Value grown = b.mul(scale, kGrowth);
  Value fits = b.compare(CompareKind::le, grown,
                         double(std::numeric_limits<float>::max()));
  Value kept = b.where(b.make<AndOp>(grows, fits), grown, scale);
  updates[scaleState] = b.where(allFinite, kept, b.mul(scale, kBackoff));
  updates[growthState] =
      b.where(allFinite, b.where(grows, none, successes), none);
  newSkipped = b.where(allFinite, skipped, b.add(skipped, one));
  updates[skippedState] = newSkipped;
}

SmallVector<std::pair<StringRef, Value>>
LossScaling::outputs(OpBuilder &builder) const {
  if (!isDynamic)
    return {};
  ValueBuilder b = builderOf(builder);
  return {
      {SINTER_OUTPUT_LOSS_SCALE, scale},
      {SINTER_OUTPUT_SKIPPED_STEPS, b.cast(newSkipped, builder.getF32Type())}};
}

} // namespace sinter::passes
