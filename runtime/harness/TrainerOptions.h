//===- TrainerOptions.h - the trainer's command line ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_TRAINEROPTIONS_H
#define SINTER_RUNTIME_HARNESS_TRAINEROPTIONS_H

#include "runtime/base/Pattern.h"
#include "runtime/device/DeviceOptions.h"
#include "runtime/harness/NonFinite.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sinter::rt {

enum class TrainerCommand : unsigned {
  Train = 1,
  Eval = 2,
  Export = 4,
  Info = 8,
  Plan = 16,
  Doctor = 32,
  Bench = 64,
  Launch = 128
};

struct TrainerOptions {
  TrainerCommand command = TrainerCommand::Train;
  bool help = false, version = false, verbose = false, json = false;

  std::string data, evalData;
  std::string labelColumn; // of a table: a name or a number
  bool scale = true;
  bool castsExactly = false;            // --cast=exact
  std::optional<int64_t> epochs, steps; // one of them
  std::optional<double> lr, lrFinal, weightDecay, clipNorm;
  std::string lrSchedule = "constant";
  int64_t warmupSteps = 0;
  std::optional<int64_t> seed;
  std::optional<bool> shuffle;
  /// What becomes of rows beyond whole batches.
  enum class LastBatch { Drop, Error, Pad };
  LastBatch lastBatch = LastBatch::Drop;
  /// Whether the training data is kept in the memory of a device.
  enum class DataOnDevice { Auto, On, Off } dataOnDevice = DataOnDevice::Auto;
  std::string out, spare;
  std::optional<int64_t> checkpointEvery; // steps; unset: every epoch
  int64_t checkpointSeconds = 0;          // instead, if above 0
  int32_t keep = 3;
  bool resume = false;
  std::string resumePath;       // "": the newest in `out`, if any
  bool resumesOutFirst = false; // resumePath only if there is none in `out`
  bool acceptDatasetChange = false, allowChangedRecipe = false;
  bool goesOnAfterUsr1 = false;        // --on-usr1=save
  std::optional<int64_t> verifyResume; // steps of one half
  /// Ends the run early, as an interruption after this step would, without one
  /// being reported. Not on the command line.
  int64_t stopAfter = INT64_MAX;
  std::string init;
  bool initSlots = false;
  std::vector<Pattern> initSkip;
  std::vector<std::pair<Pattern, std::string>> initMap; // and replacement
  std::string device;                                   // "": the program's own
  /// Which process of a job this is (collective/Ranks.h).
  std::optional<int64_t> rank, world;
  std::string leader;
  enum class Transport { Auto, Tcp } transport = Transport::Auto;
  int64_t commTimeoutMs = 60000, joinTimeoutMs = 300000;
  /// Of launch: how many processes, on the hosts of which file ("": here).
  std::optional<int64_t> processes;
  std::string hosts;
  int64_t maxRestarts = 0;
  DeviceOptions deviceOptions;
  int32_t threads = 0; // 0: one per available core
  int32_t workers = 1;
  int32_t prefetch = 4;
  std::string logJson, tensorboard;
  bool profile = false;
  std::string traceEvents;
  bool logStats = false;
  enum class NonFinite { Off, Step, Op } checkNonfinite = NonFinite::Step;
  /// --check-nonfinite was given: states are looked at too, and what made the
  /// value is named.
  bool locatesNonfinite = false;
  std::optional<Injection> injection;
  bool quiet = false;

  std::string checkpoint; // eval, export
  std::string output;     // export -o, plan -o

  std::vector<std::string> given; // names of options on the command line
  bool isGiven(std::string_view name) const;
};

/// The options that shape a run, and their values as on a command line: {"lr",
/// "0.001"}. A checkpoint holds them, so that a run that is resumed without
/// giving them is the same run.
using RunOptions = std::vector<std::pair<std::string, std::string>>;
/// Those options that shape the run and have a value.
RunOptions runOptions(const TrainerOptions &options);
/// Sets options that are not on the command line to their values in `saved`.
/// Returns a text for each option that was given another value: "lr 0.001
/// instead of 0.0005". SINTER_INVALID for an option that this trainer does not
/// have.
Result<std::vector<std::string>> takeOver(TrainerOptions &options,
                                          const RunOptions &saved);

/// The options of "train", and whether they shape the run. For tests.
std::vector<std::pair<std::string, bool>> trainOptionNames();

/// `arguments` do not include the program's name. SINTER_INVALID with one line
/// for the user if something is wrong.
Result<TrainerOptions>
parseTrainerOptions(std::span<const char *const> arguments);

/// The text of --help for the command in `options`.
std::string trainerHelp(const std::string &program, TrainerCommand command);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_TRAINEROPTIONS_H
