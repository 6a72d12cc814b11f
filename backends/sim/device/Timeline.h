//===- Timeline.h - streams and events of simulated devices -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Streams are asynchronous like those of a GPU, but the seed, not chance,
// determines the order of their commands. A command runs either immediately or
// only when something waits for it, and unordered streams run interleaved. So a
// missing wait shows for some seed, reproducibly. All work runs on the thread
// that waits. One lock serves all simulated devices, because events order
// streams across devices.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_DEVICE_TIMELINE_H
#define SINTER_BACKENDS_SIM_DEVICE_TIMELINE_H

#include "backends/sim/device/Schedule.h"
#include "backends/sim/library/SimMeeting.h"
#include "runtime/base/Status.h"
#include "runtime/device/Stream.h"

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace sinter::sim {

class SimStream;
struct Recording;

using Work = std::function<rt::Status()>;
using OpenMeeting = std::function<std::shared_ptr<SimMeeting>()>;

/// A recorded position in a stream.
struct Mark {
  SimStream *stream = nullptr;
  std::shared_ptr<Recording> recording; // if it is part of a graph
  bool isReached = false;
  double timeUs = 0; // when it was reached
};

class SimEvent final : public rt::Event {
public:
  std::shared_ptr<Mark> mark; // null: not recorded
};

/// The commands of a graph in the order in which they were queued, each with
/// its stream.
struct Recording {
  struct Item {
    enum Kind { Run, Reach, Await, Meet } kind;
    SimStream *stream;
    Work work;                  // Run
    std::shared_ptr<Mark> mark; // Reach, Await: each start makes its own mark
    uint32_t rank = 0;          // Meet
    OpenMeeting open;           // Meet
  };
  bool isOpen = true;          // until the capture ends
  SimStream *origin = nullptr; // replaced by the stream of each start
  std::vector<Item> items;
};

class SimGraph final : public rt::Graph {
public:
  explicit SimGraph(std::shared_ptr<Recording> from)
      : recording(std::move(from)) {}
  /// Events refer to the recording, but what it holds ends here.
  ~SimGraph() override;

  const std::shared_ptr<Recording> recording;
};

/// The streams of a device and their order. After a failure, it stays failed.
class Timeline {
public:
  explicit Timeline(uint64_t seed) : seed_(seed), random_(seed) {}
  ~Timeline();

  std::unique_ptr<rt::Stream> createStream();

  /// Queues `work`; it may run immediately.
  rt::Status enqueue(SimStream &stream, Work work);
  rt::Status record(SimEvent &event, SimStream &stream);
  rt::Status wait(SimStream &stream, const SimEvent &event);
  /// Queues a meeting with streams of other devices.
  static rt::Status meet(SimStream &stream, uint32_t rank, OpenMeeting open);
  /// Calls `function` under the lock of all simulated devices, and wakes the
  /// threads that wait for meetings.
  static void locked(const std::function<void()> &function);
  rt::Status synchronize(const SimEvent &event);
  rt::Status synchronize(SimStream &stream);
  rt::Status synchronize();

  rt::Status beginCapture(SimStream &stream);
  rt::Result<std::unique_ptr<rt::Graph>> endCapture(SimStream &stream);
  rt::Status start(SimStream &stream, const SimGraph &graph);

  /// The error that ended the device; every later call returns it.
  rt::Status status() const;
  void fail(const rt::Status &status);

private:
  friend class SimStream;

  bool isAlwaysEager(const SimStream &stream) const;
  bool isEager(const SimStream &stream);
  void runEager();
  rt::Status enqueueLocked(SimStream &stream, Recording::Item item);
  void stepOthers();
  rt::Status queue(SimStream &stream, const Recording::Item &item,
                   const std::shared_ptr<Mark> &mark);
  static void runUntil(const Mark &mark);
  static void runUntilOver(SimMeeting &meeting);
  static bool isJoined(const Recording &recording);
  static double nowUs();

  uint64_t seed_;
  Random random_;
  rt::Status status_;
  std::vector<SimStream *> streams_;
  size_t numCreated_ = 0;
};

class SimStream final : public rt::Stream {
public:
  explicit SimStream(Timeline &timeline);
  ~SimStream() override;
  /// The stream that libraries are given.
  void *native() const override { return const_cast<SimStream *>(this); }

private:
  friend class Timeline;

  struct Command {
    enum Kind { Run, Reach, Await, Arrive, Meet } kind;
    Work work;
    std::shared_ptr<Mark> mark;
    std::shared_ptr<SimMeeting> meeting; // Arrive, Meet
    uint32_t rank = 0;                   // Arrive
  };

  bool isBlocked() const;
  /// Runs the first command and everything that it waits for.
  void step();
  void runAll();
  void runWhilePossible();

  Timeline &timeline_;
  size_t number_; // on its device
  std::deque<Command> queue_;
  uint64_t numTaken_ = 0;                // commands that left the queue
  std::shared_ptr<Recording> recording_; // while it is captured
};

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_TIMELINE_H
