//===- TrainerOptions.h - the trainer's command line ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_TRAINEROPTIONS_H
#define SINTER_RUNTIME_HARNESS_TRAINEROPTIONS_H

#include "runtime/base/Status.h"
#include "runtime/device/DeviceOptions.h"
#include "runtime/harness/NonFinite.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace sinter::rt {

enum class TrainerCommand : unsigned {
  Train = 1,
  Eval = 2,
  Export = 4,
  Info = 8,
  Plan = 16,
  Doctor = 32,
  Bench = 64
};

struct TrainerOptions {
  TrainerCommand command = TrainerCommand::Train;
  bool help = false, version = false, verbose = false, json = false;

  std::string data, evalData;
  bool scale = true;
  std::optional<int64_t> epochs, steps;
  std::optional<double> lr, lrFinal, weightDecay, clipNorm;
  std::string lrSchedule = "constant";
  int64_t warmupSteps = 0;
  std::optional<int64_t> seed;
  std::optional<bool> shuffle;
  bool wholeBatchesOnly = false; // --last-batch=error
  std::string out;
  std::optional<int64_t> checkpointEvery; // steps; unset: every epoch
  int32_t keep = 3;
  bool resume = false;
  std::string resumePath; // "": the newest in `out`, if any
  bool acceptDatasetChange = false;
  std::optional<int64_t> verifyResume; // steps of one half
  /// Ends the run early, as an interruption after this step would, without one
  /// being reported. Not on the command line.
  int64_t stopAfter = INT64_MAX;
  std::string init;
  std::string device; // "": the program's own
  DeviceOptions deviceOptions;
  int32_t threads = 0; // 0: one per available core
  int32_t workers = 1;
  int32_t prefetch = 4;
  std::string logJson, tensorboard;
  enum class NonFinite { Off, Step, Op } checkNonfinite = NonFinite::Step;
  /// --check-nonfinite was given: states are looked at too, and what made the
  /// value is named.
  bool locatesNonfinite = false;
  std::optional<Injection> injection;
  bool quiet = false;

  std::string checkpoint; // eval, export
  std::string output;     // export -o, plan -o
};

/// `arguments` without the program's name. SINTER_INVALID with one line for the
/// user when something is wrong.
Result<TrainerOptions>
parseTrainerOptions(std::span<const char *const> arguments);

/// The text of --help for the command in `options`.
std::string trainerHelp(const std::string &program, TrainerCommand command);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_TRAINEROPTIONS_H
