//===- BuildTraining.cpp - @main into @step and @eval ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Replaces @main by
// - @step(inputs, labels, states, controls) -> (loss, new states): the loss of
//   a batch, its gradients by the trained states, clipped, and the updates;
// - or, with micro-batches, @grad(inputs, labels, states, controls) and
//   @apply(states, controls) -> loss, which communicate through states;
// - @eval(inputs, labels, states, valid_rows) -> sums of losses and correct
//   answers, with the averaged weights if there are any.
//
// Decides which states are trained: those that receive a gradient, except those
// that the options or their values exclude. Leaves constants and dead ops to
// the simplifier.
//
//===----------------------------------------------------------------------===//
#include "ir/Locations.h"
#include "ir/Remarks.h"
#include "ir/exec/Exec.h"
#include "passes/Failure.h"
#include "passes/autodiff/Gradient.h"
#include "passes/place/DecomposeComposites.h"
#include "passes/train/TrainingSlots.h"

#include "sinter/program_names.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

#include <limits>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
#define GEN_PASS_DEF_BUILDTRAINING
#include "passes/Passes.h.inc"

namespace {

/// Builds a function from @main: with inputs, labels, states and controls by
/// name.
class ProgramBuilder {
public:
  /// Copies the body of `main`, without its return. `labels` is null if the
  /// loss takes none.
  ProgramBuilder(func::FuncOp main, StringRef name, const LossPlan &plan)
      : builder(main.getContext()) {
    builder.setInsertionPoint(main);
    function = builder.create<func::FuncOp>(main.getLoc(), name,
                                            builder.getFunctionType({}, {}));
    Block *body = function.addEntryBlock();
    Block &source = main.getBody().front();
    auto copyArgument = [&](unsigned i) {
      DictionaryAttr attributes = main.getArgAttrDict(i);
      mapping.map(source.getArgument(i),
                  addArgument(source.getArgument(i).getType(), attributes));
    };
    auto has = [&](unsigned i, StringRef key) {
      return main.getArgAttr(i, key) != nullptr;
    };
    for (unsigned i = 0; i < main.getNumArguments(); ++i)
      if (has(i, SinterDialect::kInputAttr) && plan.labelsArgument != i)
        copyArgument(i);
    if (plan.labelsArgument) {
      copyArgument(*plan.labelsArgument);
      labels = mapping.lookup<Value>(source.getArgument(*plan.labelsArgument));
    } else if (plan.labelsType) {
      labels = addArgument(plan.labelsType, attribute(SinterDialect::kInputAttr,
                                                      plan.labelsName));
    }
    for (StringRef key :
         {SinterDialect::kStateAttr, SinterDialect::kControlAttr})
      for (unsigned i = 0; i < main.getNumArguments(); ++i)
        if (has(i, key))
          copyArgument(i);
    builder.setInsertionPointToEnd(body);
    for (Operation &op : source.without_terminator())
      builder.clone(op, mapping);
    output = mapping.lookup(source.getTerminator()->getOperand(plan.output));
    if (std::optional<unsigned> result = IndexChecks::resultOf(main))
      indexFaults = mapping.lookup(source.getTerminator()->getOperand(*result));
  }
  /// An empty function beside `main`.
  ProgramBuilder(func::FuncOp main, StringRef name)
      : builder(main.getContext()) {
    builder.setInsertionPoint(main);
    function = builder.create<func::FuncOp>(main.getLoc(), name,
                                            builder.getFunctionType({}, {}));
    builder.setInsertionPointToEnd(function.addEntryBlock());
  }

  /// For evaluation: removes dropouts, and control fields that are then unused.
  void dropRandomness() {
    for (auto op : llvm::make_early_inc_range(
             function.getBody().front().getOps<DropoutOp>())) {
      op.replaceAllUsesWith(op.getX());
      if (output == op.getResult())
        output = op.getX();
      op.erase();
    }
    for (unsigned i = function.getNumArguments(); i-- > 0;)
      if (function.getArgAttr(i, SinterDialect::kControlAttr) &&
          function.getArgument(i).use_empty())
        function.eraseArgument(i);
  }

  /// Reads the averages instead of the parameters that have one.
  void useAverages(const Averages &averages) {
    for (BlockArgument argument : function.getArguments()) {
      auto found = averages.find(stateOf(argument));
      if (found != averages.end())
        function.setArgAttr(argument.getArgNumber(), SinterDialect::kStateAttr,
                            FlatSymbolRefAttr::get(found->second));
    }
  }

  /// The control field of this name; a new argument on first use.
  Value addControl(StringRef name, Type element) {
    for (BlockArgument argument : function.getArguments())
      if (auto known = function.getArgAttrOfType<StringAttr>(
              argument.getArgNumber(), SinterDialect::kControlAttr);
          known && known.getValue() == name)
        return argument;
    return addArgument(RankedTensorType::get({}, element),
                       attribute(SinterDialect::kControlAttr, name));
  }
  void addResult(Value value, DictionaryAttr attributes) {
    results.push_back(value);
    resultAttributes.push_back(attributes);
  }
  void addOutput(StringRef name, Value value) {
    addResult(value, attribute(SinterDialect::kOutputAttr, name));
  }
  void addNewStates(const StateUpdates &updates) {
    for (auto [state, value] : updates)
      addResult(value, builder.getDictionaryAttr(builder.getNamedAttr(
                           SinterDialect::kStateAttr,
                           FlatSymbolRefAttr::get(cast<StateOp>(state)))));
  }
  void addIndexFaults(const IndexChecks &checks, int64_t parts = 1) {
    if (indexFaults)
      addResult(indexFaults, checks.attribute(parts));
  }
  /// Builds the return and the function's type.
  void finish() {
    builder.create<func::ReturnOp>(function.getLoc(), results);
    function.setType(builder.getFunctionType(
        function.getBody().getArgumentTypes(), TypeRange(ValueRange(results))));
    function.setAllResultAttrs(resultAttributes);
    dropStopGradients(function);
    IRRewriter rewriter(function.getContext());
    (void)runRegionDCE(rewriter, function->getRegions());
  }

  OpBuilder builder;
  func::FuncOp function;
  Value labels;      // null: the loss takes none
  Value output;      // what the loss reads
  Value indexFaults; // what the checks of indices found; null: no checks

private:
  DictionaryAttr attribute(StringRef key, StringRef value) {
    return builder.getDictionaryAttr(
        builder.getNamedAttr(key, builder.getStringAttr(value)));
  }
  /// The name of an input, a state or a control field, as a location.
  Location nameOf(DictionaryAttr attributes) {
    for (NamedAttribute each : attributes)
      if (each.getName() == SinterDialect::kInputAttr ||
          each.getName() == SinterDialect::kControlAttr)
        return NameLoc::get(cast<StringAttr>(each.getValue()));
      else if (each.getName() == SinterDialect::kStateAttr)
        return NameLoc::get(cast<FlatSymbolRefAttr>(each.getValue()).getAttr());
    return function.getLoc();
  }
  Value addArgument(Type type, DictionaryAttr attributes) {
    unsigned index = function.getNumArguments();
    function.insertArgument(index, type, attributes, nameOf(attributes));
    return function.getArgument(index);
  }

  IRMapping mapping;
  SmallVector<Value> results;
  SmallVector<Attribute> resultAttributes;
};

class BuildTraining : public impl::BuildTrainingBase<BuildTraining> {
public:
  using BuildTrainingBase::BuildTrainingBase;

  void runOnOperation() override {
    if (failed(run(getOperation())))
      signalPassFailure();
  }

private:
  BuildTrainingOptions chosen() const {
    BuildTrainingOptions options;
#define SINTER_TRAINING_OPTION(FIELD, KEY, WHEN) options.FIELD = FIELD;
#include "passes/train/TrainingOptions.def"
    return options;
  }

  LogicalResult run(ModuleOp module) {
    auto main = module.lookupSymbol<func::FuncOp>(SINTER_ENTRY_MAIN);
    if (!main || !main.getBody().hasOneBlock())
      return emitModuleError(module)
             << "training needs a function @main with a body";
    for (unsigned i = 0; i < main.getNumArguments(); ++i)
      if (!main.getArgAttr(i, SinterDialect::kInputAttr) &&
          !main.getArgAttr(i, SinterDialect::kStateAttr) &&
          !main.getArgAttr(i, SinterDialect::kControlAttr))
        return main.emitError("argument ")
               << i << " is neither input, state nor control";
    const Location loc = locationOfGraph(main);
    const BuildTrainingOptions options = chosen();
    FailureOr<StateSelection> selection = StateSelection::create(loc, options);
    isDifferentiated = hasMissingGradients = false;
    if (failed(build(main, options, selection))) {
      // Missing gradients matter more than a loss that does not fit.
      if (!isDifferentiated)
        hasMissingGradients = failed(
            checkGradients(main, succeeded(selection) ? &*selection : nullptr));
      if (hasMissingGradients)
        module->setAttr(kFailureAttr, StringAttr::get(module.getContext(),
                                                      kUnsupportedFailure));
      return failure();
    }
    main.erase();
    return success();
  }

  /// Adds the functions. On failure, removes those that it built.
  LogicalResult build(func::FuncOp main, const BuildTrainingOptions &options,
                      const FailureOr<StateSelection> &selection) {
    auto module = main->getParentOfType<ModuleOp>();
    const Location loc = locationOfGraph(main);
    if (options.replicas < 1)
      return emitError(loc, "replicas must be 1 or more");
    if (options.accumulate < 1)
      return emitError(loc, "accumulate must be 1 or more");
    if (options.pairwise && !llvm::isPowerOf2_64(options.accumulate))
      return emitError(
          loc,
          "pairwise needs a number of micro-batches that is a power of two");
    if (!(options.ema >= 0 && options.ema < 1))
      return emitError(loc, "ema must lie in [0, 1)");
    if (options.runningVariance != "onnx" &&
        options.runningVariance != "unbiased")
      return emitError(loc, "bn-running-var must be onnx or unbiased");
    FailureOr<LossPlan> plan = planLoss(main, options);
    FailureOr<LossScaling> scaling = LossScaling::create(loc, options);
    FailureOr<Sharding> sharding = Sharding::create(loc, options);
    if (failed(selection) || failed(plan) || failed(scaling) ||
        failed(sharding) || failed(checkOptimizer(loc, options)))
      return failure();

    FailureOr<Averages> averages =
        buildStep(main, *plan, options, *selection, *scaling, *sharding);
    if (failed(averages) ||
        failed(buildEval(main, *plan, options, *averages))) {
      for (auto function :
           llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
        if (function != main)
          function.erase();
      return failure();
    }
    describe(module, *plan, options);
    return success();
  }

  /// The number of this part of the batch. Replicas and, within each, its
  /// micro-batches divide the batch into parts.
  Value partOfBatch(ProgramBuilder &step, const BuildTrainingOptions &options) {
    Type i64 = step.builder.getI64Type();
    Value replica = options.replicas > 1
                        ? step.addControl(SINTER_CONTROL_REPLICA, i64)
                        : Value();
    if (options.accumulate == 1)
      return replica;
    Value microBatch = step.addControl(SINTER_CONTROL_MICRO_BATCH, i64);
    if (!replica)
      return microBatch;
    OpBuilder begin = OpBuilder::atBlockBegin(&step.function.getBody().front());
    ValueBuilder b(begin, step.function.getLoc());
    return b.add(b.mul(replica, scalarI64(begin, b.loc, options.accumulate)),
                 microBatch);
  }

  /// Adds the functions of a step. Returns the averages of the weights, if the
  /// options ask for them.
  FailureOr<Averages> buildStep(func::FuncOp main, const LossPlan &plan,
                                const BuildTrainingOptions &options,
                                const StateSelection &selection,
                                LossScaling scaling, const Sharding &sharding) {
    Accumulation accumulation(options, sharding);
    IndexChecks checks(main, plan.batch, options);
    ProgramBuilder step(
        main, accumulation.isUsed() ? SINTER_ENTRY_GRAD : SINTER_ENTRY_STEP,
        plan);
    StateUpdates updates;
    if (!options.freezeBatchNorm) {
      // The loss may read the result of a batch_norm that is replaced here; the
      // use by a temporary return follows the replacement.
      func::ReturnOp holder = step.builder.create<func::ReturnOp>(
          main.getLoc(), ValueRange(step.output));
      LogicalResult replaced = useBatchStatistics(
          step.function, options.runningVariance == "unbiased", updates);
      step.output = holder.getOperand(0);
      holder.erase();
      if (failed(replaced))
        return failure();
      averageStatistics(step.builder, options.replicas, updates);
      if (options.pairwise && options.replicas > 1 && !updates.empty())
        return emitError(updates.begin()->second.getLoc())
               << "batch normalisation averages its running statistics over "
                  "replicas, and no other split of the batch has the same "
                  "sums; use --freeze-bn, or a --deterministic other than "
                  "topology";
    }
    if (options.replicas > 1 || accumulation.isUsed())
      numberDropouts(step.function, plan.batch,
                     [&] { return partOfBatch(step, options); });
    Value validRows = options.padLastBatch
                          ? step.addControl(SINTER_CONTROL_VALID_ROWS,
                                            step.builder.getI64Type())
                          : Value();
    FailureOr<StepLoss> built =
        buildStepLoss(step.builder, step.function, plan, options, step.output,
                      step.labels, validRows);
    if (failed(built))
      return failure();
    StepLoss loss = *built;
    stepMixedBy.reset();
    if (loss.mixedBy)
      stepMixedBy = loss.mixedBy->getLoc();

    SmallVector<TrainedState> candidates;
    SmallVector<Value> values;
    for (BlockArgument argument : step.function.getArguments()) {
      StateOp state = stateOf(argument);
      if (!state)
        continue;
      state.setTrainable(false);
      std::string refusal = selection.refusal(state);
      if (!refusal.empty()) {
        if (state.getRole() == StateRole::param) {
          state.setReason(refusal);
          remark(kTrainRemarks, "not-trained", state.getLoc(), refusal);
        }
        continue;
      }
      bool isMatrix = tensorType(argument).getRank() == 2 &&
                      llvm::none_of(argument.getUsers(), [](Operation *user) {
                        return isa<GatherOp>(user);
                      });
      candidates.push_back({argument, state, {}, isMatrix});
      values.push_back(argument);
    }
    Value seed =
        scaling.scaleSeed(step.builder, step.function, loss.root, loss.seed);
    auto grads = gradients(step.builder, loss.root, values, seed);
    isDifferentiated = true;
    hasMissingGradients = failed(grads);
    if (failed(grads))
      return failure();
    SmallVector<TrainedState> trained;
    for (auto [candidate, gradient] : llvm::zip_equal(candidates, *grads)) {
      if (!gradient) {
        constexpr StringLiteral kReason = "the loss does not depend on it";
        candidate.state.setReason(kReason);
        remark(kTrainRemarks, "not-trained", candidate.state.getLoc(), kReason);
        continue;
      }
      candidate.state.setTrainable(true);
      candidate.gradient = gradient;
      trained.push_back(candidate);
      remark(kTrainRemarks, "trained", candidate.state.getLoc(),
             "'" + candidate.state.getSymName() + "'");
    }
    if (trained.empty())
      return emitError(
          locationOfGraph(main),
          "nothing to train: the loss depends on no trainable initializer");
    sharding.choose(trained);

    if (!accumulation.isUsed()) {
      sumGradients(step.builder, options.replicas, sharding, trained);
      if (loss.count) {
        ValueBuilder b(step.builder,
                       partLocation(step.builder.getContext(), kLossPart));
        divideByCount(b, sumOverReplicas(b, loss.count, options.replicas), loss,
                      trained);
      }
      return finishStep(step, options, selection, scaling, sharding, checks,
                        loss, trained, updates);
    }
    Value microBatch = options.pairwise || checks.any()
                           ? step.addControl(SINTER_CONTROL_MICRO_BATCH,
                                             step.builder.getI64Type())
                           : Value();
    accumulation.add(step.builder, step.function, loss, trained, microBatch,
                     updates);
    if (checks.any())
      checks.add(step.builder, step.function, step.indexFaults, microBatch,
                 updates);
    step.addNewStates(updates);
    step.finish();

    ProgramBuilder apply(main, SINTER_ENTRY_APPLY);
    SlotTable states(apply.function);
    for (TrainedState &state : trained)
      state.value = states.argument(state.state);
    updates.clear();
    accumulation.take(apply.builder, apply.function, loss, trained, updates);
    if (checks.any())
      apply.indexFaults = checks.take(apply.builder, apply.function, updates);
    return finishStep(apply, options, selection, scaling, sharding, checks,
                      loss, trained, updates);
  }

  /// Builds everything from the gradients to the new states, at the end of
  /// @step or @apply. `updates` has the states that skipped steps change, too.
  Averages finishStep(ProgramBuilder &step, const BuildTrainingOptions &options,
                      const StateSelection &selection, LossScaling &scaling,
                      const Sharding &sharding, const IndexChecks &checks,
                      const StepLoss &loss,
                      MutableArrayRef<TrainedState> trained,
                      StateUpdates updates) {
    scaling.enter(step.function, options.accumulate > 1);
    Type f32 = step.builder.getF32Type();
    Value lr = step.addControl(SINTER_CONTROL_LR, f32),
          decay = step.addControl(SINTER_CONTROL_WEIGHT_DECAY, f32);
    Value clip = options.clipNorm > 0
                     ? step.addControl(SINTER_CONTROL_CLIP_NORM, f32)
                     : Value();
    scaling.check(step.builder, sharding, trained);
    Value gradientNorm =
        clipGradients(step.builder, options, clip, scaling, sharding, trained);
    Value sound = mayChangeStates(step.builder, loss.loss, scaling, checks,
                                  step.indexFaults);
    const StateUpdates others = updates;
    auto partOf = [&](Value whole) {
      ValueBuilder b = optimizerBuilder(step.builder);
      return sharding.partOf(
          b, whole,
          step.addControl(SINTER_CONTROL_REPLICA, step.builder.getI64Type()));
    };
    StateUpdates parts; // of whole states, before the step
    for (TrainedState &state : trained)
      if (state.isDivided)
        parts[state.state] = state.part = partOf(state.value);
    buildUpdates(step.builder, step.function, options, selection, trained, lr,
                 decay, updates);
    Averages averages;
    if (options.ema > 0)
      averages = buildAverages(step.builder, step.function, options.ema,
                               trained, partOf, parts, updates);
    scaling.finish(step.builder, step.function, parts, others, updates);
    // Sums over micro-batches are reset to zero in any case.
    if (sound)
      keepUnless(step.builder, sound, step.function, parts,
                 options.accumulate > 1 ? others : StateUpdates(), updates);
    for (auto [state, before] : parts) {
      auto named = cast<StateOp>(state);
      ValueBuilder b(
          step.builder,
          partLocation(named.getContext(),
                       ("gather(" + named.getSymName() + ")").str()));
      updates[state] = sharding.gather(b, updates[state],
                                       cast<RankedTensorType>(named.getType()));
    }
    step.addOutput(SINTER_OUTPUT_LOSS, loss.loss);
    for (auto [name, value] : scaling.outputs(step.builder))
      step.addOutput(name, value);
    if (options.logNorms) {
      step.addOutput(SINTER_OUTPUT_GRADIENT_NORM, gradientNorm);
      step.addOutput(SINTER_OUTPUT_WEIGHT_NORM,
                     weightNorm(step.builder, sharding, trained));
    }
    step.addNewStates(updates);
    step.addIndexFaults(checks, options.accumulate);
    step.finish();
    return averages;
  }

  LogicalResult buildEval(func::FuncOp main, const LossPlan &plan,
                          const BuildTrainingOptions &options,
                          const Averages &averages) {
    ProgramBuilder eval(main, SINTER_ENTRY_EVAL, plan);
    eval.useAverages(averages);
    eval.dropRandomness();
    Value validRows =
        eval.addControl(SINTER_CONTROL_VALID_ROWS, eval.builder.getI64Type());
    FailureOr<EvalSums> sums =
        buildEvalSums(eval.builder, eval.function, plan, options, eval.output,
                      eval.labels, validRows);
    if (failed(sums))
      return failure();
    evaluationMixedBy.reset();
    if (sums->mixedBy)
      evaluationMixedBy = sums->mixedBy->getLoc();
    for (auto [name, value] : sums->sums)
      eval.addOutput(name, value);
    eval.addIndexFaults(IndexChecks(main, plan.batch, options));
    eval.finish();
    return success();
  }

  /// Writes what the trainer must know of the program.
  void describe(ModuleOp module, const LossPlan &plan,
                const BuildTrainingOptions &options) {
    Builder b(module.getContext());
    auto number = [&](double value) { return b.getF64FloatAttr(value); };
    double lr = options.lr >= 0 ? options.lr : defaultLearningRate(options);
    double weightDecay = options.weightDecay >= 0 ? options.weightDecay
                                                  : defaultWeightDecay(options);
    SmallVector<NamedAttribute> constants;
    for (auto [name, value] : optimizerValues(options))
      constants.push_back(b.getNamedAttr(name, number(value)));
    IntegerAttr ignoreIndex;
    if (options.ignoreIndex != std::numeric_limits<int64_t>::min())
      ignoreIndex = b.getI64IntegerAttr(options.ignoreIndex);
    auto nodeOf = [](std::optional<Location> location) -> LocationAttr {
      return location ? LocationAttr(*location) : LocationAttr();
    };
    module->setAttr(
        exec::ExecDialect::kTrainingAttr,
        exec::TrainingAttr::get(
            b.getContext(), b.getStringAttr(options.optimizer),
            b.getStringAttr(options.loss), number(lr), number(weightDecay),
            number(options.clipNorm), b.getDictionaryAttr(constants),
            recipeOf(b.getContext(), options), plan.batch, plan.numClasses,
            ignoreIndex, std::max<int64_t>(options.replicas, 1),
            std::max<int64_t>(options.accumulate, 1), nodeOf(evaluationMixedBy),
            nodeOf(stepMixedBy)));
  }

  bool isDifferentiated = false, hasMissingGradients = false;
  /// The node because of which @eval counts whole batches only.
  std::optional<Location> evaluationMixedBy;
  /// The node because of which no row of a step can be left out of its loss.
  std::optional<Location> stepMixedBy;
};

} // namespace
} // namespace sinter::passes
