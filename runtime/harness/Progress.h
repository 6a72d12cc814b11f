//===- Progress.h - the progress display of a run ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// One line that is redrawn on a terminal, else a line at regular intervals.
// Nothing here influences the run, and a closed terminal is ignored.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_PROGRESS_H
#define SINTER_RUNTIME_HARNESS_PROGRESS_H

#include "runtime/harness/Session.h"

#include <chrono>
#include <cstdio>
#include <string>

namespace sinter::rt {

class Progress {
public:
  struct Options {
    bool quiet = false;
    std::FILE *out = stdout;
    int64_t firstStep = 0, totalSteps = 0; // steps [firstStep, totalSteps)
    int64_t batchesPerEpoch = 1, batch = 1;
  };
  explicit Progress(const Options &options);

  /// After step number `step` (counted from 1).
  void step(int64_t step, float loss);
  /// After the epoch that ended with `step`.
  void evaluated(int64_t step, const Evaluation &evaluation);
  /// Ends the line on a terminal.
  void finish();
  /// A line of its own, above the bar.
  void note(const std::string &line);
  /// A line on standard error, also when quiet.
  void warn(const std::string &line);

private:
  using Clock = std::chrono::steady_clock;
  std::string describe(int64_t step, Clock::time_point now);
  void clearBar();

  Options options_;
  bool terminal_;
  bool barShown_ = false;
  Clock::time_point begin_, lastShown_;
  int64_t lastShownStep_;
  double lossSum_ = 0; // since the last line
  int64_t lossCount_ = 0;
  double lossShown_ = 0;
  std::string accuracy_;
};

/// "1 h 02 min", "3 min 05 s" or "12.3 s".
std::string durationText(double seconds);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_PROGRESS_H
