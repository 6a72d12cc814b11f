//===- TrainingOptimizer.cpp - clipping, slots and updates ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Optimizers and clipping as PyTorch defines them.
//
//===----------------------------------------------------------------------===//
#include "passes/train/Training.h"
#include "passes/train/TrainingSlots.h"

#include "ir/Locations.h"
#include "sinter/program_names.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

ValueBuilder optimizerBuilder(OpBuilder &builder) {
  return {builder, partLocation(builder.getContext(), kOptimizerPart)};
}

namespace {

/// The parameters of an optimizer with their default values; nothing for one
/// that it does not take. All take `lr` and `weightDecay`.
struct Optimizer {
  OptimizerKind kind;
  double lr = 1e-3, weightDecay = 0;
  std::optional<double> momentum = {}, beta1 = {}, beta2 = {}, eps = {};
};

/// PyTorch's defaults; those of LAMB and Lion are from their papers. `beta2` of
/// rmsprop is PyTorch's alpha.
constexpr Optimizer kOptimizers[] = {
    {.kind = OptimizerKind::Sgd, .momentum = 0},
    {.kind = OptimizerKind::Adam, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8},
    {.kind = OptimizerKind::AdamW,
     .weightDecay = 1e-2,
     .beta1 = 0.9,
     .beta2 = 0.999,
     .eps = 1e-8},
    {.kind = OptimizerKind::Lamb, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-6},
    {.kind = OptimizerKind::Adagrad, .lr = 1e-2, .eps = 1e-10},
    {.kind = OptimizerKind::RmsProp,
     .lr = 1e-2,
     .momentum = 0,
     .beta2 = 0.99,
     .eps = 1e-8},
    {.kind = OptimizerKind::Lion, .lr = 1e-4, .beta1 = 0.9, .beta2 = 0.99},
    // Betas and eps are those of the AdamW that muon uses for other states.
    {.kind = OptimizerKind::Muon,
     .weightDecay = 0.1,
     .momentum = 0.95,
     .beta1 = 0.9,
     .beta2 = 0.999,
     .eps = 1e-8},
};

/// torch.optim.Muon's eps and ns_steps.
constexpr double kMuonEpsilon = 1e-7;
constexpr int64_t kMuonSteps = 5;

constexpr bool areInOrder() {
  for (size_t i = 0; i < std::size(kOptimizers); ++i)
    if (size_t(kOptimizers[i].kind) != i)
      return false;
  return std::size(kOptimizers) == countWords(SINTER_OPTIMIZER_WORDS);
}
static_assert(areInOrder(), "one row for each optimizer, by its number");

const Optimizer *findOptimizer(StringRef name) {
  std::optional<OptimizerKind> kind = optimizerKind(name);
  return kind ? &kOptimizers[size_t(*kind)] : nullptr;
}

/// The optimizer, with its defaults replaced by the values of the options.
/// Needs options that have passed checkOptimizer.
Optimizer chosenOptimizer(const BuildTrainingOptions &options) {
  Optimizer chosen = *findOptimizer(options.optimizer);
  auto choose = [](std::optional<double> &value, double given) {
    if (value && given >= 0)
      value = given;
  };
  choose(chosen.momentum, options.momentum);
  choose(chosen.beta1, options.beta1);
  choose(chosen.beta2, options.beta2);
  choose(chosen.eps, options.eps);
  return chosen;
}

} // namespace

LogicalResult checkOptimizer(Location loc,
                             const BuildTrainingOptions &options) {
  const Optimizer *optimizer = findOptimizer(options.optimizer);
  if (!optimizer)
    return emitError(loc) << "unknown optimizer '" << options.optimizer
                          << "'; expected "
                          << listOfWords(SINTER_OPTIMIZER_WORDS);
  struct Given {
    StringLiteral name;
    double value;
    std::optional<double> taken;
  };
  for (const Given &given :
       {Given{"momentum", options.momentum, optimizer->momentum},
        Given{"beta1", options.beta1, optimizer->beta1},
        Given{"beta2", options.beta2, optimizer->beta2},
        Given{"eps", options.eps, optimizer->eps}})
    if (given.value >= 0 && !given.taken)
      return emitError(loc) << "the optimizer " << options.optimizer
                            << " takes no " << given.name;
  Optimizer chosen = chosenOptimizer(options);
  if (options.nesterov && chosen.kind != OptimizerKind::Sgd &&
      chosen.kind != OptimizerKind::Muon)
    return emitError(loc) << "nesterov belongs to the optimizers sgd and muon";
  if (options.nesterov && !(*chosen.momentum > 0))
    return emitError(loc) << "nesterov needs a momentum above 0";
  if (options.clipNorm < 0 || options.clipValue < 0)
    return emitError(loc) << "clip-norm and clip-value must not be negative";
  for (std::optional<double> beta : {chosen.beta1, chosen.beta2})
    if (beta && !(*beta < 1))
      return emitError(loc) << "beta1 and beta2 must lie in [0, 1)";
  return success();
}

double defaultLearningRate(const BuildTrainingOptions &options) {
  return findOptimizer(options.optimizer)->lr;
}
double defaultWeightDecay(const BuildTrainingOptions &options) {
  return findOptimizer(options.optimizer)->weightDecay;
}
SmallVector<std::pair<StringRef, double>>
optimizerValues(const BuildTrainingOptions &options) {
  Optimizer chosen = chosenOptimizer(options);
  SmallVector<std::pair<StringRef, double>> values;
  for (auto [name, value] : {std::pair{"momentum", chosen.momentum},
                             {"beta1", chosen.beta1},
                             {"beta2", chosen.beta2},
                             {"eps", chosen.eps}})
    if (value)
      values.emplace_back(name, *value);
  return values;
}

/// The number of rows of equal length into which a gradient is divided, so that
/// there is work for many threads; a divisor of `elements`.
static int64_t rowsOf(int64_t elements) {
  constexpr int64_t kMostRows = 64, kLeastLength = 1024;
  for (int64_t rows = std::min(kMostRows, elements / kLeastLength); rows > 1;
       --rows)
    if (elements % rows == 0)
      return rows;
  return 1;
}

Value reduceAll(OpBuilder &builder, Location loc, ReduceKind kind,
                ArrayRef<Value> tensors, llvm::function_ref<Value(Value)> map) {
  ValueBuilder b(builder, loc);
  SmallVector<Value> results;
  for (Value tensor : tensors) {
    int64_t elements = tensorType(tensor).getNumElements();
    int64_t rows = rowsOf(elements);
    Value flat = b.reshape(tensor, {rows, elements / rows});
    results.push_back(reduceOver(builder, loc, kind, map(flat), {1}));
  }
  Value all = results.size() == 1
                  ? results.front()
                  : b.make<ConcatOp>(ValueRange(results), uint64_t(0));
  return reduceOver(builder, loc, kind, all, {0});
}

Value weightNorm(OpBuilder &builder, const Sharding &sharding,
                 ArrayRef<TrainedState> states) {
  ValueBuilder b = optimizerBuilder(builder);
  return b.sqrt(sharding.sumOverParts(
      builder, b.loc, states,
      [](const TrainedState &state) { return state.updated(); },
      [&](Value x) { return b.square(b.cast(x, builder.getF32Type())); }));
}

Value clipGradients(OpBuilder &builder, const BuildTrainingOptions &options,
                    Value clipNorm, const LossScaling &scaling,
                    const Sharding &sharding,
                    MutableArrayRef<TrainedState> states) {
  ValueBuilder b(builder, partLocation(builder.getContext(), kClipPart));
  auto bounded = [&](Value gradient) {
    gradient = scaling.unscaled(builder, gradient);
    return options.clipValue > 0 ? b.min(b.max(gradient, -options.clipValue),
                                         b.like(gradient, options.clipValue))
                                 : gradient;
  };
  // The norm reads the gradient in rows, the update reads it as it is. Each
  // bounds the elements for itself, so that no bounded gradient is stored.
  Value norm;
  if (clipNorm || options.logNorms)
    norm = b.sqrt(sharding.sumOverParts(
        builder, b.loc, states,
        [](const TrainedState &state) { return state.gradient; },
        [&](Value x) {
          return b.square(b.cast(bounded(x), builder.getF32Type()));
        }));
  for (TrainedState &state : states)
    state.gradient = bounded(state.gradient);
  if (!clipNorm)
    return norm;
  Value scale = b.min(b.div(clipNorm, b.add(norm, 1e-6)), b.like(clipNorm, 1));
  for (TrainedState &state : states) {
    RankedTensorType type = tensorType(state.gradient);
    Value factor =
        b.broadcast(b.cast(scale, type.getElementType()), type.getShape(), {});
    state.gradient = b.mul(state.gradient, factor);
  }
  return norm;
}

namespace {

/// Builds the updates of one program with one optimizer.
class UpdateBuilder {
public:
  UpdateBuilder(OpBuilder &builder, func::FuncOp step,
                const BuildTrainingOptions &options, Value lr,
                ArrayRef<TrainedState> states, StateUpdates &updates)
      : builder(builder), optimizer(chosenOptimizer(options)),
        nesterov(options.nesterov), lr(lr), slots(step), updates(updates) {
    // The bias corrections need the number of the update, from 1.
    auto correctsBias = [&](const TrainedState &state) {
      OptimizerKind kind = kindFor(state);
      return kind == OptimizerKind::Adam || kind == OptimizerKind::AdamW ||
             kind == OptimizerKind::Lamb;
    };
    if (llvm::any_of(states, correctsBias)) {
      ValueBuilder program = optimizerBuilder(builder);
      auto [state, before] =
          slots.add("t", RankedTensorType::get({}, builder.getI64Type()), {});
      Value after = program.add(before, 1.0);
      updates[state] = after;
      count = program.cast(after, builder.getF32Type());
    }
  }

  void build(TrainedState trained, Value decay) {
    Location loc = trained.state.getLoc();
    if (isa<UnknownLoc>(loc))
      loc = NameLoc::get(trained.state.getSymNameAttr());
    Value param = trained.updated(), grad = trained.gradient;
    Type type = param.getType();
    auto finish = [&](auto update, ArrayRef<StateOp> states) {
      updates[trained.state] = update->getResult(0);
      for (auto [i, state] : llvm::enumerate(states))
        updates[state] = update->getResult(i + 1);
    };
    auto slot = [&](StringRef name) { return addSlot(name, trained); };
    switch (kindFor(trained)) {
    case OptimizerKind::Muon: {
      auto [vState, velocity] = slot("momentum");
      return finish(builder.create<MuonUpdateOp>(
                        loc, param, grad, velocity, lr, decay,
                        number(optimizer.momentum), builder.getUnitAttr(),
                        builder.getF64FloatAttr(kMuonEpsilon),
                        builder.getI64IntegerAttr(kMuonSteps)),
                    {vState});
    }
    case OptimizerKind::Adam:
    case OptimizerKind::AdamW: {
      auto [mState, m] = slot("m");
      auto [vState, v] = slot("v");
      return finish(builder.create<AdamUpdateOp>(
                        loc, param, grad, m, v, lr, decay, count,
                        number(optimizer.beta1), number(optimizer.beta2),
                        number(optimizer.eps),
                        flag(kindFor(trained) == OptimizerKind::AdamW)),
                    {mState, vState});
    }
    case OptimizerKind::Lamb: {
      auto [mState, m] = slot("m");
      auto [vState, v] = slot("v");
      return finish(builder.create<LambUpdateOp>(
                        loc, param, grad, m, v, lr, decay, count,
                        number(optimizer.beta1), number(optimizer.beta2),
                        number(optimizer.eps)),
                    {mState, vState});
    }
    case OptimizerKind::Lion: {
      auto [mState, m] = slot("m");
      return finish(builder.create<LionUpdateOp>(loc, param, grad, m, lr, decay,
                                                 number(optimizer.beta1),
                                                 number(optimizer.beta2)),
                    {mState});
    }
    case OptimizerKind::Adagrad: {
      auto [sumState, sum] = slot("sum");
      return finish(builder.create<AdagradUpdateOp>(loc, param, grad, sum, lr,
                                                    decay,
                                                    number(optimizer.eps)),
                    {sumState});
    }
    case OptimizerKind::RmsProp: {
      auto [vState, v] = slot("v");
      SmallVector<StateOp> states{vState};
      Value velocity = addVelocity(trained, states);
      return finish(builder.create<RmspropUpdateOp>(
                        loc, type, type, velocity ? type : Type(), param, grad,
                        v, lr, decay, velocity, number(optimizer.beta2),
                        number(optimizer.eps), number(optimizer.momentum)),
                    states);
    }
    case OptimizerKind::Sgd: {
      SmallVector<StateOp> states;
      Value velocity = addVelocity(trained, states);
      return finish(builder.create<SgdUpdateOp>(
                        loc, type, velocity ? type : Type(), param, grad, lr,
                        decay, velocity, number(optimizer.momentum),
                        flag(nesterov)),
                    states);
    }
    }
    llvm_unreachable("not an optimizer");
  }

private:
  /// The rule for this state: muon is for matrices, AdamW for the others.
  OptimizerKind kindFor(const TrainedState &state) const {
    return optimizer.kind == OptimizerKind::Muon && !state.isMatrix
               ? OptimizerKind::AdamW
               : optimizer.kind;
  }
  FloatAttr number(std::optional<double> value) {
    return builder.getF64FloatAttr(*value);
  }
  UnitAttr flag(bool is) { return is ? builder.getUnitAttr() : nullptr; }
  /// The velocity of the state, if the optimizer keeps one.
  Value addVelocity(const TrainedState &trained, SmallVector<StateOp> &states) {
    if (!(*optimizer.momentum > 0))
      return {};
    auto [state, velocity] = addSlot("momentum", trained);
    states.push_back(state);
    return velocity;
  }
  std::pair<StateOp, Value> addSlot(StringRef name,
                                    const TrainedState &trained) {
    StateOp state =
        slots.declare(name, tensorType(trained.updated()), trained.state);
    if (trained.isDivided)
      state.setPartOfAttr(TypeAttr::get(trained.value.getType()));
    return {state, slots.argument(state)};
  }

  OpBuilder &builder;
  Optimizer optimizer;
  bool nesterov;
  Value lr, count;
  SlotTable slots;
  StateUpdates &updates;
};

} // namespace

void buildUpdates(OpBuilder &builder, func::FuncOp step,
                  const BuildTrainingOptions &options,
                  const StateSelection &selection,
                  ArrayRef<TrainedState> states, Value lr, Value weightDecay,
                  StateUpdates &updates) {
  if (states.empty())
    return;
  UpdateBuilder update(builder, step, options, lr, states, updates);
  Value noDecay;
  for (const TrainedState &trained : states) {
    if (selection.decays(trained.state)) {
      update.build(trained, weightDecay);
      continue;
    }
    if (!noDecay)
      noDecay = optimizerBuilder(builder).like(weightDecay, 0);
    update.build(trained, noDecay);
  }
}

Averages buildAverages(OpBuilder &builder, func::FuncOp step, double decay,
                       ArrayRef<TrainedState> states,
                       llvm::function_ref<Value(Value)> partOf,
                       StateUpdates &parts, StateUpdates &updates) {
  Averages averages;
  SlotTable slots(step);
  for (const TrainedState &trained : states) {
    auto [state, before] =
        slots.add(SINTER_SLOT_EMA, tensorType(trained.value), trained.state,
                  StateOp(trained.state).getInitAttr());
    if (trained.isDivided)
      parts[state] = before = partOf(before);
    ValueBuilder b(builder, updates[trained.state].getLoc());
    updates[state] =
        b.add(b.mul(before, decay), b.mul(updates[trained.state], 1 - decay));
    averages[trained.state] = state;
  }
  return averages;
}

} // namespace sinter::passes
