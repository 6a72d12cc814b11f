//===- Job.h - a training run in several processes --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each process has some of the replicas of the program. Rank 0 leads: it says
// up to which step all may go, evaluates, saves and logs. With one process,
// nothing meets and nothing waits.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_JOB_H
#define SINTER_RUNTIME_HARNESS_JOB_H

#include "runtime/collective/SpanningGroup.h"
#include "runtime/harness/TrainerOptions.h"

#include "sinter/abi.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sinter::rt {

class Job {
public:
  /// Finds out which process this is and, if there are others, waits until all
  /// have joined. SINTER_INVALID if the replicas of `artifact` cannot be
  /// distributed over the processes.
  static Result<std::unique_ptr<Job>> join(const sinter_artifact &artifact,
                                           const TrainerOptions &options);
  /// All call this before another run, when none of them is in the former one.
  Status beginRun();

  bool spansProcesses() const { return meeting_ != nullptr; }
  bool isLeader() const { return ranks_.rank == 0; }
  uint32_t rank() const { return ranks_.rank; }
  /// Of this process, and of the job.
  uint32_t firstReplica() const { return ranks_.rank * localReplicas_; }
  uint32_t localReplicas() const { return localReplicas_; }
  uint32_t replicas() const { return localReplicas_ * ranks_.world; }
  /// The process's number among those of its host.
  uint32_t localRank() const { return ranks_.localRank; }
  uint32_t processes() const { return ranks_.world; }
  /// The number of threads of each replica without --threads: the processors
  /// that this process may use, divided by the number of processes that may use
  /// the same ones.
  Result<int32_t> ownThreads();
  GroupRequest group() const {
    return {meeting_.get(), firstReplica(), localReplicas()};
  }
  Meeting *meeting() { return meeting_.get(); }

  /// Each fact is a name and a value. SINTER_INVALID, naming the first fact and
  /// the lowest rank that differ from rank 0's, in all processes.
  using Facts = std::vector<std::pair<std::string, std::string>>;
  Status agree(const Facts &facts);
  /// Meeting::combine(), with a name that is not used yet. With one process,
  /// the same without messages.
  Result<std::string> combine(std::string bytes,
                              const Meeting::Combine &combine);
  /// The text of the lowest rank that contributes one; "" if none does.
  Result<std::string> firstText(std::string text);
  /// What rank 0 contributes, in all processes.
  Result<std::string> share(std::string bytes);

  /// Waits until step `step` may begin or there is an order to follow before
  /// it. The leader decides: an order if one is asked for in `askedHere` (bits
  /// of Order) or by another process, or how many steps, at most `most`, may
  /// begin before it is asked again.
  Result<Permission> awaitPermission(int64_t step, int64_t most,
                                     uint32_t askedHere);
  /// Rank 0: an order to the others, which wait before step `step`.
  Status give(int64_t step, Order order) {
    return meeting_->allow({step, order});
  }
  void ask(Order order) { meeting_->ask(order); }
  /// Rank 0: there is a checkpoint of step `step`, which the others learn.
  void tellSaved(int64_t step) {
    if (meeting_)
      (void)meeting_->tellSaved(step);
  }
  /// The step of the newest checkpoint of this run, as rank 0 told; or -1.
  int64_t savedStep() const { return meeting_ ? meeting_->savedStep() : -1; }
  /// Success as long as no process has ended the job (Meeting::status()).
  Status status() const { return meeting_ ? meeting_->status() : Status(); }
  /// What this process does, for the others.
  void setStep(int64_t step, bool isTraining) {
    isInSteps_ = isTraining;
    if (meeting_)
      meeting_->setStep(step, isTraining);
  }

  /// Whether setStep() said so last.
  bool isInSteps() const { return isInSteps_; }

  /// `status` of this process, as the job's: if it is about another process,
  /// why that one has ended, with `where` this one was: "in step 7", and
  /// `advice` for when that one did not fail. Tells the others of a failure.
  Status conclude(Status status, const std::string &where,
                  const std::string &advice = "restart all processes");
  /// All processes have found what they end with now, so that none has to tell
  /// the others.
  void endTogether() { endsTogether_ = true; }

private:
  Status findLocalRank();
  Status agreeOnModes(const TrainerOptions &options);

  Ranks ranks_;
  uint32_t localReplicas_ = 1;
  std::unique_ptr<Meeting> meeting_;
  bool endsTogether_ = false, isInSteps_ = false;
  uint64_t agreements_ = 0; // calls of agree() and combine()
  int64_t allowed_ = 0;     // rank 0: steps before it may begin
  int64_t mostAllowed_ = 1;
  std::chrono::steady_clock::time_point allowedAt_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_JOB_H
