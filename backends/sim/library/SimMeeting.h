//===- SimMeeting.h - where streams of several devices meet -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A collective of simulated devices begins when the streams of all replicas
// have come to it, and no stream goes on before it is over. The library knows
// what happens then, the devices when a stream comes.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_LIBRARY_SIMMEETING_H
#define SINTER_BACKENDS_SIM_LIBRARY_SIMMEETING_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace sinter::sim {

class SimMeeting {
public:
  explicit SimMeeting(uint32_t replicas)
      : streams(replicas), hasArrived(replicas) {}
  virtual ~SimMeeting() = default;

  /// The stream of `rank` is there; with the last one everything happens.
  void arrive(uint32_t rank) {
    hasArrived[rank] = true;
    if (!isOver && ++numArrived == hasArrived.size())
      end(happen());
  }
  /// Nothing will happen any more, but with `why`.
  void end(rt::Status why) {
    if (isOver)
      return;
    isOver = true;
    status = std::move(why);
  }

  std::vector<void *> streams;  // by rank; null before it is queued there
  std::vector<bool> hasArrived; // by rank
  uint32_t numArrived = 0;
  bool isOver = false;
  rt::Status status; // once it is over

protected:
  virtual rt::Status happen() = 0;
};

/// What the library asks of streams. Everything about meetings is done under
/// one lock.
class MeetingStreams {
public:
  virtual ~MeetingStreams() = default;
  /// Queues the meeting that `open` gives for `rank`, now or whenever a graph
  /// that is being recorded on `stream` is started. `open` is called locked.
  virtual rt::Status
  queue(void *stream, uint32_t rank,
        std::function<std::shared_ptr<SimMeeting>()> open) = 0;
  /// Calls `function` locked, and tells who waits for meetings.
  virtual void locked(const std::function<void()> &function) = 0;
};

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_LIBRARY_SIMMEETING_H
