//===- TrainingAccumulation.cpp - sums over micro-batches -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/train/TrainingSlots.h"

#include "ir/Locations.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

Accumulation::Accumulation(const BuildTrainingOptions &options,
                           const Sharding &sharding)
    : numParts(options.accumulate), replicas(options.replicas),
      pairwise(options.pairwise), sharding(sharding) {}

namespace {

/// Tells which digits of a binary number are ones, as tensor<i1>.
class Counter {
public:
  Counter(ValueBuilder &b, Value number) : b(b), number(number) {}

  /// Whether all digits below `level` are ones; null (always) for level 0.
  Value carriesTo(int64_t level) {
    if (level == 0)
      return {};
    return b.compare(CompareKind::eq, below(level),
                     scalarI64(b.b, b.loc, (int64_t(1) << level) - 1));
  }
  /// Whether digit `level` and all digits below it are ones.
  Value carriesBeyond(int64_t level) { return carriesTo(level + 1); }

private:
  Value below(int64_t level) {
    return b.make<AndOp>(number,
                         scalarI64(b.b, b.loc, (int64_t(1) << level) - 1));
  }

  ValueBuilder &b;
  Value number;
};

} // namespace

/// Adds `value` to a sum of `levels.size()` levels, whose values before are
/// `before`, as one increments a binary counter. If the digit of a level is 1,
/// the sum of the level is added to `value`, which is carried to the next
/// level; if it is 0, `value` is stored in the level. The whole sum ends in
/// level 0.
static void addPairwise(ValueBuilder &b, Value value, Value microBatch,
                        ArrayRef<StateOp> levels, ArrayRef<Value> before,
                        StateUpdates &updates) {
  ArrayRef<int64_t> shape = tensorType(value).getShape();
  Counter counter(b, microBatch);
  auto choose = [&](Value condition, Value yes, Value no) {
    return condition ? b.where(b.broadcast(condition, shape, {}), yes, no)
                     : yes;
  };
  for (auto [i, state] : llvm::enumerate(levels)) {
    auto level = static_cast<int64_t>(i);
    Value isHere = counter.carriesTo(level);
    Value isOn = counter.carriesBeyond(level);
    // Also stored if it is carried on: nothing reads the level before it is
    // written again.
    updates[state] = choose(isHere, value, before[i]);
    value = choose(isOn, b.add(before[i], value), value);
  }
  Value isWhole = counter.carriesTo(static_cast<int64_t>(levels.size()));
  Value &first = updates[levels.front()];
  first = choose(isWhole, value, first);
}

void Accumulation::add(OpBuilder &builder, func::FuncOp grad,
                       const StepLoss &stepLoss, ArrayRef<TrainedState> states,
                       Value microBatch, StateUpdates &updates) {
  SlotTable slots(grad);
  const int64_t numLevels = pairwise ? llvm::Log2_64(numParts) : 1;
  auto addOne = [&](StringRef name, Value value, StateOp of) {
    Levels levels;
    SmallVector<Value> before;
    for (int64_t i = 0; i < numLevels; ++i) {
      std::string slot = name.str() + (i ? std::to_string(i) : "");
      levels.push_back(
          slots.declare(slot, tensorType(value), of, {}, StateRole::accum));
      before.push_back(slots.argument(levels.back()));
    }
    ValueBuilder b(builder, value.getLoc());
    if (pairwise)
      addPairwise(b, value, microBatch, levels, before, updates);
    else
      updates[levels.front()] = b.add(before.front(), value);
    return levels;
  };
  loss = addOne(kLossSumSlot, stepLoss.loss, {});
  if (stepLoss.count)
    count = addOne("label_count", stepLoss.count, {});
  for (const TrainedState &state : states) {
    ValueBuilder b(builder, state.gradient.getLoc());
    Value gradient = state.isDivided && sharding.dividesSumsOfMicroBatches()
                         ? sharding.sumPart(b, state.gradient)
                         : state.gradient;
    gradients.push_back(addOne("grad", gradient, state.state));
  }
}

Value Accumulation::takeOwn(OpBuilder &builder, func::FuncOp apply,
                            const Levels &levels, StateUpdates &updates) {
  StateOp state = levels.front();
  Value sum = SlotTable(apply).argument(state);
  ValueBuilder b(builder, state.getLoc());
  if (!pairwise)
    updates[state] = b.like(sum, 0);
  return sum;
}

Value Accumulation::takeOne(OpBuilder &builder, func::FuncOp apply,
                            const Levels &levels, StateUpdates &updates) {
  Value sum = takeOwn(builder, apply, levels, updates);
  ValueBuilder b(builder, StateOp(levels.front()).getLoc());
  return sumOverReplicas(b, sum, replicas);
}

void Accumulation::take(OpBuilder &builder, func::FuncOp apply,
                        StepLoss &stepLoss,
                        MutableArrayRef<TrainedState> states,
                        StateUpdates &updates) {
  for (auto [state, levels] : llvm::zip_equal(states, gradients)) {
    if (!state.isDivided) {
      state.gradient = takeOne(builder, apply, levels, updates);
      continue;
    }
    state.gradient = takeOwn(builder, apply, levels, updates);
    ValueBuilder b(builder, state.state.getLoc());
    if (!sharding.dividesSumsOfMicroBatches())
      state.gradient = sharding.sumPart(b, state.gradient);
  }
  ValueBuilder b(builder, partLocation(builder.getContext(), kLossPart));
  stepLoss.loss = takeOne(builder, apply, loss, updates);
  if (!count.empty())
    divideByCount(b, takeOne(builder, apply, count, updates), stepLoss, states);
}

void divideByCount(ValueBuilder &b, Value count, StepLoss &stepLoss,
                   MutableArrayRef<TrainedState> states) {
  // If every example is ignored, the sum is 0, and so is the loss.
  Value counted = b.max(count, 1.0);
  Value factor = b.div(b.like(counted, stepLoss.elements), counted);
  stepLoss.loss = b.mul(stepLoss.loss, factor);
  for (TrainedState &state : states) {
    RankedTensorType type = tensorType(state.gradient);
    state.gradient =
        b.mul(state.gradient, b.broadcast(b.cast(factor, type.getElementType()),
                                          type.getShape(), {}));
  }
}

} // namespace sinter::passes
