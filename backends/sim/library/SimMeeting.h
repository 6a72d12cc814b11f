//===- SimMeeting.h - where streams of several devices meet -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A collective operation of simulated devices begins when the streams of all
// replicas have reached it, and no stream continues before it is over. The
// library implements the operation; the devices report when a stream arrives.
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

  /// The stream of `rank` has arrived; the last one runs the operation.
  void arrive(uint32_t rank) {
    hasArrived[rank] = true;
    if (!isOver && ++numArrived == hasArrived.size())
      end(happen());
  }
  /// Ends the meeting with status `why`, unless it is over.
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
  rt::Status status; // valid once it is over

protected:
  virtual rt::Status happen() = 0;
};

/// The streams' interface for the library. One lock guards everything about
/// meetings.
class MeetingStreams {
public:
  virtual ~MeetingStreams() = default;
  /// Queues the meeting that `open` returns for `rank`: now or, if a graph is
  /// being recorded on `stream`, at each start of the graph. `open` is called
  /// under the lock.
  virtual rt::Status
  queue(void *stream, uint32_t rank,
        std::function<std::shared_ptr<SimMeeting>()> open) = 0;
  /// Calls `function` under the lock and wakes the threads that wait for
  /// meetings.
  virtual void locked(const std::function<void()> &function) = 0;
};

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_LIBRARY_SIMMEETING_H
