//===- EventLog.h - scalars in TensorBoard's format -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Files of records {length, its checksum, an Event, its checksum}, as
// tensorflow/core/lib/io/record_writer.h and util/event.proto describe them:
// train/loss and train/lr (with dynamic loss scaling also train/loss_scale and
// train/skipped_steps, with --log-norms also train/grad_norm and
// train/weight_norm) of each step, counted from 1, eval/loss and
// eval/accuracy with the step that they follow. Every event is one write. One
// that cannot be written is lost, and training continues (LogFile.h).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_EVENTLOG_H
#define SINTER_RUNTIME_HARNESS_EVENTLOG_H

#include "runtime/harness/JsonLog.h"

#include <span>
#include <string>
#include <string_view>

namespace sinter::rt {

/// The Castagnoli CRC-32 of `bytes`: "123456789" -> 0xe3069283.
uint32_t crc32c(std::span<const uint8_t> bytes);

class EventLog {
public:
  /// Starts a new file in `folder`, which is created if necessary. TensorBoard
  /// reads all files of a folder as one run. If `firstStep` is above 1, in a
  /// resumed run, it drops what older files have from that step on.
  Status create(const std::string &folder, int64_t firstStep);

  void step(int64_t step, float loss, float lr,
            const JsonLog::Details &details);
  void evaluation(int64_t step, const Evaluation &evaluation);
  /// LogFile::close(), lostText().
  void close() { file_.close(); }
  std::string lostText() const { return file_.lostText(); }

private:
  struct Scalar {
    std::string_view tag;
    float value;
  };
  void scalars(int64_t step, std::span<const Scalar> values);
  /// Writes one record: an Event with the time, `step` and `field`.
  void write(int64_t step, std::string_view field);

  LogFile file_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_EVENTLOG_H
