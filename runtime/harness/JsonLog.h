//===- JsonLog.h - --log-json: one object per line --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//   {"step":1,"epoch":0,"loss":2.30258512,"lr":0.001}
//   (with dynamic loss scaling also "loss_scale":65536,"skipped_steps":0;
//   with the norms of --log-norms also "grad_norm":1.5,"weight_norm":20.25)
//   {"eval":true,"epoch":0,"accuracy":0.8512,"loss":0.41}
//
// Steps count from 1, epochs from 0; a number that is not finite is null, and
// so is an accuracy that has no meaning. Every line is one write. One that
// cannot be written is lost, and training continues (LogFile.h).
//
// With --log-stats, every record also has "time" (seconds since 1970) and
// "host_peak_bytes" (the most memory that the process had so far), and there
// are records of other events:
//
//   {"start":true,"step":0,...}            RunRecord.h
//   {"saved":true,"step":100,...}          after each checkpoint
//   {"end":"done","step":100,...}          also "interrupted" and "failed"
//
// Without it, equal runs have equal logs.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_JSONLOG_H
#define SINTER_RUNTIME_HARNESS_JSONLOG_H

#include "runtime/harness/LogFile.h"
#include "runtime/harness/OutputFile.h"
#include "runtime/harness/Session.h"

#include <optional>
#include <string>

namespace sinter::rt {

/// A JSON number with nine significant digits; null for one that is not finite,
/// which JSON does not have.
std::string jsonNumber(double value);

class JsonLog {
public:
  /// How logs begin.
  static const OutputKind &kind();
  /// A new, empty log. Only opening it can fail.
  Status create(const std::string &path);
  /// How far the run is that a log belongs to.
  struct Position {
    int64_t step = 0;
    bool isEvaluated = false; // after that step
    /// How many epochs had ended; unset for a run without evaluations.
    std::optional<int64_t> epochs;
    bool isInEpoch = false; // the step did not end an epoch
    /// Of the step, by which its log is recognised; unset if unknown.
    std::optional<float> loss;
  };
  /// Continues the log of a run that is resumed at `position`: cuts off what
  /// came after it, and a torn last line, and warns of records that are missing
  /// before it. A pipe or a device is opened anew. SINTER_INVALID if it is the
  /// log of another run.
  Status resume(const std::string &path, const Position &position);

  /// Only with dynamic loss scaling: the scale that the step used, and how many
  /// steps were skipped up to and including it.
  struct Scale {
    float scale = 0;
    int64_t skipped = 0;
  };
  /// Only with --log-norms: the L2 norms of the gradient (without the loss
  /// scale, after --clip-value, before --clip-norm) and of the trained weights
  /// before the update.
  struct Norms {
    float gradient = 0, weights = 0;
  };
  struct Details {
    std::optional<Scale> scale;
    std::optional<Norms> norms;
  };
  /// --log-stats.
  void addStats() { hasStats_ = true; }
  bool hasStats() const { return hasStats_; }
  void step(int64_t step, int64_t epoch, float loss, float lr,
            const Details &details);
  /// The following three write nothing without --log-stats. `fields` are
  /// members of a JSON object: "\"device\":\"cpu\"".
  void start(int64_t step, const std::string &fields);
  void saved(int64_t step);
  void end(int64_t step, const char *how);
  void evaluation(int64_t epoch, const Evaluation &evaluation);
  /// LogFile::close(), lostText().
  void close() { file_.close(); }
  std::string lostText() const { return file_.lostText(); }

private:
  /// Writes one line: `members` without the braces.
  void write(const std::string &members);

  LogFile file_;
  bool hasStats_ = false;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_JSONLOG_H
