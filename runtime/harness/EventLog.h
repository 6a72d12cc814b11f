//===- EventLog.h - scalars in TensorBoard's format -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Files of records {length, its checksum, an Event, its checksum}, as
// tensorflow/core/lib/io/record_writer.h and util/event.proto describe them:
// train/loss and train/lr (with dynamic loss scaling also train/loss_scale and
// train/skipped_steps) of each step, counted from 1, eval/loss and
// eval/accuracy after the step they follow. Every event is one write; a file
// that cannot be written is given up with one warning: training goes on.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_EVENTLOG_H
#define SINTER_RUNTIME_HARNESS_EVENTLOG_H

#include "runtime/harness/JsonLog.h"

#include <span>
#include <string>
#include <string_view>

namespace sinter::rt {

/// The Castagnoli CRC-32 of `bytes`, which is "123456789" -> 0xe3069283.
uint32_t crc32c(std::span<const uint8_t> bytes);

class EventLog {
public:
  /// Begins a file of its own in `folder`, which is made if it is not there.
  /// TensorBoard reads all files of a folder as one run; where it finds
  /// `firstStep` above 1, a run that goes on, it forgets what older files have
  /// from that step on.
  Status create(const std::string &folder, int64_t firstStep);

  void step(int64_t step, float loss, float lr,
            const std::optional<JsonLog::Scale> &scale);
  void evaluation(int64_t step, const Evaluation &evaluation);
  /// LogFile::lostText().
  std::string lostText() const { return file_.lostText(); }

private:
  struct Scalar {
    std::string_view tag;
    float value;
  };
  void scalars(int64_t step, std::span<const Scalar> values);
  /// One record: an Event with the time, `step` and `field`.
  void write(int64_t step, std::string_view field);

  LogFile file_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_EVENTLOG_H
