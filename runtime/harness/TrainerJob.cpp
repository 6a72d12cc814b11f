//===- TrainerJob.cpp - a training run among several processes ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// All processes make the same steps. Rank 0 evaluates, saves and logs; the
// others hear from it when to stop and when to compare their states.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Recipe.h"
#include "runtime/harness/Signals.h"
#include "runtime/harness/Trainer.h"

#include <algorithm>

using namespace sinter::rt;

/// Joins the job, and leaves to rank 0 what one process does for all.
Status Trainer::joinJob() {
  Result<std::unique_ptr<Job>> job = Job::join(artifact_, options_);
  if (!job.ok())
    return job.status();
  job_ = std::move(*job);
  if (!job_->spansProcesses())
    return {};
  if (options_.verifyResume || options_.locatesNonfinite)
    return Status::invalid(std::string(options_.verifyResume
                                           ? "--verify-resume"
                                           : "--check-nonfinite=step and =op") +
                           ": cannot be combined with several processes yet");
  Result<int32_t> threads = job_->ownThreads();
  if (!threads.ok())
    return threads.status();
  if (options_.threads == 0)
    options_.threads = *threads;
  if (job_->isLeader())
    return {};
  options_.quiet = true;
  options_.evalData.clear();
  options_.logJson.clear();
  options_.logStats = false;
  options_.tensorboard.clear();
  return {};
}

/// Before the first step: whether all processes would train the same.
Status Trainer::agreeOnRun() {
  if (!job_->spansProcesses())
    return {};
  Job::Facts facts = {
      {"the program (its build id)", artifact_.buildId},
      {"the first step", std::to_string(step_)},
      {"the number of steps", std::to_string(totalSteps_)},
      {"the rows of --data", std::to_string(order_.rows)},
      {"the size of --data", std::to_string(fingerprint_.sizeBytes)},
      {"the content of --data", std::to_string(fingerprint_.contentHash)}};
  // Files may lie elsewhere on another host; only rank 0 evaluates and saves.
  constexpr const char *own[] = {"data", "eval-data", "checkpoint-every",
                                 "keep"};
  for (const auto &[name, value] : runOptions(options_))
    if (std::find(std::begin(own), std::end(own), name) == std::end(own))
      facts.emplace_back("--" + name, value);
  SINTER_RETURN_IF_ERROR(job_->agree("the run", facts));
  Status same = replicas_->checkProcesses("the first states");
  return same.code() == SINTER_MISMATCH
             ? Status::invalid(same.message() + ", before the first step")
             : same;
}

bool Trainer::isStopped() const {
  return job_->spansProcesses() ? isStopOrdered_ : stopRequested();
}

/// Where the steps that may begin now end: before `end`, or at step_ if there
/// was an order, which has been followed.
Result<int64_t> Trainer::awaitPermission(int64_t end) {
  if (!job_->spansProcesses())
    return end;
  uint32_t asked = 0;
  if (job_->isLeader()) {
    if (stopRequested())
      asked |= static_cast<uint32_t>(Order::Stop);
    if (step_ != lastOrderedSave_ && step_ > firstStep_ && isTimeToSave())
      asked |= static_cast<uint32_t>(Order::Save);
  } else {
    if (stopRequested() && !hasAskedToStop_) {
      hasAskedToStop_ = true;
      job_->ask(Order::Stop);
    }
    if (takeSaveRequest())
      job_->ask(Order::Save);
  }
  Result<Permission> permission = job_->awaitPermission(
      step_, std::min(end - step_, saveTimes_.stepsLeft(step_)), asked);
  if (!permission.ok())
    return permission.status();
  switch (permission->order) {
  case Order::None:
    return std::min(end, permission->step);
  case Order::Stop:
    isStopOrdered_ = true;
    break;
  case Order::Save:
    lastOrderedSave_ = step_;
    SINTER_RETURN_IF_ERROR(finishSteps());
    SINTER_RETURN_IF_ERROR(
        replicas_->checkProcesses("step " + std::to_string(step_)));
    if (store_)
      SINTER_RETURN_IF_ERROR(saveOrWarn());
    break;
  }
  return step_;
}
