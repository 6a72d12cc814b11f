//===- TrainingSkip.cpp - steps that change no state ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A step that fails still runs to its end, since the host learns of the failure
// only then: its updates are computed, but the states keep their values.
//
//===----------------------------------------------------------------------===//
#include "passes/train/Training.h"

#include <limits>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

Value isFinite(ValueBuilder &b, Value x) {
  // A comparison with NaN is false.
  return b.compare(CompareKind::le, b.make<AbsOp>(x),
                   double(std::numeric_limits<float>::max()));
}

Value mayChangeStates(OpBuilder &builder, Value loss,
                      const LossScaling &scaling, const IndexChecks &checks,
                      Value indexFaults) {
  ValueBuilder b = optimizerBuilder(builder);
  Value sound = scaling.skipsSteps() ? Value() : isFinite(b, loss);
  if (!checks.any())
    return sound;
  Value inRange = checks.areInRange(builder, indexFaults);
  return sound ? b.make<AndOp>(sound, inRange) : inRange;
}

void keepUnless(OpBuilder &builder, Value condition, func::FuncOp step,
                const StateUpdates &parts, const StateUpdates &others,
                StateUpdates &updates) {
  ValueBuilder b = optimizerBuilder(builder);
  for (BlockArgument argument : step.getArguments()) {
    StateOp state = stateOf(argument);
    auto found = state ? updates.find(state) : updates.end();
    if (found == updates.end() || others.count(state))
      continue;
    auto part = parts.find(state);
    Value before = part == parts.end() ? Value(argument) : part->second;
    Value choice = b.broadcast(condition, tensorType(before).getShape(), {});
    found->second = b.where(choice, found->second, before);
  }
}

} // namespace sinter::passes
