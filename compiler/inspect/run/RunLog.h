//===- RunLog.h - the log of a training run ---------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What a trainer writes with --log-json (runtime/harness/JsonLog.h). A log may
// end in the middle of a line, and it may have lines of other writers and steps
// that come twice: then the later ones count.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_RUN_RUNLOG_H
#define SINTER_COMPILER_INSPECT_RUN_RUNLOG_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <array>
#include <limits>
#include <vector>

namespace sinter::compiler {

/// A number that a record does not have. One that is not finite is NaN.
inline constexpr double kMissing = -std::numeric_limits<double>::max();

/// The numbers of a step.
enum class StepField {
  Epoch,
  Loss,
  LearningRate,
  LossScale,
  SkippedSteps,
  GradientNorm,
  WeightNorm,
  Time,          // seconds since 1970
  HostPeakBytes, // the most that the process had so far
};
inline constexpr size_t kNumStepFields = 9;
/// Its key in a record: "loss".
llvm::StringRef keyOf(StepField field);

/// An evaluation after a step.
struct RunEvaluation {
  int64_t step = 0, epoch = 0;
  double loss = kMissing, accuracy = kMissing; // accuracy: from 0 to 1
};

/// Something that happened after a step.
struct RunEvent {
  enum class Kind {
    Start,  // the run began, or was resumed
    Rewind, // later steps, which the log had already, were made again
    Saved,
    End, // `text`: "done", "interrupted" or "failed"
  };
  Kind kind;
  int64_t step = 0;
  double time = kMissing;
  std::string text;
  llvm::json::Object fields; // of Start
};

class RunLog {
public:
  /// Whether `text`, the first bytes of a file, begins with a record of such a
  /// log.
  static bool isOne(llvm::StringRef text);
  /// Reads the text of a log. Returns what is wrong if it has no record; the
  /// text names no file.
  llvm::Error read(llvm::StringRef text);

  /// Numbers of steps, from 1 and rising.
  std::vector<int64_t> steps;
  /// A number for each of `steps`; empty if no step has the field.
  const std::vector<double> &column(StepField field) const {
    return columns_[static_cast<size_t>(field)];
  }
  std::vector<RunEvaluation> evaluations;
  std::vector<RunEvent> events;

  size_t numOtherLines = 0;  // not records
  size_t firstOtherLine = 0; // counted from 1
  bool isCut = false;        // the last line is incomplete
  /// Steps that were made but have no record: those before the last record, and
  /// those up to the step of a save or of the end.
  int64_t numMissing = 0;
  /// The first and the last step of each part that has no record.
  std::vector<std::pair<int64_t, int64_t>> missing;
  int64_t numMadeAgain = 0; // records that later ones replaced
  /// The last record {"start":...}; null without --log-stats.
  const llvm::json::Object *start() const;
  /// The last event of the log, if it is an end.
  const RunEvent *end() const;

private:
  bool takeRecord(llvm::StringRef line);
  bool takeOther(const llvm::json::Object &record);
  void addStep(int64_t step, const std::array<double, kNumStepFields> &values);

  std::array<std::vector<double>, kNumStepFields> columns_;
  int64_t lastMade_ = 0; // the last step that the run has made so far
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_RUN_RUNLOG_H
