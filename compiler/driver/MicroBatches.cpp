//===- MicroBatches.cpp - splits the batch to fit the memory limit --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/MicroBatches.h"

#include "compiler/Phases.h"
#include "compiler/base/Text.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/MemoryLimit.h"

#include "sinter/program_names.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

/// Limit of the micro-batches in one step.
static constexpr int64_t kMostParts = 65536;

/// The calibration of the whole batch, with the names of a split step: @grad
/// computes the gradients instead of @step.
static std::vector<std::pair<std::string, std::string>>
calibratedOfParts(const CompileState &given) {
  auto result = given.calibrated;
  for (auto &[key, reason] : result)
    if (StringRef(key).starts_with(SINTER_ENTRY_STEP "/"))
      key.replace(0, StringRef(SINTER_ENTRY_STEP).size(), SINTER_ENTRY_GRAD);
  return result;
}

namespace {

/// Plans a model repeatedly with different batches.
class Trials {
public:
  Trials(const Options &options, const CompileState &given,
         const SharedModel &model, llvm::ArrayRef<TargetFactory> targets)
      : state(given.asTrial()), options(options), model(model),
        targets(targets) {}

  /// Plans the model for every target: kExitDone, kExitMemory if one does not
  /// fit, or the first other error.
  ExitCode plan();
  /// kExitDone if `batch` rows per step fit.
  ExitCode planBatch(int64_t batch) {
    state.batch = batch;
    return plan();
  }
  /// kExitDone if a split of `batch` rows into `parts` micro-batches fits.
  ExitCode planSplit(const CompileState &given, int64_t batch, int64_t parts) {
    state.accumulate = given.accumulate * parts;
    state.calibrated = calibratedOfParts(given);
    return planBatch(batch / parts);
  }

  CompileState state;
  /// Of the last plan().
  int64_t batch = 0, largestBytes = 0;

private:
  const Options &options;
  const SharedModel &model;
  llvm::ArrayRef<TargetFactory> targets;
};

} // namespace

ExitCode Trials::plan() {
  largestBytes = 0;
  ExitCode worst = kExitDone;
  for (const std::string &kind : options.targets) {
    CompileState own = state.forTarget(kind);
    TargetSet set = createTargets(options, own, targets);
    if (!set.main)
      return kExitUsage;
    Compilation trial(options, std::move(own), std::move(set));
    trial.model = model;
    if (ExitCode code = trial.checkOptions())
      return code;
    ExitCode code = trial.run(*findPhase("plan"));
    if (code != kExitDone && code != kExitMemory)
      return code;
    if (code != kExitDone)
      worst = code;
    batch = batchOf(trial.module());
    for (const DeviceMemory &device :
         memoryOf(trial.module(), options, trial.mainTarget().firstDevice()))
      if (device.isLimited)
        largestBytes = std::max(largestBytes, device.bytes.total());
  }
  return worst;
}

// The fewest micro-batches of at most `mostRows` rows that fit; 0 if none do.
// From two on, more micro-batches only use less memory: all have the same sums.
static int64_t fewestParts(Trials &trials, const CompileState &given,
                           int64_t batch, int64_t mostRows) {
  for (int64_t parts = 2; parts <= batch; ++parts)
    if (batch % parts == 0 && batch / parts <= mostRows &&
        parts * given.accumulate <= kMostParts &&
        trials.planSplit(given, batch, parts) == kExitDone)
      return parts;
  return 0;
}

/// How a split of the batch contradicts the options; "" if it does not.
static std::string whyNotSplit(const Options &options) {
  if (!options.train.enabled)
    return "--allow-microbatch needs --train: it splits the batch of a step";
  if (!options.memoryLimitBytes)
    return "--allow-microbatch needs --memory-limit, which the parts of the "
           "batch must fit";
  if (options.isTopology())
    return "--allow-microbatch contradicts --deterministic=topology, which "
           "splits the batch into shards of its own";
  return "";
}

std::string compiler::checkMicroBatches(const Options &options) {
  return options.allowMicroBatch ? whyNotSplit(options) : "";
}

static std::string sizeText(int64_t parts, int64_t rows) {
  return std::to_string(parts) + " micro-batches of " + std::to_string(rows);
}

// Compiles the whole batch, which does not fit, to print the usual message,
// with `suffix`.
static ExitCode refuse(const Options &options, const CompileState &given,
                       const SharedModel &model,
                       llvm::ArrayRef<TargetFactory> targets,
                       const std::string &suffix) {
  for (const std::string &kind : options.targets) {
    CompileState own = given.forTarget(kind);
    own.writesFiles = false;
    TargetSet set = createTargets(options, own, targets);
    Compilation whole(options, std::move(own), std::move(set));
    whole.model = model;
    whole.batchesThatFit = [&](int64_t) { return suffix; };
    if (ExitCode code = whole.run(*findPhase("plan")))
      return code;
  }
  return kExitMemory;
}

ExitCode compiler::splitBatch(const Options &options, CompileState &state,
                              SharedModel &model,
                              llvm::ArrayRef<TargetFactory> targets) {
  if (!options.allowMicroBatch)
    return kExitDone;
  if (!model)
    if (ExitCode code = readModel(options, model))
      return code;
  if (!model->bindsSizes()) {
    reportError(options, shown(options.model) +
                             ": --allow-microbatch sets the batch, but the "
                             "shapes of this file are static");
    return kExitUsage;
  }
  Trials trials(options, state, model, targets);
  // The compilation itself reports other errors.
  if (trials.plan() != kExitMemory)
    return kExitDone;
  const int64_t whole = trials.largestBytes;
  const int64_t batch = state.batch ? *state.batch : trials.batch;
  if (batch < 2)
    return kExitDone;
  ExitCode code = trials.planSplit(state, batch, batch);
  if (code != kExitDone && code != kExitMemory) {
    // The batch cannot be set: this plan reports why.
    trials.state.isTrial = false;
    return trials.plan();
  }
  if (code == kExitMemory) {
    int64_t least = std::min(whole, trials.largestBytes);
    return refuse(
        options, state, model, targets,
        "; " + sizeText(batch, 1) +
            " do not fit either (--allow-microbatch); their smallest limit "
            "is " +
            std::to_string(trials.largestBytes) + " bytes" +
            (least == whole ? ": their sums take more than they save" : ""));
  }
  const int64_t parts = fewestParts(trials, state, batch, batch / 2);
  if (parts == 0)
    return refuse(options, state, model, targets,
                  "; no split of the batch of " + std::to_string(batch) +
                      " into equal parts fits either, at most " +
                      std::to_string(kMostParts) +
                      " in a step (--allow-microbatch)");
  llvm::errs() << options.tool << ": the batch of " << batch
               << " does not fit into the memory limit; it is split into "
               << sizeText(parts, batch / parts) << " (--allow-microbatch)\n";
  state.splitBatch = batch;
  state.batch = batch / parts;
  state.calibrated = calibratedOfParts(state);
  state.accumulate *= parts;
  return kExitDone;
}

std::string compiler::batchesThatFit(const Options &options,
                                     const CompileState &state,
                                     const SharedModel &model,
                                     llvm::ArrayRef<TargetFactory> targets,
                                     int64_t batch) {
  if (!model || !model->bindsSizes() || batch < 2)
    return "";
  Trials trials(options, state, model, targets);
  if (trials.planBatch(1) != kExitDone)
    return "";
  int64_t low = 1, high = batch;
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    (trials.planBatch(middle) == kExitDone ? low : high) = middle;
  }
  std::string text = "; the largest batch that fits is " + std::to_string(low);
  if (!whyNotSplit(options).empty())
    return text;
  if (int64_t parts = fewestParts(trials, state, batch, low))
    text +=
        "; with --allow-microbatch " + sizeText(parts, batch / parts) + " fit";
  return text;
}
