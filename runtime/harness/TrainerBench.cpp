//===- TrainerBench.cpp - the trainer's "bench" ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Times steps as the training loop makes them: data is read and copied, a step
// is started while the previous one computes, losses are checked. Rounds that
// are requested over a pipe can alternate with those of another program.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Arguments.h"
#include "runtime/harness/Commands.h"
#include "runtime/harness/Signals.h"
#include "runtime/harness/Trainer.h"

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <iostream>

using namespace sinter::rt;

/// The limit for one round, and the number of steps that a run is planned for.
static constexpr int64_t kMostSteps = int64_t(1) << 40;
/// After this many steps, and as many series of steps if they are longer,
/// everything that is set up lazily is set up, and the length of a series is
/// known.
static constexpr int64_t kWarmups = 3;

Status sinter::rt::runBench(const sinter_artifact &artifact,
                            const TrainerOptions &options) {
  watchSignals();
  TrainerOptions run = options;
  run.steps = kMostSteps;
  run.quiet = true;
  return Trainer(artifact, run).bench(options.steps);
}

Status Trainer::bench(std::optional<int64_t> steps) {
  Status status = benchHere(steps);
  return job_ ? job_->conclude(std::move(status),
                               "in step " + std::to_string(doneSteps_ + 1))
              : status;
}

Status Trainer::benchHere(std::optional<int64_t> steps) {
  SINTER_RETURN_IF_ERROR(prepare());
  if (job_->spansProcesses() && !steps)
    return Status::invalid("bench: several processes need --steps=N");
  SINTER_RETURN_IF_ERROR(load());
  if (steps) {
    SINTER_RETURN_IF_ERROR(makeSteps(kWarmups));
    // A process measures its own steps to know how many it begins at once.
    Result<std::string> most =
        job_->share(std::to_string(replicas_->mostSteps()));
    if (!most.ok())
      return most.status();
    if (const int64_t count = std::stoll(*most); count > 1)
      SINTER_RETURN_IF_ERROR(makeSteps(kWarmups * count));
    return benchRound(*steps);
  }
  for (std::string line; !stopRequested() && std::getline(std::cin, line);) {
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    Result<int64_t> count = parseInteger(line, 1, kMostSteps);
    if (!count.ok())
      return Status::invalid("bench: '" + line +
                             "': " + count.status().message());
    SINTER_RETURN_IF_ERROR(benchRound(*count));
  }
  return {};
}

Status Trainer::makeSteps(int64_t count) {
  const int64_t end = step_ + count;
  while (step_ < end) {
    job_->setStep(step_, /*isTraining=*/true);
    Result<int64_t> until = awaitPermission(end);
    if (!until.ok())
      return until.status();
    if (isStopped())
      return {SINTER_INTERRUPTED, "interrupted"};
    if (*until == step_)
      continue;
    const int64_t begun = stepsToBegin(*until);
    SINTER_RETURN_IF_ERROR(beginSteps(begun));
    while (int64_t(replicas_->underWay()) > (worksAhead() ? begun : 0))
      SINTER_RETURN_IF_ERROR(finishStep());
  }
  return finishSteps();
}

Status Trainer::benchRound(int64_t steps) {
  const auto begin = std::chrono::steady_clock::now();
  SINTER_RETURN_IF_ERROR(makeSteps(steps));
  const double ms = std::chrono::duration<double, std::milli>(
                        std::chrono::steady_clock::now() - begin)
                        .count();
  if (options_.json)
    std::printf("{\"steps\":%" PRId64 ",\"ms_per_step\":%.9g,\"loss\":%s}\n",
                steps, ms / double(steps), jsonNumber(lastLoss_).c_str());
  else
    std::printf("%.4f ms per step (%" PRId64
                " steps on %s): loss %.6g in step %" PRId64 "\n",
                ms / double(steps), steps, replicas_->workers().c_str(),
                double(lastLoss_), step_);
  std::fflush(stdout);
  return {};
}
