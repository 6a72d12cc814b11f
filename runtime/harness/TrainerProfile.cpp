//===- TrainerProfile.cpp - the trainer's --profile -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Times each command of some steps of a run. Commands are the same ones in the
// same order with and without it, so that the run has the same bits; while they
// are timed, they run one after the other, and steps one at a time. Of several
// processes, each times its own commands. Rank 0 prints its times; trace events
// are written by all, each to a file of its own.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/File.h"
#include "runtime/exec/Program.h"
#include "runtime/harness/Trainer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace sinter::rt;

/// What is set up lazily is set up after this many steps of a run.
static constexpr int64_t kWarmups = 3;
static constexpr int64_t kMostSteps = 10;

static uint64_t nanoseconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 +
         static_cast<uint64_t>(time.tv_nsec);
}

/// The time 0 of trace events is the time of day at which rank 0 is here, so
/// that the files of all processes can be joined. All call this, whether or not
/// they write trace events.
Status Trainer::agreeOnTime() {
  timed_ = {job_->rank(), job_->processes(), 0};
  if (!job_->spansProcesses())
    return {};
  Result<std::string> origin =
      job_->share(std::to_string(nanoseconds(CLOCK_REALTIME)));
  if (!origin.ok())
    return origin.status();
  const uint64_t monotonic = nanoseconds(CLOCK_MONOTONIC),
                 now = nanoseconds(CLOCK_REALTIME);
  timed_.originNs =
      monotonic - (now - std::strtoull(origin->c_str(), nullptr, 10));
  return {};
}

Status Trainer::planProfile() {
  SINTER_RETURN_IF_ERROR(agreeOnTime());
  if (!options_.profile && options_.traceEvents.empty())
    return {};
  const char *option = options_.profile ? "--profile" : "--trace-events";
  const int64_t left = totalSteps_ - step_;
  if (left <= kWarmups)
    return Status::invalid(std::string(option) +
                           ": times steps after the first " +
                           std::to_string(kWarmups) +
                           " of a run; this one makes " + std::to_string(left));
  profileBegin_ = step_ + kWarmups;
  profileEnd_ = std::min(totalSteps_, profileBegin_ + kMostSteps);
  Program &program = *session_->program()->program;
  profile_.emplace(
      program.source(), [&program](const sinter_entry &entry, uint32_t index) {
        Executor *executor = program.find(entry.name);
        return executor ? executor->describe(index) : std::string();
      });
  // A file that cannot be written is an error before the run, not after it.
  return options_.traceEvents.empty()
             ? Status()
             : writeFileAtomic(options_.traceEvents,
                               profile_->traceEvents(timed_));
}

/// Before a step begins, and once the last one is finished (`ends`): starts and
/// ends the timing.
Status Trainer::timeCommands(bool ends) {
  if (!profile_)
    return {};
  const bool isTimed = !ends && step_ >= profileBegin_ && step_ < profileEnd_,
             wasTimed = isTimed_;
  if (isTimed != wasTimed)
    SINTER_RETURN_IF_ERROR(finishSteps());
  isTimed_ = isTimed;
  session_->program()->program->setProfileSink(isTimed ? &*profile_ : nullptr);
  return wasTimed && !isTimed && !options_.traceEvents.empty()
             ? writeFileAtomic(options_.traceEvents,
                               profile_->traceEvents(timed_))
             : Status();
}

void Trainer::reportProfile() {
  if (!options_.profile || step_ <= profileBegin_ || !job_->isLeader())
    return;
  Result<Ceilings> ceilings =
      measureCeilings(session_->program()->program->device());
  if (!ceilings.ok())
    progress_->warn("warning: the limits of the device are not measured: " +
                    ceilings.status().message());
  const Ceilings known = ceilings.ok() ? *ceilings : Ceilings();
  const int64_t first = profileBegin_ + 1, last = std::min(step_, profileEnd_);
  if (options_.json)
    std::fputs(profile_->json(known, {}, std::pair(first, last)).c_str(),
               stdout);
  else
    std::printf("steps %lld to %lld:\n%s", static_cast<long long>(first),
                static_cast<long long>(last), profile_->table(known).c_str());
  std::fflush(stdout);
}
