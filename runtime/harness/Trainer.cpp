//===- Trainer.cpp - a training run: the loop -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What comes before the loop is in TrainerSetup.cpp and TrainerResume.cpp,
// saving is in TrainerSave.cpp.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Trainer.h"

#include "runtime/base/OutOfMemory.h"
#include "runtime/exec/Program.h"
#include "runtime/harness/Commands.h"
#include "runtime/harness/Signals.h"

#include "sinter/program_names.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

using namespace sinter::rt;

Status sinter::rt::runTrain(const sinter_artifact &artifact,
                            const TrainerOptions &options) {
  watchSignals(options.goesOnAfterUsr1);
  if (options.verifyResume)
    return runVerifyResume(artifact, options);
  return Trainer(artifact, options).run();
}

Status Trainer::run() {
  Status status = trainHere();
  return job_ ? job_->conclude(std::move(status), whereText(), restartText())
              : status;
}

/// The step of the newest checkpoint of this run, which rank 0 tells the
/// others; -1 if there is none.
int64_t Trainer::newestStep() const {
  return std::max(savedStep_, job_->savedStep());
}

/// Where this process was when another one was lost.
std::string Trainer::whereText() const {
  return doneSteps_ > firstStep_ && !job_->isInSteps()
             ? "after step " + std::to_string(doneSteps_)
             : "in step " + std::to_string(doneSteps_ + 1);
}

/// What to do when another process was lost, and what of the training is lost
/// with it.
std::string Trainer::restartText() const {
  if (options_.out.empty())
    return "nothing was saved because there is no --out";
  const int64_t from = std::max(newestStep(), firstStep_);
  std::string text;
  if (doneSteps_ > from)
    text = "what was trained after step " + std::to_string(from) + " is lost; ";
  text += "restart all processes";
  if (newestStep() >= 0)
    return text + " with --resume";
  return options_.resumePath.empty()
             ? text
             : text + " with --resume=" + options_.resumePath;
}

Status Trainer::trainHere() {
  SINTER_RETURN_IF_ERROR(prepare());
  auto begin = std::chrono::steady_clock::now();
  Status status = orOutOfMemory([&] { return loop(); });
  seconds_ =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  progress_->finish();
  if (status.ok())
    status = orOutOfMemory([&] { return finish(); });
  if (!status.ok() && status.code() != SINTER_INTERRUPTED) {
    const Status sound = orOutOfMemory([&] { return saveSound(status); });
    if (sound.code() != SINTER_OUT_OF_MEMORY)
      status = sound;
  }
  if (Meeting *meeting = job_->meeting())
    meeting->answerWith(nullptr);
  closeLogs(status);
  return status;
}

/// Says what the logs lack, however the run ended.
void Trainer::closeLogs(const Status &status) {
  log_.end(doneSteps_, status.ok()                           ? "done"
                       : status.code() == SINTER_INTERRUPTED ? "interrupted"
                                                             : "failed");
  log_.close();
  events_.close();
  const std::string lost = log_.lostText() + events_.lostText();
  if (!lost.empty())
    progress_->warn("warning: " + lost.substr(2)); // without ", "
}

/// `failure`, which leaves the states as they are after `step` steps, unless
/// later ones were begun.
Status Trainer::keepsStates(Status failure, int64_t step) {
  if (!replicas_->underWay() && failure.code() != SINTER_DEVICE_FAILED)
    intactSteps_ = step;
  return failure;
}

sinter_control Trainer::control(int64_t step) const {
  sinter_control control = {};
  control.lr = schedule_->learningRate(step);
  control.weightDecay = static_cast<float>(*options_.weightDecay);
  control.clipNorm = static_cast<float>(options_.clipNorm.value_or(0));
  control.step = step;
  control.seed = *options_.seed;
  control.validRows = trainData_->batch();
  return control;
}

/// Begins the next `count` steps.
Status Trainer::beginSteps(int64_t count) {
  SINTER_RETURN_IF_ERROR(keepStates());
  controls_.clear();
  for (int64_t i = 0; i < count; ++i)
    controls_.push_back(control(step_ + i));
  Status read = replicas_->read();
  if (!read.ok()) { // reported after the steps before it are finished
    SINTER_RETURN_IF_ERROR(finishSteps());
    return keepsStates(read, step_);
  }
  startedSteps_ = step_ + count;
  beginOfStep_ = std::chrono::steady_clock::now();
  Status begun = replicas_->begin(controls_);
  if (!begun.ok()) {
    if (Status fault = indexFault(); !fault.ok())
      return keepsStates(fault, doneSteps_);
    // With --sync-launches the error names what failed.
    if (replicas_->size() == 1 && !options_.deviceOptions.syncLaunches)
      SINTER_RETURN_IF_ERROR(finishSteps());
    // Of micro-batches some may have been added up; another replica may have
    // made the step.
    return microBatchesOf(artifact_) > 1 || replicas_->size() > 1
               ? begun
               : keepsStates(begun, step_);
  }
  // So that a process that hangs is noticed even if a library sends messages.
  if (Meeting *meeting = job_->meeting())
    meeting->countMessages(static_cast<uint64_t>(count));
  step_ += count;
  evaluated_ = false;
  return {};
}

/// The index error of the oldest step that is not finished.
Status Trainer::indexFault() const {
  std::optional<std::string> fault = replicas_->indexFault(order_, doneSteps_);
  if (!fault)
    return {};
  const int64_t number = doneSteps_ + 1,
                later = static_cast<int64_t>(replicas_->underWay());
  std::string text = "step " + std::to_string(number) + ": " + *fault +
                     "; the step changed no state";
  if (later > 0)
    text += ", but step" + std::string(later > 1 ? "s " : " ") +
            std::to_string(number + 1) +
            (later > 1 ? " to " + std::to_string(number + later) : "") +
            ", already started, did (with --check-nonfinite=step, no step "
            "starts before the one before it is checked)";
  return Status::failed(text);
}

/// Finishes all started steps.
Status Trainer::finishSteps() {
  while (replicas_->underWay())
    SINTER_RETURN_IF_ERROR(finishStep());
  return {};
}

/// Below this, scaling loses more than it saves.
static constexpr float kLeastLossScale = 0x1p-16f;

/// That of the step that was finished last; nothing without dynamic scaling.
std::optional<JsonLog::Scale> Trainer::lossScale() const {
  std::optional<float> scale = replicas_->scalar(SINTER_OUTPUT_LOSS_SCALE),
                       skipped = replicas_->scalar(SINTER_OUTPUT_SKIPPED_STEPS);
  if (!scale || !skipped)
    return std::nullopt;
  return JsonLog::Scale{*scale, static_cast<int64_t>(*skipped)};
}

/// Those of the step that was finished last; nothing without --log-norms.
std::optional<JsonLog::Norms> Trainer::norms() const {
  std::optional<float> gradient =
                           replicas_->scalar(SINTER_OUTPUT_GRADIENT_NORM),
                       weights = replicas_->scalar(SINTER_OUTPUT_WEIGHT_NORM);
  if (!gradient || !weights)
    return std::nullopt;
  return JsonLog::Norms{*gradient, *weights};
}

/// How many steps were skipped before the next one.
Result<int64_t> Trainer::skippedBefore() const {
  std::optional<size_t> state =
      session_->states().counter(SINTER_STATE_SKIPPED_STEPS);
  if (!state)
    return 0;
  std::vector<uint8_t> copy;
  Result<std::span<const uint8_t>> bytes =
      stateBytes(session_->program(), static_cast<uint32_t>(*state), copy);
  if (!bytes.ok())
    return bytes.status();
  int64_t count = 0;
  if (bytes->size() == sizeof(count))
    std::memcpy(&count, bytes->data(), sizeof(count));
  return count;
}

/// Waits for the oldest step in flight, logs it and checks its loss.
Status Trainer::finishStep() {
  if (Status finished = replicas_->finish(); !finished.ok()) {
    Status fault = indexFault();
    return fault.ok() ? finished : keepsStates(fault, doneSteps_);
  }
  const int64_t step = doneSteps_++;
  measureStep();
  lossBefore_ = lastLoss_;
  lastLoss_ = replicas_->scalar(SINTER_OUTPUT_LOSS).value();
  areLossesZero_ &= lastLoss_ == 0;
  std::optional<JsonLog::Scale> scale = lossScale();
  const JsonLog::Details details = {scale, norms()};
  log_.step(step + 1, step / order_.batchesPerEpoch(), lastLoss_,
            control(step).lr, details);
  events_.step(step + 1, lastLoss_, control(step).lr, details);
  progress_->step(step + 1, lastLoss_);
  const bool isSkipped = scale && scale->skipped > skippedSteps_;
  skippedSteps_ = scale ? scale->skipped : 0;
  if (isSkipped && scale->scale < kLeastLossScale) {
    char text[200];
    std::snprintf(text, sizeof(text),
                  "the loss scale fell to %g at step %" PRId64
                  ": gradients are not finite however little the loss is "
                  "scaled; a lower learning rate, clipping or "
                  "--precision=bf16 may help",
                  double(scale->scale) / 2, step + 1);
    return Status::failed(text);
  }
  return checkFinite(step, isSkipped);
}

/// Copies the data to the device, or starts reading the batches of all steps to
/// come.
Status Trainer::load() {
  Loader::Options loading;
  loading.begin = step_;
  loading.end = totalSteps_;
  loading.order = order_;
  loading.workers = options_.workers;
  loading.prefetch = options_.prefetch;
  bool isOnDevice = false;
  SINTER_RETURN_IF_ERROR(placeData(loading, isOnDevice));
  if (!isOnDevice)
    SINTER_RETURN_IF_ERROR(replicas_->load(*trainData_, loading));
  doneSteps_ = step_;
  Result<int64_t> skipped = skippedBefore();
  if (skipped.ok())
    skippedSteps_ = skippedBefore_ = *skipped;
  return skipped.status();
}

/// Whether steps are started while those that were started before them are
/// still in flight: if the device works while the host continues.
bool Trainer::worksAhead() const {
  return session_->isAsynchronous() && !options_.locatesNonfinite;
}

/// How many steps to begin at once, of those before step `end`: a whole series,
/// or one if something is due before its end, the time of a step is not
/// measured yet, or a profile is not complete.
int64_t Trainer::stepsToBegin(int64_t end) const {
  const int64_t most = isMeasured_ && step_ >= profileEnd_
                           ? replicas_->mostSteps()
                           : 1,
                perEpoch = order_.batchesPerEpoch(),
                left = std::min({end - step_, perEpoch - step_ % perEpoch,
                                 saveTimes_.stepsLeft(step_)});
  return left >= most ? most : 1;
}

Status Trainer::loop() {
  SINTER_RETURN_IF_ERROR(load());
  if (Meeting *meeting = job_->meeting())
    meeting->answerWith([this] { return dataAnswer(); });
  int64_t perEpoch = order_.batchesPerEpoch();
  const int64_t end = std::min(totalSteps_, options_.stopAfter);
  // A run that was interrupted between an epoch and its evaluation.
  if (step_ > 0 && (step_ % perEpoch == 0 || step_ >= totalSteps_))
    SINTER_RETURN_IF_ERROR(evaluateNow());
  while (step_ < end && !isStopped()) {
    job_->setStep(step_, /*isTraining=*/true);
    Result<int64_t> until = awaitPermission(end);
    if (!until.ok())
      return until.status();
    if (*until == step_)
      continue;
    const int64_t count = stepsToBegin(*until);
    SINTER_RETURN_IF_ERROR(timeCommands());
    SINTER_RETURN_IF_ERROR(beginSteps(count));
    bool ends = step_ % perEpoch == 0 || step_ == totalSteps_;
    bool saves = !job_->spansProcesses() && isTimeToSave();
    const int64_t ahead = worksAhead() && !ends && !saves ? count : 0;
    while (int64_t(replicas_->underWay()) > ahead)
      SINTER_RETURN_IF_ERROR(finishStep());
    if (ends) {
      job_->setStep(step_, /*isTraining=*/false);
      warnIfNothingCounts();
      SINTER_RETURN_IF_ERROR(checkData());
      SINTER_RETURN_IF_ERROR(evaluateNow());
    }
    if (saves && !stopRequested()) {
      SINTER_RETURN_IF_ERROR(checkData());
      SINTER_RETURN_IF_ERROR(saveOrWarn());
    }
  }
  SINTER_RETURN_IF_ERROR(finishSteps());
  job_->setStep(step_, /*isTraining=*/false);
  return timeCommands(/*ends=*/true);
}

/// At the end of an epoch: a loss of 0 may mean that there was none. Labels of
/// later steps have been read, too, and other processes read others; the losses
/// are those of all.
void Trainer::warnIfNothingCounts() {
  if (saysNothingCounts_ || !areLossesZero_ || !job_->isLeader() ||
      !trainData_->allLabelsIgnored())
    return;
  saysNothingCounts_ = true;
  progress_->warn("warning: " + options_.data +
                  ": no label counts so far, all are the ignored one (" +
                  std::to_string(artifact_.training->ignoreIndex) +
                  "): a loss of 0 means that there is none");
}

/// Evaluates if there is data for it and it has not been done after this step.
/// An interruption leaves it to the resumed run.
Status Trainer::evaluateNow() {
  if (!evalData_ || evaluated_ || stopRequested())
    return {};
  Result<std::optional<std::string>> bad = findNonFinite();
  SINTER_RETURN_IF_ERROR(bad.status());
  if (*bad) {
    Status error = notFinite(**bad);
    if (options_.checkNonfinite != TrainerOptions::NonFinite::Off)
      return error;
    progress_->warn("warning: not evaluated: " + error.message());
    return {};
  }
  session_->program()->program->setProfileSink(nullptr); // of steps alone
  // If the job is over, this returns soon, and the next call says why.
  Result<Evaluation> evaluation =
      evaluate(*evalRunner_, *evalData_, control(step_), options_,
               [&] { return stopRequested() || !job_->status().ok(); });
  if (!evaluation.ok()) {
    if (evaluation.status().code() == SINTER_INTERRUPTED)
      return {};
    othersWait_ = job_->spansProcesses();
    return keepsStates(evaluation.status(), step_);
  }
  int64_t epoch = (step_ - 1) / order_.batchesPerEpoch();
  log_.evaluation(epoch, *evaluation);
  events_.evaluation(step_, *evaluation);
  progress_->evaluated(step_, *evaluation);
  lastEvaluation_ = *evaluation;
  evaluated_ = true;
  return {};
}

void Trainer::report() {
  int64_t steps = step_ - firstStep_;
  std::string text = "trained " + std::to_string(steps) + " steps (" +
                     std::to_string(step_ / order_.batchesPerEpoch()) +
                     " epochs) in " + durationText(seconds_) + " on " +
                     replicas_->workers();
  if (skippedSteps_ > skippedBefore_)
    text += ", " + std::to_string(skippedSteps_ - skippedBefore_) +
            " of them skipped";
  if (lossesNotFinite_ > 0)
    text += ", the losses of " + std::to_string(lossesNotFinite_) +
            " of them not finite";
  if (lastEvaluation_)
    text += ": " + evaluationText(*lastEvaluation_);
  else if (steps > 0) {
    char loss[40];
    std::snprintf(loss, sizeof(loss), ": loss %.6g", double(lastLoss_));
    text += loss;
  }
  log_.end(doneSteps_, "done");
  log_.close();
  events_.close();
  text += log_.lostText() + events_.lostText();
  std::FILE *out = options_.json ? stderr : stdout;
  std::fprintf(out, "%s\n", text.c_str());
  std::fflush(out);
}
