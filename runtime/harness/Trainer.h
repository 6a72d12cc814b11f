//===- Trainer.h - a training run -------------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The run is a pure function of the program, the data, the options and the step
// number: what a step reads follows from its number, and everything else is
// state that a checkpoint holds. So a run that is interrupted anywhere and
// resumed ends with the same bytes as one that is not.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_TRAINER_H
#define SINTER_RUNTIME_HARNESS_TRAINER_H

#include "runtime/harness/EventLog.h"
#include "runtime/harness/JsonLog.h"
#include "runtime/harness/Progress.h"
#include "runtime/harness/Replicas.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/Schedule.h"

#include <memory>
#include <optional>

namespace sinter::rt {

class Trainer {
public:
  Trainer(const sinter_artifact &artifact, const TrainerOptions &options)
      : artifact_(artifact), options_(options) {}

  /// The whole run. SINTER_INTERRUPTED after SIGTERM or SIGINT.
  Status run();

  /// Measures rounds of steps: one of `steps`, or of as many as each line of
  /// standard input says. Prints a line for each; saves nothing.
  Status bench(std::optional<int64_t> steps);

private:
  Status prepare();
  Status openStore();
  Status openAllData();
  Status restore();
  Status checkResumed(const Manifest &manifest);
  Status planSteps(const Manifest &resumed);
  Status openLog();
  void load();
  Status loop();
  Status makeSteps(int64_t count);
  Status benchRound(int64_t steps);
  Status beginStep();
  Status finishStep();
  std::optional<JsonLog::Scale> lossScale() const;
  uint64_t stepsAhead() const;
  Status finishSteps();
  Status checkFinite(int64_t step, bool isSkipped);
  Status prepareFinder();
  Status keepStates();
  Status restoreStates();
  Result<std::optional<std::string>> nonFiniteState();
  Status reportNonFinite(int64_t step, const std::string &what);
  Status writeReplay(int64_t step, const std::string &path);
  std::string rowsText(int64_t step) const;
  Status evaluateNow();
  Status save();
  Status finish();
  sinter_control control(int64_t step) const;
  void report() const;

  const sinter_artifact &artifact_;
  const TrainerOptions &options_;

  std::unique_ptr<CheckpointStore> store_;          // null without --out
  std::optional<BatchReader> trainData_, evalData_; // outlive their loaders
  std::unique_ptr<Replicas> replicas_;
  Session *session_ = nullptr; // the first replica's
  std::optional<EntryRunner> evalRunner_;
  std::optional<Schedule> schedule_;
  std::optional<Progress> progress_;
  JsonLog log_;
  EventLog events_;
  RowOrder order_;
  DatasetFingerprint fingerprint_;

  int64_t seed_ = 0;
  int64_t step_ = 0; // steps begun; outside the loop also done
  int64_t doneSteps_ = 0;
  int64_t firstStep_ = 0;
  int64_t totalSteps_ = 0;
  int64_t savedStep_ = -1;
  bool evaluated_ = false; // after step_, and logged
  bool savedEvaluated_ = false;
  bool resumed_ = false;
  Status lastSave_;
  /// Before the step under way, by state; only where what is not finite is
  /// located.
  std::vector<std::vector<uint8_t>> keptStates_;
  bool isFirstWatched_ = true;
  std::optional<Evaluation> lastEvaluation_;
  float lastLoss_ = 0;
  int64_t skippedSteps_ = 0; // before the next step to finish; -1: unknown
  double seconds_ = 0;       // of the loop
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_TRAINER_H
