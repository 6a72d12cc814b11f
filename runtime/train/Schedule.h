//===- Schedule.h - the learning rate of every step -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A pure function of the step, so that resuming needs no state of its own.
// Steps count from 0 here. With base rate L, final rate F (--lr-final, default
// 0), W warm-up steps, t = step - W >= 0 and T = total steps - W - 1, so that
// t = T is the last step; names in brackets are PyTorch's, stepped once per
// training step:
//
//   warm-up      L * (step + 1) / W   [LinearLR from 1/W, total_iters = W - 1]
//   constant     L
//   step:N,G     L * G^floor(t / N)                                   [StepLR]
//   linear       L + (F - L) * t / T                [LinearLR, total_iters = T]
//   cosine       F + (L - F) * (1 + cos(pi * t / T)) / 2
//                                         [CosineAnnealingLR, T_max = T]
//   one-cycle    from L / 25 up to L over the first 30 % of the steps, then
//                down to F (default L / 250000), both along a cosine
//                [OneCycleLR]; --warmup-steps sets the length of the rise
//
// The schedule begins after the warm-up, as with [SequentialLR, milestone W]; a
// rate that falls reaches F in the last step.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_TRAIN_SCHEDULE_H
#define SINTER_RUNTIME_TRAIN_SCHEDULE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sinter::rt {

/// The number that the shortest decimal text of `value` names: 0.1f gives 0.1,
/// so that a compiled rate and the same one on the command line agree in every
/// bit.
double decimalValue(float value);

class Schedule {
public:
  struct Options {
    double lr = 0;
    std::optional<double> lrFinal;
    int64_t warmupSteps = 0;
    int64_t totalSteps = 1;
  };
  /// `text` is the argument of --lr-schedule. SINTER_INVALID for a word that is
  /// not in the table above or numbers that make no sense.
  static Result<Schedule> create(const std::string &text,
                                 const Options &options);

  /// Whether --lr-final has a meaning with `text`.
  static bool usesFinal(const std::string &text);

  /// `step` 0 is the first of the run.
  float learningRate(int64_t step) const;

private:
  enum class Kind { Constant, Step, Linear, Cosine, OneCycle };
  double oneCycle(int64_t step) const;

  Kind kind_ = Kind::Constant;
  Options options_;
  int64_t period_ = 1; // step:N,G
  double factor_ = 1;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_TRAIN_SCHEDULE_H
