//===- TrainerSetup.cpp - a training run: what comes before the loop ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Cheap checks come first, so that a mistake shows at once; decompression of
// data starts before the program is loaded.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Trainer.h"

#include "runtime/base/NumberText.h"
#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/harness/Recipe.h"
#include "runtime/harness/RunRecord.h"
#include "runtime/train/TensorFile.h"

#include "sinter/program_names.h"

#include <cstdio>

using namespace sinter::rt;

Status Trainer::prepare() {
  if (!artifact_.training)
    return Status::invalid(
        "this program was compiled without --train; it cannot be trained");
  if (options_.clipNorm && artifact_.training->clipNorm == 0)
    return Status::invalid("--clip-norm: no clipping was compiled in (compile "
                           "with --clip-norm=X)");
  SINTER_RETURN_IF_ERROR(joinJob());
  SINTER_RETURN_IF_ERROR(openStore());
  SINTER_RETURN_IF_ERROR(agreeOnDirectories());
  if (options_.resume) {
    SINTER_RETURN_IF_ERROR(createPrograms());
    SINTER_RETURN_IF_ERROR(resume());
  }
  fillDefaults();
  SINTER_RETURN_IF_ERROR(openAllData());
  SINTER_RETURN_IF_ERROR(countSteps());
  if (resumed_)
    SINTER_RETURN_IF_ERROR(checkResumed());
  SINTER_RETURN_IF_ERROR(checkOutputs());
  SINTER_RETURN_IF_ERROR(planRates());
  if (!replicas_)
    SINTER_RETURN_IF_ERROR(createPrograms());
  if (!options_.init.empty() && !resumed_)
    SINTER_RETURN_IF_ERROR(init());
  soundStep_ = step_; // what was loaded has been checked
  if (evalData_) {
    Result<EntryRunner> eval =
        EntryRunner::create(*session_, SINTER_ENTRY_EVAL);
    if (!eval.ok())
      return eval.status();
    evalRunner_ = std::move(*eval);
  }
  SINTER_RETURN_IF_ERROR(replicas_->spreadStates());
  SINTER_RETURN_IF_ERROR(agreeOnRun());
  SINTER_RETURN_IF_ERROR(prepareFinder());
  SINTER_RETURN_IF_ERROR(planProfile());
  SINTER_RETURN_IF_ERROR(openLog());
  Progress::Options progress;
  progress.quiet = options_.quiet;
  if (options_.json) // the profile alone is printed on stdout
    progress.out = stderr;
  progress.firstStep = step_;
  progress.totalSteps = totalSteps_;
  progress.batchesPerEpoch = order_.batchesPerEpoch();
  progress.batch = order_.batch;
  progress_.emplace(progress);
  if (options_.verbose)
    progress_->note(
        std::string("program ") + artifact_.name + ", build " +
        artifact_.buildId + ": " + std::to_string(session_->states().size()) +
        " states of " + std::to_string(stateBytesOfAll(artifact_)) + " bytes" +
        dividedText(artifact_) + ", " + sumsText() + replicas_->workers() +
        ", steps " + std::to_string(step_ + 1) + " to " +
        std::to_string(totalSteps_) + ", seed " +
        std::to_string(*options_.seed));
  int64_t left = order_.rows % order_.batch;
  if (left > 0 && order_.padsLast && !resumed_)
    progress_->note("data: " + std::to_string(order_.rows) + " rows make " +
                    std::to_string(order_.batchesPerEpoch()) +
                    " batches, the last with " + std::to_string(left) + " of " +
                    std::to_string(order_.batch) + " rows");
  else if (left > 0 && !resumed_)
    progress_->note("data: " + std::to_string(order_.rows) + " rows make " +
                    std::to_string(order_.batchesPerEpoch()) + " batches of " +
                    std::to_string(order_.batch) + "; " + std::to_string(left) +
                    " rows are left out in each epoch");
  if (!store_ && job_->isLeader())
    progress_->note("no --out: nothing will be saved");
  saveTimes_ =
      SaveTimes(options_.checkpointEvery.value_or(order_.batchesPerEpoch()),
                options_.checkpointSeconds, SaveTimes::Clock::now());
  return {};
}

Status Trainer::createPrograms() {
  Result<std::unique_ptr<Replicas>> replicas =
      Replicas::create(artifact_, options_, *job_);
  if (!replicas.ok())
    return replicas.status();
  replicas_ = std::move(*replicas);
  session_ = &replicas_->first();
  return {};
}

/// Options that neither the command line nor a checkpoint has set are as
/// compiled.
void Trainer::fillDefaults() {
  const sinter_training &training = *artifact_.training;
  if (!options_.lr)
    options_.lr = decimalValue(training.lr);
  if (!options_.weightDecay)
    options_.weightDecay = decimalValue(training.weightDecay);
  if (!options_.clipNorm && training.clipNorm != 0)
    options_.clipNorm = decimalValue(training.clipNorm);
  if (!options_.seed)
    options_.seed = 0;
  if (!options_.shuffle)
    options_.shuffle = true;
}

Status Trainer::openStore() {
  auto open = [&](const std::string &directory, int32_t keep,
                  std::unique_ptr<CheckpointStore> &store) -> Status {
    if (directory.empty() || !job_->isLeader())
      return {};
    Result<std::unique_ptr<CheckpointStore>> opened =
        CheckpointStore::open(directory, options_.resume, keep);
    if (opened.ok())
      store = std::move(*opened);
    return opened.status();
  };
  SINTER_RETURN_IF_ERROR(open(options_.out, options_.keep, store_));
  // Opened now, so that at the end nothing but the saving itself can fail.
  return open(options_.spare, 0, spare_);
}

/// Whether a step can leave out the rows that pad its batch.
Status Trainer::checkPadding() const {
  const std::string node = rowsMixedBy(artifact_, SINTER_ROWS_OF_STEP);
  if (!node.empty())
    return Status::invalid("--last-batch=pad: " + node +
                           " mixes the rows of a batch, so the rows that pad "
                           "the last one cannot be left out");
  if (artifact_.training->hasIgnoreIndex || padsLastBatch(artifact_))
    return {};
  return Status::invalid(
      "--last-batch=pad: the program was compiled without --pad-last-batch");
}

Status Trainer::openAllData() {
  if (options_.data.empty())
    return Status::invalid("--data=SPEC is needed (see --help)");
  const sinter_entry *step = trainingEntry(artifact_);
  if (!step)
    return Status::invalid("the program has no entry for training");
  Result<BatchReader> train =
      openData(artifact_, *step, options_.data, DataUse::Train, options_,
               resumed_ ? resumed_->header : TableHeader());
  if (!train.ok())
    return train.status();
  trainData_ = std::move(*train);
  order_.rows = trainData_->rows();
  order_.batch =
      trainData_->batch() * microBatchesOf(artifact_) * replicasOf(artifact_);
  order_.shuffle = *options_.shuffle;
  order_.seed = static_cast<uint64_t>(*options_.seed);
  using LastBatch = TrainerOptions::LastBatch;
  order_.padsLast = options_.lastBatch == LastBatch::Pad;
  if (order_.padsLast)
    SINTER_RETURN_IF_ERROR(checkPadding());
  if (order_.rows < order_.batch && !order_.padsLast)
    return Status::invalid(
        options_.data + ": has " + std::to_string(order_.rows) +
        " rows, fewer than the batch of " + std::to_string(order_.batch));
  if (options_.lastBatch == LastBatch::Error && order_.rows % order_.batch != 0)
    return Status::invalid(
        options_.data + ": its " + std::to_string(order_.rows) +
        " rows are not a multiple of the batch of " +
        std::to_string(order_.batch) + " (--last-batch=error)");
  fingerprint_ = fingerprint(trainData_->dataset());
  if (options_.evalData.empty() || !job_->isLeader())
    return {};
  const sinter_entry *eval = findEntry(artifact_, SINTER_ENTRY_EVAL);
  if (!eval)
    return Status::invalid(
        "--eval-data: the program was compiled without an \"eval\" entry");
  Result<BatchReader> evalData =
      openData(artifact_, *eval, options_.evalData, DataUse::Eval, options_,
               trainData_->dataset().header);
  if (!evalData.ok())
    return evalData.status();
  evalData_ = std::move(*evalData);
  for (const std::string &line : trainData_->scalingWarnings(*evalData_))
    std::fprintf(stderr, "warning: %s\n", line.c_str());
  return {};
}

Status Trainer::countSteps() {
  if (options_.steps)
    totalSteps_ = *options_.steps;
  else if (!options_.epochs)
    return Status::invalid("--epochs=N or --steps=N is needed");
  else if (__builtin_mul_overflow(*options_.epochs, order_.batchesPerEpoch(),
                                  &totalSteps_))
    return Status::invalid("--epochs=" + std::to_string(*options_.epochs) +
                           ": too many steps");
  return {};
}

Status Trainer::planRates() {
  Schedule::Options schedule;
  schedule.lr = *options_.lr;
  schedule.lrFinal = options_.lrFinal;
  schedule.warmupSteps = options_.warmupSteps;
  schedule.totalSteps = totalSteps_;
  Result<Schedule> created = Schedule::create(options_.lrSchedule, schedule);
  if (!created.ok())
    return created.status();
  schedule_ = std::move(*created);
  // The two halves of --verify-resume are not whole runs.
  const int64_t last = totalSteps_ - 1;
  if (options_.warmupSteps > totalSteps_ && last >= step_ &&
      options_.stopAfter == INT64_MAX)
    say("warning: --warmup-steps=" + std::to_string(options_.warmupSteps) +
        ": the run has " + std::to_string(totalSteps_) +
        (totalSteps_ == 1 ? " step" : " steps") + ", so the rate reaches " +
        realText(decimalValue(schedule_->learningRate(last))) +
        ", not --lr=" + realText(*options_.lr));
  return {};
}

/// No file that the run writes may be one that it reads, or of another kind.
Status Trainer::checkOutputs() const {
  InputFiles inputs;
  for (const auto &[what, data] :
       {std::pair("a file of --data", &trainData_),
        std::pair("a file of --eval-data", &evalData_)})
    if (*data)
      for (const std::shared_ptr<InputFile> &file : (*data)->dataset().files)
        inputs.add(what, file->path());
  if (!options_.init.empty())
    inputs.addWeights("a file of --init", options_.init);
  if (resumed_) {
    const std::string &from =
        options_.resumePath.empty() ? options_.out : options_.resumePath;
    const std::string what = "a file of the checkpoint that is resumed";
    inputs.add(what, checkpointPath(from, resumed_->step));
    inputs.addWeights(what, from); // which is a checkpoint itself
  }
  if (!options_.traceEvents.empty())
    SINTER_RETURN_IF_ERROR(checkOutput("--trace-events", options_.traceEvents,
                                       inputs, &CommandTimes::traceKind()));
  // What is in the file of a standard stream is not replaced.
  return options_.logJson.empty() || LogFile::isStandardStream(options_.logJson)
             ? Status()
             : checkOutput("--log-json", options_.logJson, inputs,
                           &JsonLog::kind());
}

Status Trainer::openLog() {
  // A resumed run does not fail because of its logs.
  auto opened = [&](const char *option, Status status) -> Status {
    if (status.ok() || !resumed_)
      return status;
    std::fprintf(stderr, "warning: %s: %s; continuing without a log\n", option,
                 status.message().c_str());
    return {};
  };
  if (!options_.tensorboard.empty())
    SINTER_RETURN_IF_ERROR(opened(
        "--tensorboard", events_.create(options_.tensorboard, step_ + 1)));
  if (options_.logJson.empty())
    return {};
  if (options_.logStats)
    log_.addStats();
  Status log = resumed_ ? log_.resume(options_.logJson, logged())
                        : log_.create(options_.logJson);
  // It is the log of another run, which is kept.
  if (log.code() == SINTER_INVALID && log.systemError() == 0)
    return log.as(log.code(), "--log-json: " + log.message());
  SINTER_RETURN_IF_ERROR(opened("--log-json", log));
  log_.start(step_, startFields(artifact_, manifest(), order_.batchesPerEpoch(),
                                replicas_->workers(), options_.out));
  return {};
}

/// Up to where the log of the resumed run should have records. Its epochs are
/// those of the data it had.
JsonLog::Position Trainer::logged() const {
  JsonLog::Position position;
  position.step = resumed_->step;
  position.isEvaluated = resumed_->evaluated;
  position.isInEpoch = resumed_->batchInEpoch != 0;
  position.loss = resumed_->loss;
  for (const auto &[name, value] : resumed_->options)
    if (name == "eval-data")
      position.epochs = resumed_->epoch;
  return position;
}
