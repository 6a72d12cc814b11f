//===- SaveTimes.h - when checkpoints are due -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_SAVETIMES_H
#define SINTER_RUNTIME_HARNESS_SAVETIMES_H

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace sinter::rt {

/// Checkpoints are due after every so many steps, or after a time since the
/// last one. One that could not be saved is tried again sooner: after a tenth
/// of that time, but at least a second and at most a minute (with steps: a
/// minute), and after each further failure twice as late, up to that time (with
/// steps: ten minutes).
class SaveTimes {
public:
  using Clock = std::chrono::steady_clock;

  SaveTimes() = default;
  /// `everySeconds` counts if it is above 0, else `everySteps`; 0: never.
  SaveTimes(int64_t everySteps, int64_t everySeconds, Clock::time_point now)
      : everySteps_(everySteps), everySeconds_(everySeconds), last_(now) {}

  /// Whether a checkpoint is due after `step`.
  bool isDue(int64_t step, Clock::time_point now) const;
  /// The steps after `step` until one is due by its number; INT64_MAX if none
  /// is.
  int64_t stepsLeft(int64_t step) const {
    return everySeconds_ > 0 || everySteps_ <= 0
               ? INT64_MAX
               : everySteps_ - step % everySteps_;
  }
  void saved(Clock::time_point now);
  /// After a failure; says when it is tried again: "in 60 s".
  std::string failed(int64_t step, Clock::time_point now);

private:
  int64_t everySteps_ = 0, everySeconds_ = 0;
  Clock::time_point last_; // the last save that was due, whether it failed
  std::optional<Clock::time_point> retry_;
  int64_t delaySeconds_ = 0; // of retry_
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_SAVETIMES_H
