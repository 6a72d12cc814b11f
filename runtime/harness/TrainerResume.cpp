//===- TrainerResume.cpp - what a training run starts from ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A checkpoint (--resume), with the options of its run, or weights of another
// one (--init).
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Program.h"
#include "runtime/harness/Recipe.h"
#include "runtime/harness/Trainer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace sinter::rt;

/// Of several processes, one says what all find.
void Trainer::say(const std::string &line) const {
  if (job_->isLeader())
    std::fprintf(stderr, "%s\n", line.c_str());
}

/// Loads the checkpoint, if there is one, and takes over its options that are
/// not on the command line.
Status Trainer::resume() {
  Result<std::vector<int64_t>> found = listCheckpoints(options_.out);
  if (options_.resumesOutFirst && found.ok() && !found->empty())
    options_.resumePath.clear();
  const std::string &directory =
      options_.resumePath.empty() ? options_.out : options_.resumePath;
  if (found.ok() && found->empty() && options_.resumePath.empty()) {
    say("note: " + directory + ": no checkpoint in it yet, starting " +
        (options_.init.empty() ? "from the beginning"
                               : "with --init=" + options_.init));
    return {};
  }
  CheckpointReading reading;
  reading.fallsBack = true;
  reading.warn = [this](const std::string &line) { say(line); };
  std::string optimizers; // if they differ
  reading.accept = [&](const Manifest &manifest) {
    optimizers = optimizersText(manifest);
    return acceptRecipe("--resume", manifest);
  };
  Result<Manifest> manifest = loadNewestCheckpoint(
      directory, session_->states(), session_->program(), reading);
  if (!manifest.ok())
    return optimizers.empty() || manifest.status().code() != SINTER_INVALID
               ? manifest.status()
               : manifest.status().as(SINTER_INVALID,
                                      manifest.status().message() + "; " +
                                          optimizers);
  resumed_ = std::move(*manifest);
  return takeOverOptions();
}

/// "the checkpoint's optimizer is adam, this program's is lion"; "" if they are
/// the same.
std::string Trainer::optimizersText(const Manifest &manifest) const {
  for (const auto &[name, value] : manifest.recipe)
    if (name == "optimizer" && value != artifact_.training->optimizer)
      return "the checkpoint's optimizer is " + value + ", this program's is " +
             artifact_.training->optimizer;
  return "";
}

/// Whether the optimizer's slots mean the same in this program.
Status Trainer::acceptRecipe(const char *option,
                             const Manifest &manifest) const {
  std::vector<std::string> texts;
  for (const RecipeDifference &difference :
       recipeDifferences(manifest.recipe, recipeOf(artifact_)))
    if (difference.changesSlots) // the optimizer explains the others
      texts.insert(difference.name == "optimizer" ? texts.begin() : texts.end(),
                   difference.text);
  if (texts.empty() || options_.allowChangedRecipe)
    return {};
  return Status::invalid(
      std::string(option) + ": this program was compiled with " +
      listText(texts) +
      ", the checkpoint's; this changes what the optimizer's slots mean: "
      "--allow-changed-recipe loads them as they are, --init=CHECKPOINT "
      "loads only the weights");
}

/// The same for --init-slots, if the source is a checkpoint, which has a
/// recipe.
Status Trainer::acceptSlots() const {
  Result<std::optional<std::string>> checkpoint = checkpointAt(options_.init);
  if (!options_.initSlots || !checkpoint.ok() || !*checkpoint)
    return checkpoint.status();
  Result<Manifest> manifest = readManifest(**checkpoint);
  return manifest.ok() ? acceptRecipe("--init-slots", *manifest)
                       : manifest.status();
}

/// The value that the checkpoint has set for the option called like the
/// compiled `name`; "" if there is none.
static std::string keptValue(const TrainerOptions &options, std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  for (const auto &[option, value] : runOptions(options))
    if (option == name && !options.isGiven(name))
      return value;
  return "";
}

Status Trainer::takeOverOptions() {
  Result<std::vector<std::string>> differences =
      takeOver(options_, resumed_->options);
  if (!differences.ok())
    return differences.status();
  for (const std::string &difference : *differences)
    say("resume: " + difference);
  // Values for a schedule or a program that is no longer used.
  if (!options_.isGiven("lr-final") &&
      !Schedule::usesFinal(options_.lrSchedule))
    options_.lrFinal.reset();
  if (!options_.isGiven("clip-norm") && artifact_.training->clipNorm == 0)
    options_.clipNorm.reset();
  for (const RecipeDifference &difference :
       recipeDifferences(resumed_->recipe, recipeOf(artifact_))) {
    std::string kept = keptValue(options_, difference.name);
    say("resume: compiled with " + difference.text +
        (kept.empty() ? "" : "; the run continues with " + kept));
  }
  if (store_)
    store_->setKeep(options_.keep);
  return {};
}

/// "after 5 of 10 batches of epoch 3"; epochs count from 1, as the progress
/// shows them.
static std::string positionText(int64_t step, int64_t batchesPerEpoch) {
  const int64_t in = step % batchesPerEpoch, epoch = step / batchesPerEpoch;
  return in == 0 ? "at the end of epoch " + std::to_string(epoch)
                 : "after " + std::to_string(in) + " of " +
                       std::to_string(batchesPerEpoch) + " batches of epoch " +
                       std::to_string(epoch + 1);
}

/// What becomes of the epochs where they have another length than in the
/// checkpoint's run: a run goes on by its step number. "" if they do not.
std::string Trainer::recountText(const Manifest &manifest) const {
  RowOrder then = order_;
  then.rows = manifest.rows;
  then.padsLast = false;
  for (const auto &[name, value] : manifest.options)
    then.padsLast |= name == "last-batch" && value == "pad";
  const int64_t before = then.batchesPerEpoch(), now = order_.batchesPerEpoch();
  if (before == now || before <= 0)
    return "";
  std::string text = "an epoch has " + std::to_string(now) + " batches, not " +
                     std::to_string(before);
  if (manifest.step > 0)
    text += ": step " + std::to_string(manifest.step) + " was " +
            positionText(manifest.step, before) + ", it is now " +
            positionText(manifest.step, now);
  if (totalSteps_ != manifest.totalSteps)
    text += "; the run ends after step " + std::to_string(totalSteps_) +
            ", not " + std::to_string(manifest.totalSteps);
  return text;
}

/// Whether the run may continue from there with this data and batch.
Status Trainer::checkResumed() {
  const Manifest &manifest = *resumed_;
  if (manifest.batch != order_.batch)
    return Status::invalid(
        "--resume: the checkpoint was made with a batch size "
        "of " +
        std::to_string(manifest.batch) + ", not " +
        std::to_string(order_.batch));
  bool sameData = manifest.rows == order_.rows &&
                  manifest.data.sizeBytes == fingerprint_.sizeBytes &&
                  manifest.data.contentHash == fingerprint_.contentHash;
  const std::string difference =
      manifest.rows == order_.rows
          ? "its content differs"
          : std::to_string(order_.rows) + " rows now, " +
                std::to_string(manifest.rows) + " then";
  if (!sameData && !options_.acceptDatasetChange)
    return Status::invalid(
        options_.data + ": is not the data of the checkpoint (" + difference +
        "); --accept-dataset-change continues anyway");
  if (!sameData)
    say("resume: " + options_.data + " is not the data of the checkpoint (" +
        difference + ")");
  else if (fingerprint_.isSampled &&
           manifest.data.modifiedNs != fingerprint_.modifiedNs)
    say("warning: resume: " + options_.data +
        " was modified after the checkpoint's run had opened it; samples of it "
        "are unchanged, the whole is not compared");
  if (const std::string recount = recountText(manifest); !recount.empty())
    say("resume: " + recount);
  if (totalSteps_ < manifest.step)
    return Status::invalid(
        "the run is already at step " + std::to_string(manifest.step) +
        " and would have ended after step " + std::to_string(totalSteps_) +
        (options_.steps
             ? " (--steps)"
             : " (--epochs=" + std::to_string(*options_.epochs) + ", of " +
                   std::to_string(order_.batchesPerEpoch()) +
                   " batches each)"));
  step_ = firstStep_ = manifest.step;
  evaluated_ = manifest.evaluated;
  if (store_) {
    // What did not load, or belongs to a run that was abandoned, must not be
    // the newest next time.
    Result<std::vector<int64_t>> mine = listCheckpoints(store_->directory());
    if (!mine.ok())
      return mine.status();
    if (options_.resumePath.empty())
      for (const std::string &line : store_->setAsideNewer(step_))
        say(line);
    else if (!mine->empty() && mine->front() > step_)
      return Status::invalid(store_->directory() +
                             ": has a checkpoint newer than the one of step " +
                             std::to_string(step_) +
                             "; use another --out to continue from there");
    if (!mine->empty() &&
        std::find(mine->begin(), mine->end(), step_) != mine->end()) {
      savedStep_ = step_;
      savedEvaluated_ = evaluated_;
    }
  }
  say("note: resumed after step " + std::to_string(step_));
  return {};
}

Status Trainer::init() {
  SINTER_RETURN_IF_ERROR(acceptSlots());
  Result<std::unique_ptr<TensorFile>> file = openTensorFile(options_.init);
  if (!file.ok())
    return file.status();
  const StateTable &states = session_->states();
  std::vector<bool> isUsed(options_.initSkip.size() + options_.initMap.size());
  StateTable::InitOptions how;
  how.slots = options_.initSlots;
  how.skips = [&](const std::string &name) {
    bool skips = false;
    for (size_t i = 0; i < options_.initSkip.size(); ++i)
      if (options_.initSkip[i].matches(name))
        skips = isUsed[i] = true;
    return skips;
  };
  how.rename = [&](std::string name) {
    for (size_t i = 0; i < options_.initMap.size(); ++i)
      if (auto renamed = options_.initMap[i].first.replaced(
              name, options_.initMap[i].second)) {
        isUsed[options_.initSkip.size() + i] = true;
        name = *renamed;
      }
    return name;
  };
  Result<StateTable::InitReport> report =
      states.init(**file, session_->program(), how);
  if (!report.ok())
    return Status(report.status().code(),
                  "--init: " + report.status().message());
  for (size_t i = 0; i < isUsed.size(); ++i) {
    const bool isSkip = i < options_.initSkip.size();
    if (!isUsed[i])
      return Status::invalid(
          (isSkip ? "--init-skip=" + options_.initSkip[i].text() +
                        ": no state of the model has such a name"
                  : "--init-map=" +
                        options_.initMap[i - options_.initSkip.size()]
                            .first.text() +
                        ": no tensor of the file has such a name"));
  }
  Status finite = states.checkFinite(session_->program());
  if (!finite.ok())
    return Status::invalid("--init: " + options_.init + ": " +
                           finite.message());
  if (!report->missing.empty())
    say("note: --init: not in the file, left as compiled: " +
        listText(report->missing));
  if (!report->extra.empty())
    say("note: --init: unknown to the model, ignored: " +
        listText(report->extra));
  if (report->numSlots > 0)
    say("note: --init: the optimizer's " + std::to_string(report->numSlots) +
        " slots and counters in the file are left out; --init-slots loads "
        "them");
  if (report->hasAverages)
    say("note: --init: these are the weights, not their averages (--ema), "
        "which the run evaluated and exported as ONNX");
  return {};
}
