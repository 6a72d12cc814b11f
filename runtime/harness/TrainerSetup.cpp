//===- TrainerSetup.cpp - a training run: what comes before the loop ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Cheap checks come first, so that a mistake shows at once; data that has to be
// decompressed is started before the program is loaded.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Trainer.h"

#include "runtime/exec/ArtifactPlaces.h"

#include <algorithm>
#include <cstdio>

using namespace sinter::rt;

Status Trainer::prepare() {
  if (!artifact_.training)
    return Status::invalid(
        "this program was compiled without --train; it cannot be trained");
  if (options_.clipNorm && artifact_.training->clipNorm == 0)
    return Status::invalid("--clip-norm: no clipping was compiled in (compile "
                           "with --clip-norm=X)");
  SINTER_RETURN_IF_ERROR(openStore());
  SINTER_RETURN_IF_ERROR(openAllData());
  Result<std::unique_ptr<Replicas>> replicas =
      Replicas::create(artifact_, options_);
  if (!replicas.ok())
    return replicas.status();
  replicas_ = std::move(*replicas);
  session_ = &replicas_->first();
  if (evalData_) {
    Result<EntryRunner> eval = EntryRunner::create(*session_, "eval");
    if (!eval.ok())
      return eval.status();
    evalRunner_ = std::move(*eval);
  }
  SINTER_RETURN_IF_ERROR(restore());
  SINTER_RETURN_IF_ERROR(replicas_->spreadStates());
  SINTER_RETURN_IF_ERROR(prepareFinder());
  SINTER_RETURN_IF_ERROR(openLog());
  Progress::Options progress;
  progress.quiet = options_.quiet;
  progress.firstStep = step_;
  progress.totalSteps = totalSteps_;
  progress.batchesPerEpoch = order_.batchesPerEpoch();
  progress.batch = order_.batch;
  progress_.emplace(progress);
  if (options_.verbose)
    progress_->note(
        std::string("program ") + artifact_.name + ", build " +
        artifact_.buildId + ": " + std::to_string(session_->states().size()) +
        " states of " + std::to_string(stateBytesOfAll(artifact_)) +
        " bytes, " + replicas_->workers() + ", steps " +
        std::to_string(step_ + 1) + " to " + std::to_string(totalSteps_) +
        ", seed " + std::to_string(seed_));
  int64_t left = order_.rows % order_.batch;
  if (left > 0 && !resumed_)
    progress_->note("data: " + std::to_string(order_.rows) + " rows make " +
                    std::to_string(order_.batchesPerEpoch()) + " batches of " +
                    std::to_string(order_.batch) + "; " + std::to_string(left) +
                    " rows are left out in each epoch");
  return {};
}

Status Trainer::openStore() {
  if (options_.out.empty())
    return {};
  Result<std::unique_ptr<CheckpointStore>> store =
      CheckpointStore::open(options_.out, options_.resume, options_.keep);
  if (!store.ok())
    return store.status();
  store_ = std::move(*store);
  return {};
}

Status Trainer::openAllData() {
  const sinter_entry *step = trainingEntry(artifact_);
  if (!step)
    return Status::invalid("the program has no entry for training");
  Result<BatchReader> train =
      openData(artifact_, *step, options_.data, DataUse::Train, options_);
  if (!train.ok())
    return train.status();
  trainData_ = std::move(*train);
  order_.rows = trainData_->rows();
  order_.batch =
      trainData_->batch() * microBatchesOf(artifact_) * replicasOf(artifact_);
  order_.shuffle = options_.shuffle.value_or(true);
  if (order_.rows < order_.batch)
    return Status::invalid(
        options_.data + ": has " + std::to_string(order_.rows) +
        " rows, fewer than the batch of " + std::to_string(order_.batch));
  if (options_.wholeBatchesOnly && order_.rows % order_.batch != 0)
    return Status::invalid(
        options_.data + ": its " + std::to_string(order_.rows) +
        " rows are not a multiple of the batch of " +
        std::to_string(order_.batch) + " (--last-batch=error)");
  Result<DatasetFingerprint> print = fingerprint(trainData_->dataset());
  if (!print.ok())
    return print.status();
  fingerprint_ = *print;
  if (options_.evalData.empty())
    return {};
  const sinter_entry *eval = findEntry(artifact_, "eval");
  if (!eval)
    return Status::invalid(
        "--eval-data: the program was compiled without an \"eval\" entry");
  Result<BatchReader> evalData =
      openData(artifact_, *eval, options_.evalData, DataUse::Eval, options_);
  if (!evalData.ok())
    return evalData.status();
  evalData_ = std::move(*evalData);
  return {};
}

/// Sets state, step, seed and the number of steps: from a checkpoint, from
/// --init, or from the beginning.
Status Trainer::restore() {
  seed_ = options_.seed.value_or(0);
  Manifest resumed;
  if (options_.resume) {
    const std::string &directory =
        options_.resumePath.empty() ? store_->directory() : options_.resumePath;
    Result<std::vector<int64_t>> found = listCheckpoints(directory);
    bool nothing = found.ok() && found->empty() && options_.resumePath.empty();
    if (nothing) {
      std::fprintf(stderr,
                   "note: %s: no checkpoint in it yet, starting from the "
                   "beginning\n",
                   directory.c_str());
    } else {
      Result<Manifest> manifest = loadNewestCheckpoint(
          directory, session_->states(), session_->program(),
          [](const std::string &line) {
            std::fprintf(stderr, "%s\n", line.c_str());
          });
      if (!manifest.ok())
        return manifest.status();
      SINTER_RETURN_IF_ERROR(checkResumed(*manifest));
      resumed = std::move(*manifest);
      resumed_ = true;
    }
  } else if (!options_.init.empty()) {
    Result<SafetensorsFile> file = SafetensorsFile::open(options_.init);
    if (!file.ok())
      return file.status();
    Result<StateTable::InitReport> report =
        session_->states().loadMatching(*file, session_->program());
    if (!report.ok())
      return report.status();
    if (!report->missing.empty())
      std::fprintf(stderr, "note: --init: not in the file, as compiled: %s\n",
                   listText(report->missing).c_str());
    if (!report->extra.empty())
      std::fprintf(stderr, "note: --init: unknown to the model, ignored: %s\n",
                   listText(report->extra).c_str());
  }
  order_.seed = static_cast<uint64_t>(seed_);
  return planSteps(resumed);
}

/// Whether the run may go on from there; takes over what the command line left
/// open.
Status Trainer::checkResumed(const Manifest &manifest) {
  auto differs = [](const std::string &what, auto then, auto now) {
    return Status::invalid("--resume: the checkpoint was made with " + what +
                           "=" + std::to_string(then) + ", not " +
                           std::to_string(now));
  };
  if (manifest.batch != order_.batch)
    return differs("a batch size", manifest.batch, order_.batch);
  if (options_.seed && *options_.seed != manifest.seed)
    return differs("--seed", manifest.seed, *options_.seed);
  if (options_.shuffle && *options_.shuffle != manifest.shuffle)
    return differs("--shuffle", int(manifest.shuffle), int(*options_.shuffle));
  bool sameData = manifest.rows == order_.rows &&
                  manifest.data.sizeBytes == fingerprint_.sizeBytes &&
                  manifest.data.contentHash == fingerprint_.contentHash;
  if (!sameData && !options_.acceptDatasetChange)
    return Status::invalid(
        options_.data + ": is not the data of the checkpoint (" +
        std::to_string(order_.rows) + " rows now, " +
        std::to_string(manifest.rows) +
        " then); --accept-dataset-change continues all the same");
  seed_ = manifest.seed;
  order_.shuffle = manifest.shuffle;
  step_ = firstStep_ = manifest.step;
  evaluated_ = manifest.evaluated;
  if (store_) {
    // What did not load, or belongs to a run that was abandoned, must not be
    // the newest next time.
    Result<std::vector<int64_t>> mine = listCheckpoints(store_->directory());
    if (!mine.ok())
      return mine.status();
    if (options_.resumePath.empty())
      store_->setAsideNewer(step_);
    else if (!mine->empty() && mine->front() > step_)
      return Status::invalid(store_->directory() +
                             ": has a checkpoint newer than the one of step " +
                             std::to_string(step_) +
                             "; name another --out for a run from there");
    if (!mine->empty() &&
        std::find(mine->begin(), mine->end(), step_) != mine->end()) {
      savedStep_ = step_;
      savedEvaluated_ = evaluated_;
    }
  }
  std::fprintf(stderr, "note: resumed after step %lld\n",
               static_cast<long long>(step_));
  return {};
}

Status Trainer::planSteps(const Manifest &resumed) {
  if (options_.steps)
    totalSteps_ = *options_.steps;
  else if (!options_.epochs)
    totalSteps_ = resumed.totalSteps;
  else if (__builtin_mul_overflow(*options_.epochs, order_.batchesPerEpoch(),
                                  &totalSteps_))
    return Status::invalid("--epochs=" + std::to_string(*options_.epochs) +
                           ": too many steps");
  if (!options_.steps && !options_.epochs && totalSteps_ == 0)
    return Status::invalid("--epochs=N or --steps=N is needed");
  if (totalSteps_ < step_)
    return Status::invalid("the run is already at step " +
                           std::to_string(step_) + ", beyond the " +
                           std::to_string(totalSteps_) + " asked for");
  Schedule::Options schedule;
  schedule.lr = options_.lr.value_or(decimalValue(artifact_.training->lr));
  schedule.lrFinal = options_.lrFinal;
  schedule.warmupSteps = options_.warmupSteps;
  schedule.totalSteps = totalSteps_;
  Result<Schedule> created = Schedule::create(options_.lrSchedule, schedule);
  if (!created.ok())
    return created.status();
  schedule_ = std::move(*created);
  return {};
}

Status Trainer::openLog() {
  if (!options_.tensorboard.empty())
    SINTER_RETURN_IF_ERROR(events_.create(options_.tensorboard, step_ + 1));
  if (options_.logJson.empty())
    return {};
  return resumed_ ? log_.resume(options_.logJson, step_, evaluated_)
                  : log_.create(options_.logJson);
}
