//===- MicroBatches.cpp - splits the batch to fit the memory limit --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/MicroBatches.h"

#include "compiler/Phases.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/MemoryLimit.h"
#include "compiler/import/onnx/Text.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

/// Of one step.
static constexpr int64_t kMostParts = 65536;

/// What calibration of the whole batch found, for the functions of a split
/// step: gradients are those of @grad then.
static std::vector<std::pair<std::string, std::string>>
calibratedOfParts(const Options &given) {
  auto result = given.calibrated;
  for (auto &[key, reason] : result)
    if (StringRef(key).starts_with("step/"))
      key.replace(0, 4, "grad");
  return result;
}

namespace {

/// Plans a model again and again with other options.
class Trials {
public:
  Trials(const Options &given, const ModelFile &model,
         llvm::ArrayRef<TargetFactory> targets)
      : options(given.asTrial()), model(model), targets(targets) {
    options.stopAfter = "";
    // Of the program that is made in the end.
    options.contracts.clear();
  }

  /// What compiling with `options` ends with, for every target.
  ExitCode plan();
  /// kExitDone when `batch` rows per step fit.
  ExitCode planBatch(int64_t batch) {
    options.batch = batch;
    return plan();
  }
  /// kExitDone when `parts` micro-batches fit that together have `batch` rows.
  ExitCode planSplit(const Options &given, int64_t batch, int64_t parts) {
    options.train.accumulate = given.train.accumulate * parts;
    options.calibrated = calibratedOfParts(given);
    return planBatch(batch / parts);
  }

  Options options;
  /// Of the last plan().
  int64_t batch = 0, largestBytes = 0;

private:
  const ModelFile &model;
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
    trial.model.onnx = model.onnx;
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

// More micro-batches only take less: from two on, all have the same sums.
// 0: none of at most `mostRows` rows fits.
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
           "batch have to fit";
  if (options.isTopology())
    return "--allow-microbatch contradicts --deterministic=topology, which "
           "splits the batch into shards of its own";
  return "";
}

static std::string sizeText(int64_t parts, int64_t rows) {
  return std::to_string(parts) + " micro-batches of " + std::to_string(rows);
}

// The program of the whole batch, which does not fit, tells the usual line.
static ExitCode refuse(const Options &given, const ModelFile &model,
                       llvm::ArrayRef<TargetFactory> targets,
                       const std::string &suffix) {
  for (const std::string &kind : given.targets) {
    Options own = given;
    own.targets = {kind};
    own.trace = own.remarks = own.dumpPhases = own.savePrecisionPlan = "";
    Compilation whole(own, createTargets(own, targets));
    whole.model.onnx = model.onnx;
    whole.batchesThatFit = [&](int64_t) { return suffix; };
    if (ExitCode code = whole.run(*findPhase("plan")))
      return code;
  }
  return kExitMemory;
}

ExitCode compiler::splitBatch(Options &options, ModelFile &model,
                              llvm::ArrayRef<TargetFactory> targets) {
  if (!options.allowMicroBatch)
    return kExitDone;
  if (!model.onnx && !model.source)
    if (ExitCode code = readModel(options, model))
      return code;
  if (!model.onnx) {
    reportError(options, shown(options.model) +
                             ": --allow-microbatch sets the batch of ONNX "
                             "models; a sinter module has static shapes");
    return kExitUsage;
  }
  Trials trials(options, model, targets);
  // What else is wrong is said by the compilation itself.
  if (trials.plan() != kExitMemory)
    return kExitDone;
  const int64_t whole = trials.largestBytes;
  const int64_t batch = options.batch ? *options.batch : trials.batch;
  if (batch < 2)
    return kExitDone;
  ExitCode code = trials.planSplit(options, batch, batch);
  if (code != kExitDone && code != kExitMemory) {
    // Its batch cannot be set: the compiler says why.
    trials.options.isTrial = false;
    return trials.plan();
  }
  if (code == kExitMemory) {
    int64_t least = std::min(whole, trials.largestBytes);
    return refuse(
        options, model, targets,
        "; nor do " + sizeText(batch, 1) +
            " fit (--allow-microbatch), whose smallest limit is " +
            std::to_string(trials.largestBytes) + " bytes" +
            (least == whole ? ": their sums take more than they save" : ""));
  }
  const int64_t parts = fewestParts(trials, options, batch, batch / 2);
  if (parts == 0)
    return refuse(options, model, targets,
                  "; nor does a split of the batch of " +
                      std::to_string(batch) + " into equal parts, " +
                      std::to_string(kMostParts) +
                      " in a step at most (--allow-microbatch)");
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
                                     const ModelFile &model,
                                     llvm::ArrayRef<TargetFactory> targets,
                                     int64_t batch) {
  if (!model.onnx || batch < 2)
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
