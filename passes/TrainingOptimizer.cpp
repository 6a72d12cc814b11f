//===- TrainingOptimizer.cpp - clipping, slots and updates ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Optimizers and clipping as PyTorch defines them.
//
//===----------------------------------------------------------------------===//
#include "passes/Training.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

constexpr StringLiteral kLater[] = {"lamb", "adagrad", "rmsprop", "lion",
                                    "muon"};

bool isAdam(const BuildTrainingOptions &options) {
  return options.optimizer == "adam" || options.optimizer == "adamw";
}

/// Adds states of the optimizer to the module and to the arguments of @step.
class SlotTable {
public:
  explicit SlotTable(func::FuncOp step)
      : step(step), module(step->getParentOfType<ModuleOp>()), symbols(module) {
  }

  /// The value before the step of a new slot; `of` is null for a program-wide
  /// one.
  std::pair<StateOp, Value> add(StringRef slot, RankedTensorType type,
                                StateOp of) {
    OpBuilder builder(module.getContext());
    StateOp last;
    for (auto state : module.getOps<StateOp>())
      last = state;
    if (last)
      builder.setInsertionPointAfter(last);
    else
      builder.setInsertionPointToStart(module.getBody());
    std::string name = slot.str() + (of ? "/" + of.getSymName().str() : "");
    while (symbols.lookup(name))
      name = "optimizer/" + name;
    auto state = builder.create<StateOp>(
        of ? of.getLoc() : step.getLoc(), name, type, StateRole::slot,
        /*init=*/nullptr, /*trainable=*/false, builder.getStringAttr(slot),
        of ? FlatSymbolRefAttr::get(of) : nullptr,
        /*onnx=*/nullptr);
    symbols.insert(state, Block::iterator(state));
    unsigned index = 0;
    while (index < step.getNumArguments() &&
           !step.getArgAttr(index, SinterDialect::kControlAttr))
      ++index;
    auto attribute = builder.getNamedAttr(SinterDialect::kStateAttr,
                                          FlatSymbolRefAttr::get(state));
    step.insertArgument(index, type, builder.getDictionaryAttr(attribute),
                        state.getLoc());
    return {state, step.getArgument(index)};
  }

private:
  func::FuncOp step;
  ModuleOp module;
  SymbolTable symbols;
};

} // namespace

LogicalResult checkOptimizer(Location loc,
                             const BuildTrainingOptions &options) {
  if (llvm::is_contained(kLater, options.optimizer))
    return emitError(loc) << "optimizer " << options.optimizer << ": not yet";
  bool isSgd = options.optimizer == "sgd";
  if (!isSgd && !isAdam(options))
    return emitError(loc) << "unknown optimizer '" << options.optimizer
                          << "'; there are sgd, adam and adamw";
  if (!isSgd && (options.momentum != 0 || options.nesterov))
    return emitError(loc)
           << "momentum and nesterov belong to the optimizer sgd";
  if (options.nesterov && !(options.momentum > 0))
    return emitError(loc) << "nesterov needs a momentum above 0";
  if (options.momentum < 0 || options.clipNorm < 0 || options.clipValue < 0)
    return emitError(loc)
           << "momentum, clip-norm and clip-value must not be negative";
  for (double beta : {options.beta1, options.beta2})
    if (!(beta >= 0 && beta < 1))
      return emitError(loc) << "beta1 and beta2 must lie in [0, 1)";
  return success();
}

double defaultLearningRate(const BuildTrainingOptions &) { return 1e-3; }
double defaultWeightDecay(const BuildTrainingOptions &options) {
  return options.optimizer == "adamw" ? 1e-2 : 0;
}

void clipGradients(OpBuilder &builder, const BuildTrainingOptions &options,
                   Value clipNorm, MutableArrayRef<TrainedState> states) {
  ValueBuilder b(builder, NameLoc::get(builder.getStringAttr("clip")));
  if (options.clipValue > 0)
    for (TrainedState &state : states)
      state.gradient = b.min(b.max(state.gradient, -options.clipValue),
                             b.like(state.gradient, options.clipValue));
  if (!clipNorm || states.empty())
    return;
  Type f32 = builder.getF32Type();
  Value total;
  for (TrainedState &state : states) {
    Value square = b.square(b.cast(state.gradient, f32));
    Value sum = b.sum(square, firstDims(tensorType(square).getRank()));
    total = total ? b.add(total, sum) : sum;
  }
  Value scale =
      b.min(b.div(clipNorm, b.add(b.sqrt(total), 1e-6)), b.like(clipNorm, 1));
  for (TrainedState &state : states) {
    RankedTensorType type = tensorType(state.gradient);
    Value factor =
        b.broadcast(b.cast(scale, type.getElementType()), type.getShape(), {});
    state.gradient = b.mul(state.gradient, factor);
  }
}

void buildUpdates(OpBuilder &builder, func::FuncOp step,
                  const BuildTrainingOptions &options,
                  const StateSelection &selection,
                  ArrayRef<TrainedState> states, Value lr, Value weightDecay,
                  StateUpdates &updates) {
  SlotTable slots(step);
  auto number = [&](double value) { return builder.getF64FloatAttr(value); };
  ValueBuilder program(builder,
                       NameLoc::get(builder.getStringAttr("optimizer")));
  Value noDecay, count;
  if (isAdam(options) && !states.empty()) {
    auto [state, before] =
        slots.add("t", RankedTensorType::get({}, builder.getI64Type()), {});
    Value after = program.add(before, 1.0);
    updates[state] = after;
    count = program.cast(after, builder.getF32Type());
  }
  for (TrainedState trained : states) {
    Value decay = weightDecay;
    if (!selection.decays(trained.state)) {
      if (!noDecay)
        noDecay = program.like(weightDecay, 0);
      decay = noDecay;
    }
    Location loc = trained.state.getLoc();
    if (isa<UnknownLoc>(loc))
      loc = NameLoc::get(trained.state.getSymNameAttr());
    RankedTensorType type = tensorType(trained.value);
    if (isAdam(options)) {
      auto [mState, m] = slots.add("m", type, trained.state);
      auto [vState, v] = slots.add("v", type, trained.state);
      auto update = builder.create<AdamUpdateOp>(
          loc, trained.value, trained.gradient, m, v, lr, decay, count,
          number(options.beta1), number(options.beta2), number(options.eps),
          options.optimizer == "adamw" ? builder.getUnitAttr() : nullptr);
      updates[trained.state] = update.getNewParam();
      updates[mState] = update.getNewM();
      updates[vState] = update.getNewV();
      continue;
    }
    StateOp velocityState;
    Value velocity;
    if (options.momentum > 0)
      std::tie(velocityState, velocity) =
          slots.add("momentum", type, trained.state);
    auto update = builder.create<SgdUpdateOp>(
        loc, type, velocity ? Type(type) : Type(), trained.value,
        trained.gradient, lr, decay, velocity, number(options.momentum),
        options.nesterov ? builder.getUnitAttr() : nullptr);
    updates[trained.state] = update.getNewParam();
    if (velocity)
      updates[velocityState] = update.getNewVelocity();
  }
}

} // namespace sinter::passes
