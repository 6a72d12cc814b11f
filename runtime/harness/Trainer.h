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

#include "runtime/harness/CommandTimes.h"
#include "runtime/harness/EventLog.h"
#include "runtime/harness/JsonLog.h"
#include "runtime/harness/OutputFile.h"
#include "runtime/harness/Progress.h"
#include "runtime/harness/Replicas.h"
#include "runtime/harness/SaveTimes.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/Schedule.h"

#include <chrono>
#include <memory>
#include <optional>

namespace sinter::rt {

class Trainer {
public:
  /// `artifact` outlives this.
  /// `job` is what this run is of; null: joins one.
  Trainer(const sinter_artifact &artifact, TrainerOptions options,
          std::shared_ptr<Job> job = nullptr)
      : artifact_(artifact), options_(std::move(options)),
        job_(std::move(job)) {}

  /// The whole run. SINTER_INTERRUPTED after SIGTERM or SIGINT.
  Status run();

  /// Times rounds of steps: one round of `steps`, or one for each line of
  /// standard input, which has the number. Prints a line for each; saves
  /// nothing.
  Status bench(std::optional<int64_t> steps);

private:
  int64_t newestStep() const;
  std::string whereText() const;
  std::string restartText() const;
  Status trainHere();
  Status benchHere(std::optional<int64_t> steps);
  Status prepare();
  Status joinJob();
  Status agreeOnDirectories();
  Status agreeOnRun();
  std::string sumsText() const;
  bool isStopped() const;
  bool isTimeToCompare() const;
  Status compareProcesses();
  Result<int64_t> awaitPermission(int64_t end);
  Status openStore();
  Status openAllData();
  Status checkPadding() const;
  Status createPrograms();
  void say(const std::string &line) const;
  Status resume();
  Status acceptRecipe(const char *option, const Manifest &manifest) const;
  std::string optimizersText(const Manifest &manifest) const;
  std::string recountText(const Manifest &manifest) const;
  Status acceptSlots() const;
  Status takeOverOptions();
  void fillDefaults();
  Status checkResumed();
  Status init();
  Status countSteps();
  Status planRates();
  Status checkOutputs() const;
  Status openLog();
  JsonLog::Position logged() const;
  Status load();
  int64_t mostStepsPerGraph() const;
  int64_t stepsPerGraph(int64_t most) const;
  void measureStep();
  Status placeData(const Loader::Options &loading, bool &isPlaced);
  Status loop();
  int64_t stepsToBegin(int64_t end) const;
  Status makeSteps(int64_t count);
  Status benchRound(int64_t steps);
  Status beginSteps(int64_t count);
  Status indexFault() const;
  Status finishStep();
  std::optional<JsonLog::Scale> lossScale() const;
  std::optional<JsonLog::Norms> norms() const;
  Result<int64_t> skippedBefore() const;
  bool worksAhead() const;
  Status finishSteps();
  Status checkFinite(int64_t step, bool isSkipped);
  Status blameLoss(int64_t step, std::string what);
  Status prepareFinder();
  Status keepStates();
  Status restoreStates();
  /// The first state that has a value that is not finite.
  struct BadState {
    uint32_t index = 0;
    std::string text; // "state 'w' has NaN (element 3 of 8; ...)"
  };
  Result<std::optional<BadState>> nonFiniteState();
  /// What is not finite after a step.
  struct Found {
    std::optional<BadState> state;
    std::optional<Finding> finding;
  };
  Status lookForNonFinite(int64_t step, std::string what);
  Result<Found> findTogether(const Found &here);
  std::string findingText(const Finding &finding) const;
  Status reportNonFinite(int64_t step, const std::string &what,
                         std::optional<Finding> finding);
  Result<std::string> writeReplay(int64_t step);
  Status writeReplay(int64_t step, const std::string &path);
  Status gatherKeptStates();
  Status sendKeptState(uint32_t index);
  Status receiveKeptState(uint32_t index, uint32_t rank);
  std::string rowsText(int64_t step) const;
  void warnIfNothingCounts();
  Status evaluateNow();
  std::optional<float> lossAfter(int64_t step) const;
  Manifest manifest() const;
  bool isTimeToSave();
  Result<std::optional<std::string>> findNonFinite();
  Status notFinite(const std::string &what);
  Status checkStates();
  std::string savedText();
  std::string updateText(int64_t step) const;
  Status compareData(const BatchReader &data);
  Status checkTrainData(bool ofAll);
  Status checkData(bool ofAll = false);
  std::string dataAnswer() const;
  Result<std::string> changedElsewhere();
  bool dividesStates() const;
  std::string partName() const;
  Result<Manifest::PartFile> writeOwnPart(const std::string &where);
  Result<std::vector<Manifest::PartFile>>
  writeAllParts(const std::string &directory);
  Status endSaves();
  Status meetToSave();
  Status assistSaves();
  Status saveTo(CheckpointStore &store);
  Status save();
  Status saveOrWarn();
  Status saveLast();
  Status saveToSpare(const Status &failure);
  Status saveTogether(const Status &failure);
  Status saveSound(const Status &failure);
  Status keepsStates(Status failure, int64_t step);
  Status finish();
  Status agreeOnTime();
  Status planProfile();
  Status timeCommands(bool ends = false);
  void reportProfile();
  sinter_control control(int64_t step) const;
  void report();
  void closeLogs(const Status &status);

  const sinter_artifact &artifact_;
  /// As given; a resumed run takes from its checkpoint those that are not.
  TrainerOptions options_;

  std::unique_ptr<CheckpointStore> store_;          // null without --out
  std::unique_ptr<CheckpointStore> spare_;          // null without --spare
  std::optional<BatchReader> trainData_, evalData_; // outlive their loaders
  std::shared_ptr<Job> job_;                        // outlives the replicas
  std::unique_ptr<Replicas> replicas_;
  Session *session_ = nullptr; // the first replica's
  std::optional<EntryRunner> evalRunner_;
  std::optional<Schedule> schedule_;
  std::optional<Progress> progress_;
  JsonLog log_;
  EventLog events_;
  RowOrder order_;
  DatasetFingerprint fingerprint_;

  int64_t step_ = 0;         // steps started; outside the loop also done
  int64_t startedSteps_ = 0; // step_, and those whose start fails
  int64_t doneSteps_ = 0;
  int64_t firstStep_ = 0;
  int64_t totalSteps_ = 0;
  int64_t savedStep_ = -1;
  int64_t lastOrderedSave_ = -1; // before which step all were told to save
  /// When the states of all processes were compared last.
  int64_t comparedStep_ = 0;
  std::chrono::steady_clock::time_point comparedAt_;
  uint64_t saveRounds_ = 0; // of what rank 0 says about saves
  bool isStopOrdered_ = false, hasAskedToStop_ = false;
  bool evaluated_ = false; // after step_, and logged
  bool savedEvaluated_ = false;
  std::optional<Manifest> resumed_; // what the run continues from
  int64_t soundStep_ = -1; // after which all states were found to be finite
  /// After a failure that has nothing to do with the states: the steps whose
  /// updates they have.
  std::optional<int64_t> intactSteps_;
  /// All processes have found the same failure, and save together.
  bool savesTogether_ = false;
  bool othersWait_ = false; // rank 0 has failed where the others wait for it
  bool saysWhatIsLost_ = false; // the failure's message
  SaveTimes saveTimes_;
  /// By state, the bytes before the step in flight; only if values that are not
  /// finite are located.
  std::vector<std::vector<uint8_t>> keptStates_;
  /// Of rank 0, for a file: the whole of divided states of several processes.
  std::vector<std::vector<uint8_t>> wholeStates_;
  std::vector<sinter_control> controls_; // of the steps that begin
  bool isFirstWatched_ = true;
  /// When the last step was begun or finished, for measureStep().
  std::chrono::steady_clock::time_point beginOfStep_, endOfStep_;
  bool isMeasured_ = true; // or need not be
  /// Of the steps from profileBegin_ to before profileEnd_, from 0.
  std::optional<CommandTimes> profile_;
  CommandTimes::Process timed_;
  int64_t profileBegin_ = -1, profileEnd_ = -1;
  bool isTimed_ = false; // the steps that begin now
  std::optional<Evaluation> lastEvaluation_;
  float lastLoss_ = 0, lossBefore_ = 0; // of the last two steps that are done
  bool areLossesZero_ = true;           // all of this run
  bool saysNothingCounts_ = false;
  int64_t skippedSteps_ = 0;  // of the whole run, before the next one to finish
  int64_t skippedBefore_ = 0; // by the runs that this one continues
  int64_t lossesNotFinite_ = 0; // with --check-nonfinite=off
  double seconds_ = 0;          // of the loop
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_TRAINER_H
