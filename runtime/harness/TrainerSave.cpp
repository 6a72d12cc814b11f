//===- TrainerSave.cpp - saves and ends a training run --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// States that are not finite are neither saved nor evaluated, nor are states
// computed from data that changed meanwhile. A save that fails is a warning as
// long as another one follows; the last one is tried again, and then elsewhere.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/OutOfMemory.h"
#include "runtime/harness/Recipe.h"
#include "runtime/harness/Signals.h"
#include "runtime/harness/Trainer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <thread>

using namespace sinter::rt;

/// The loss of the last of `step` steps, if it is known and finite.
std::optional<float> Trainer::lossAfter(int64_t step) const {
  if (step == firstStep_)
    return resumed_ ? resumed_->loss : std::nullopt;
  const float loss = step == doneSteps_       ? lastLoss_
                     : step + 1 == doneSteps_ ? lossBefore_
                                              : NAN;
  return std::isfinite(loss) ? std::optional(loss) : std::nullopt;
}

Manifest Trainer::manifest() const {
  Manifest manifest;
  manifest.model = artifact_.name;
  manifest.buildId = artifact_.buildId;
  manifest.step = step_;
  manifest.epoch = step_ / order_.batchesPerEpoch();
  manifest.batchInEpoch = step_ % order_.batchesPerEpoch();
  manifest.batch = order_.batch;
  manifest.rows = order_.rows;
  manifest.seed = *options_.seed;
  manifest.shuffle = order_.shuffle;
  manifest.evaluated = evaluated_;
  manifest.totalSteps = totalSteps_;
  manifest.loss = lossAfter(step_);
  manifest.data = fingerprint_;
  manifest.header = trainData_->dataset().header;
  manifest.options = runOptions(options_);
  manifest.recipe = recipeOf(artifact_);
  return manifest;
}

/// Whether to save after step_; finish() saves after the last one.
bool Trainer::isTimeToSave() {
  const bool isAsked = takeSaveRequest();
  if (isAsked && !store_)
    progress_->warn(
        "warning: SIGUSR1: nothing was saved because there is no --out");
  if (!store_ || step_ == totalSteps_)
    return false;
  return isAsked || saveTimes_.isDue(step_, SaveTimes::Clock::now());
}

/// For errors about states that are not finite: what was saved.
std::string Trainer::savedText() {
  saysWhatIsLost_ = true;
  return std::string("; this state was not saved") +
         (!options_.out.empty() && newestStep() >= 0
              ? ", the checkpoint of step " + std::to_string(newestStep()) +
                    " was"
              : "");
}

/// "after the update of step 7 ", or of which steps it may have been one.
std::string Trainer::updateText(int64_t step) const {
  const int64_t first = std::max(soundStep_, firstStep_) + 1;
  return first >= step
             ? "after the update of step " + std::to_string(step) + " "
             : "after the updates of steps " + std::to_string(first) + " to " +
                   std::to_string(step) + " ";
}

/// What is not finite in the states after all started steps, which are done. An
/// error means that the states cannot be read.
Result<std::optional<std::string>> Trainer::findNonFinite() {
  std::optional<std::string> what;
  if (soundStep_ == step_)
    return what;
  Status read = orOutOfMemory([&]() -> Status {
    auto found = session_->states().findNonFinite(session_->program());
    if (found.ok())
      what = std::move(*found);
    return found.status();
  });
  if (read.code() == SINTER_OUT_OF_MEMORY)
    return read.as(read.code(),
                   "no memory to look for values that are not finite");
  if (!read.ok())
    return read.as(SINTER_DEVICE_FAILED,
                   "the states cannot be read: " + read.message());
  if (!what)
    soundStep_ = step_;
  return what;
}

/// The error for `what`, which findNonFinite() has found.
Status Trainer::notFinite(const std::string &what) {
  return Status::failed(updateText(step_) + what + savedText() +
                        "; --check-nonfinite=step or =op names what made it");
}

/// Checks the states after all started steps, which are done.
Status Trainer::checkStates() {
  Result<std::optional<std::string>> found = findNonFinite();
  SINTER_RETURN_IF_ERROR(found.status());
  return *found ? notFinite(**found) : Status();
}

/// SINTER_FAILED if data that is still read changed since it was opened. Data
/// that cannot be read now has not changed; if it stays so, the next batch
/// fails.
Status Trainer::compareData(const BatchReader &data) {
  Status same = data.checkUnchanged();
  if (same.ok() || same.systemError() == 0)
    return same;
  progress_->warn("warning: " + same.message() +
                  ", while it was compared with what was read");
  return {};
}

/// Training data that changed may have been read since the last check. Each
/// process has read rows of its own: if `ofAll`, all call this and end with
/// what one has found.
Status Trainer::checkTrainData(bool ofAll) {
  std::string changed;
  if (Status same = compareData(*trainData_); !same.ok())
    changed =
        same.message() + " while it was read; what was trained after step " +
        std::to_string(std::max(newestStep(), firstStep_)) + " is not saved";
  if (ofAll && job_->spansProcesses()) {
    if (!changed.empty())
      changed = "rank " + std::to_string(job_->rank()) + ": " + changed;
    Result<std::string> first = job_->firstText(changed);
    if (!first.ok())
      return first.status();
    changed = *first;
    if (!changed.empty())
      job_->endTogether();
  }
  saysWhatIsLost_ |= !changed.empty();
  return changed.empty() ? Status() : Status::failed(changed);
}

/// The same for all data. The states know nothing of the evaluation's.
Status Trainer::checkData(bool ofAll) {
  SINTER_RETURN_IF_ERROR(checkTrainData(ofAll));
  Status same;
  if (evalData_)
    same = compareData(*evalData_);
  if (!same.ok())
    return keepsStates(Status::failed(same.message() + " while it was read"),
                       step_);
  for (const auto *data : {&trainData_, &evalData_})
    for (const std::string &line :
         *data ? (*data)->takeModifications() : std::vector<std::string>())
      progress_->warn("warning: " + line);
  return {};
}

/// What this process answers to changedElsewhere(), from another thread.
std::string Trainer::dataAnswer() const {
  const Status same = trainData_->checkUnchanged();
  return same.ok() || same.systemError() != 0
             ? ""
             : "rank " + std::to_string(job_->rank()) + ": " + same.message();
}

/// Rank 0, while the others are in a step: "rank 1: FILE: was changed" if the
/// data of one of them was, else "".
Result<std::string> Trainer::changedElsewhere() {
  if (!job_->spansProcesses())
    return std::string();
  Result<std::vector<std::string>> answers = job_->meeting()->askAll();
  if (!answers.ok())
    return answers.status();
  for (const std::string &answer : *answers)
    if (!answer.empty())
      return answer;
  return std::string();
}

/// Saves the states after step_. Too little memory fails like a full disk.
Status Trainer::saveTo(CheckpointStore &store) {
  SaveInProgress inProgress;
  Status saved = orOutOfMemory([&]() -> Status {
    Status equal = replicas_->checkEqual();
    if (equal.code() == SINTER_FAILED) // another directory would not help
      return equal.as(SINTER_DEVICE_FAILED,
                      "the states cannot be read: " + equal.message());
    SINTER_RETURN_IF_ERROR(equal);
    WriteParts writeParts;
    if (dividesStates())
      writeParts = [this](const std::string &directory) {
        return writeAllParts(directory);
      };
    return store.save(manifest(), session_->states(), session_->program(),
                      writeParts);
  });
  return saved.code() == SINTER_OUT_OF_MEMORY
             ? CheckpointStore::notSaved(step_, saved)
             : saved;
}

Status Trainer::save() {
  if (Status saved = saveTo(*store_); !saved.ok())
    return job_->status().ok() ? saved : job_->status();
  savedStep_ = step_;
  job_->tellSaved(step_);
  savedEvaluated_ = evaluated_;
  log_.saved(step_);
  saveTimes_.saved(SaveTimes::Clock::now());
  return {};
}

Status Trainer::saveOrWarn() {
  auto nextTry = [&] {
    return "tried again " + saveTimes_.failed(step_, SaveTimes::Clock::now());
  };
  Result<std::optional<std::string>> bad = findNonFinite();
  const bool isUnchecked = bad.status().code() == SINTER_OUT_OF_MEMORY;
  if (!isUnchecked)
    SINTER_RETURN_IF_ERROR(bad.status());
  if (bad.ok() && *bad) {
    Status error = notFinite(**bad);
    if (options_.checkNonfinite != TrainerOptions::NonFinite::Off)
      return error;
    progress_->warn("warning: " + error.message() + "; " + nextTry());
    return {};
  }
  Status saved =
      isUnchecked ? CheckpointStore::notSaved(step_, bad.status()) : save();
  if (saved.code() == SINTER_DEVICE_FAILED || saved.code() == SINTER_MISMATCH ||
      !job_->status().ok())
    return saved;
  if (!saved.ok())
    progress_->warn("warning: " + saved.message() +
                    "; training continues, older checkpoints are untouched; " +
                    nextTry());
  return {};
}

Status Trainer::saveLast() {
  Status saved = save();
  if (saved.code() != SINTER_FAILED || !job_->status().ok())
    return saved;
  progress_->warn("warning: " + saved.message() + "; trying again");
  std::this_thread::sleep_for(std::chrono::seconds(1));
  saved = save();
  return saved.code() != SINTER_FAILED || !job_->status().ok()
             ? saved
             : saveToSpare(saved);
}

/// Saves to --spare after `failure`, the second one.
Status Trainer::saveToSpare(const Status &failure) {
  const int64_t from = std::max(savedStep_, firstStep_);
  std::string lost =
      "; the training of steps " + std::to_string(from + 1) + " to " +
      std::to_string(step_) + " is lost" +
      (savedStep_ >= 0 ? ", the checkpoint of step " +
                             std::to_string(savedStep_) + " is the newest"
                       : "");
  if (step_ == from)
    lost.clear();
  saysWhatIsLost_ = true;
  if (!spare_)
    return Status::failed(failure.message() + lost +
                          "; --spare=DIR names another directory");
  Status saved = saveTo(*spare_);
  if (!saved.ok())
    return Status::failed(
        failure.message() +
        "; saving to --spare failed, too: " + saved.message() + lost);
  return Status::failed(failure.message() + "; it was saved as " +
                        checkpointPath(spare_->directory(), step_) +
                        " instead: continue with --resume=" +
                        spare_->directory() + " and another --out");
}

/// All processes have found `failure`, which leaves the states as they are
/// after *intactSteps_ steps: they save them together and say the same.
Status Trainer::saveTogether(const Status &failure) {
  if (*intactSteps_ <= std::max(newestStep(), firstStep_))
    return failure;
  if (step_ != *intactSteps_)
    evaluated_ = false;
  step_ = *intactSteps_;
  const std::string state = "the state after step " + std::to_string(step_);
  if (job_->isLeader()) // if this is killed meanwhile, the reason is known
    progress_->warn("warning: " + failure.message() + "; " + state +
                    " is being saved");
  job_->setStep(step_, /*isTraining=*/false);
  Status saved = checkTrainData(/*ofAll=*/true);
  if (saved.ok())
    saved = compareProcesses();
  if (saved.ok() && job_->isLeader()) {
    saved = saveLast();
    (void)endSaves();
  } else if (saved.ok()) {
    saved = assistSaves();
  }
  // Rank 0 knows how it went, even if another one has ended.
  std::string text = saved.ok()
                         ? state + " was saved: --resume continues from there"
                     : saved.code() == SINTER_FAILED
                         ? saved.message()
                         : state + " was not saved: " + saved.message();
  Result<std::string> shared = job_->share(text);
  if (shared.ok())
    text = *shared;
  else if (!job_->isLeader())
    text = state + " may not have been saved: " + shared.status().message();
  return failure.as(failure.code(), failure.message() + "; " + text);
}

/// `failure` ended the run. Where it has nothing to do with the states, they
/// are saved, so that no step is lost.
Status Trainer::saveSound(const Status &failure) {
  const int64_t from = std::max(newestStep(), firstStep_);
  auto with = [&](const std::string &text) {
    return failure.as(failure.code(), failure.message() + "; " + text);
  };
  // Of the steps that were started at once, all but one may have been made.
  const bool isTrained = std::max(doneSteps_, startedSteps_ - 1) > from;
  if (savesTogether_)
    return saveTogether(failure);
  if (failure.isAboutOthers() || !job_->status().ok())
    return failure; // Job::conclude() says why
  if (!job_->isLeader())
    return options_.out.empty() || saysWhatIsLost_ || !isTrained
               ? failure
               : with("the training after step " + std::to_string(from) +
                      " is not saved");
  if (!store_ ||
      (intactSteps_ ? *intactSteps_ <= from : saysWhatIsLost_ || !isTrained))
    return failure;
  if (!intactSteps_ || (dividesStates() && !othersWait_))
    return with("the training after step " + std::to_string(from) +
                " is not saved");
  // Data that was changed may be why it failed.
  std::string changed;
  if (Status same = compareData(*trainData_); !same.ok()) {
    changed = same.message();
  } else if (!othersWait_) { // else meetToSave() looks at that of the others
    Result<std::string> elsewhere = changedElsewhere();
    if (!elsewhere.ok())
      return failure; // the job is over
    changed = *elsewhere;
  }
  if (!changed.empty())
    return with(changed + " while it was read; what was trained after step " +
                std::to_string(from) + " is not saved");
  if (step_ != *intactSteps_)
    evaluated_ = false;
  step_ = *intactSteps_;
  const std::string state = "the state after step " + std::to_string(step_);
  Result<std::optional<std::string>> bad = findNonFinite();
  if (!bad.ok())
    return with(state + " was not saved: " + bad.status().message());
  if (*bad)
    return with(state + " is not finite (" + **bad + ") and was not saved");
  if (job_->spansProcesses()) {
    // If this is killed meanwhile, the reason is known.
    progress_->warn("warning: " + failure.message() + "; " + state +
                    " is being saved");
    job_->setStep(step_, /*isTraining=*/false);
  }
  Status saved = othersWait_ ? meetToSave() : Status();
  if (saved.ok()) {
    saved = saveLast();
    (void)endSaves(); // the others end with the run, too
  }
  if (saved.ok())
    return with(state + " was saved: --resume continues from there");
  return with(saved.code() == SINTER_FAILED
                  ? saved.message()
                  : state + " was not saved: " + saved.message());
}

/// After the last step or an interruption: saves, and says what was done.
Status Trainer::finish() {
  // After the last step, rank 0 may be interrupted in the evaluation.
  const bool isAsked = isStopped() || (job_->isLeader() && stopRequested());
  const bool interrupted = isAsked && (step_ < totalSteps_ ||
                                       (evalData_ && !evaluated_ && step_ > 0));
  if (store_ || options_.checkNonfinite != TrainerOptions::NonFinite::Off)
    SINTER_RETURN_IF_ERROR(checkStates());
  SINTER_RETURN_IF_ERROR(checkData(/*ofAll=*/true));
  SINTER_RETURN_IF_ERROR(compareProcesses());
  if (!store_)
    SINTER_RETURN_IF_ERROR(replicas_->checkEqual());
  if (store_ && (savedStep_ != step_ || savedEvaluated_ != evaluated_))
    SINTER_RETURN_IF_ERROR(saveLast());
  SINTER_RETURN_IF_ERROR(job_->isLeader() ? endSaves() : assistSaves());
  // A failure of one is one of all.
  SINTER_RETURN_IF_ERROR(job_->agree({}));
  if (interrupted) {
    reportProfile();
    return Status(SINTER_INTERRUPTED,
                  "interrupted after step " + std::to_string(step_) + " of " +
                      std::to_string(totalSteps_) +
                      (!options_.out.empty()
                           ? "; continue with --resume"
                           : "; nothing was saved because there is no --out"));
  }
  if (!options_.quiet)
    report();
  reportProfile();
  return {};
}
