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

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

/// Limit of the micro-batches in one step.
static constexpr int64_t kMostParts = 65536;

/// The calibration of the whole batch, with the names of a split step: @grad
/// computes the gradients instead of @step.
static std::vector<std::pair<std::string, std::string>>
calibratedOfParts(const Options &given) {
  auto result = given.calibrated;
  for (auto &[key, reason] : result)
    if (StringRef(key).starts_with("step/"))
      key.replace(0, 4, "grad");
  return result;
}

namespace {

/// Plans a model repeatedly with different options.
class Trials {
public:
  Trials(const Options &given, const SharedModel &model,
         llvm::ArrayRef<TargetFactory> targets)
      : options(given.asTrial()), model(model), targets(targets) {
    options.stopAfter = "";
    // Contracts apply only to the final program.
    options.contracts.clear();
  }

  /// Plans `options` for every target: kExitDone, kExitMemory if one does not
  /// fit, or the first other error.
  ExitCode plan();
  /// kExitDone if `batch` rows per step fit.
  ExitCode planBatch(int64_t batch) {
    options.batch = batch;
    return plan();
  }
  /// kExitDone if a split of `batch` rows into `parts` micro-batches fits.
  ExitCode planSplit(const Options &given, int64_t batch, int64_t parts) {
    options.train.accumulate = given.train.accumulate * parts;
    options.calibrated = calibratedOfParts(given);
    return planBatch(batch / parts);
  }

  Options options;
  /// Of the last plan().
  int64_t batch = 0, largestBytes = 0;

private:
  const SharedModel &model;
  llvm::ArrayRef<TargetFactory> targets;
};

} // namespace

ExitCode Trials::plan() {
  largestBytes = 0;
  ExitCode worst = kExitDone;
  std::vector<std::string> kinds = options.targets;
  for (const std::string &kind : kinds) {
    Options own = options;
    own.targets = {kind};
    TargetSet set = createTargets(own, targets);
    if (!set.main)
      return kExitUsage;
    Compilation trial(own, std::move(set));
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
         memoryOf(trial.module(), own, trial.mainTarget().firstDevice()))
      if (device.isLimited)
        largestBytes = std::max(largestBytes, device.bytes.total());
  }
  return worst;
}

// The fewest micro-batches of at most `mostRows` rows that fit; 0 if none do.
// From two on, more micro-batches only use less memory: all have the same sums.
static int64_t fewestParts(Trials &trials, const Options &given, int64_t batch,
                           int64_t mostRows) {
  for (int64_t parts = 2; parts <= batch; ++parts)
    if (batch % parts == 0 && batch / parts <= mostRows &&
        parts * given.train.accumulate <= kMostParts &&
        trials.planSplit(given, batch, parts) == kExitDone)
      return parts;
  return 0;
}

std::string compiler::checkMicroBatches(const Options &options) {
  if (!options.allowMicroBatch)
    return "";
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

static std::string sizeText(int64_t parts, int64_t rows) {
  return std::to_string(parts) + " micro-batches of " + std::to_string(rows);
}

// Compiles the whole batch, which does not fit, to print the usual message,
// with `suffix`.
static ExitCode refuse(const Options &given, const SharedModel &model,
                       llvm::ArrayRef<TargetFactory> targets,
                       const std::string &suffix) {
  for (const std::string &kind : given.targets) {
    Options own = given;
    own.targets = {kind};
    own.trace = own.remarks = own.dumpPhases = own.savePrecisionPlan = "";
    Compilation whole(own, createTargets(own, targets));
    whole.model = model;
    whole.batchesThatFit = [&](int64_t) { return suffix; };
    if (ExitCode code = whole.run(*findPhase("plan")))
      return code;
  }
  return kExitMemory;
}

ExitCode compiler::splitBatch(Options &options, SharedModel &model,
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
  Trials trials(options, model, targets);
  // The compilation itself reports other errors.
  if (trials.plan() != kExitMemory)
    return kExitDone;
  const int64_t whole = trials.largestBytes;
  const int64_t batch = options.batch ? *options.batch : trials.batch;
  if (batch < 2)
    return kExitDone;
  ExitCode code = trials.planSplit(options, batch, batch);
  if (code != kExitDone && code != kExitMemory) {
    // The batch cannot be set: this plan reports why.
    trials.options.isTrial = false;
    return trials.plan();
  }
  if (code == kExitMemory) {
    int64_t least = std::min(whole, trials.largestBytes);
    return refuse(
        options, model, targets,
        "; " + sizeText(batch, 1) +
            " do not fit either (--allow-microbatch); their smallest limit "
            "is " +
            std::to_string(trials.largestBytes) + " bytes" +
            (least == whole ? ": their sums take more than they save" : ""));
  }
  const int64_t parts = fewestParts(trials, options, batch, batch / 2);
  if (parts == 0)
    return refuse(options, model, targets,
                  "; no split of the batch of " + std::to_string(batch) +
                      " into equal parts fits either, at most " +
                      std::to_string(kMostParts) +
                      " in a step (--allow-microbatch)");
  llvm::errs() << options.tool << ": the batch of " << batch
               << " does not fit into the memory limit; it is split into "
               << sizeText(parts, batch / parts) << " (--allow-microbatch)\n";
  options.train.splitBatch = batch;
  options.batch = batch / parts;
  options.calibrated = calibratedOfParts(options);
  options.train.accumulate *= parts;
  return kExitDone;
}

std::string compiler::batchesThatFit(const Options &options,
                                     const SharedModel &model,
                                     llvm::ArrayRef<TargetFactory> targets,
                                     int64_t batch) {
  if (!model || !model->bindsSizes() || batch < 2)
    return "";
  Trials trials(options, model, targets);
  if (trials.planBatch(1) != kExitDone)
    return "";
  int64_t low = 1, high = batch;
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    (trials.planBatch(middle) == kExitDone ? low : high) = middle;
  }
  std::string text = "; the largest batch that fits is " + std::to_string(low);
  Options allowed = options;
  allowed.allowMicroBatch = true;
  if (!options.train.enabled || !checkMicroBatches(allowed).empty())
    return text;
  if (int64_t parts = fewestParts(trials, options, batch, low))
    text +=
        "; with --allow-microbatch " + sizeText(parts, batch / parts) + " fit";
  return text;
}
