//===- Timeline.cpp - streams and events of simulated devices -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/Timeline.h"

#include "runtime/collective/Communicator.h"
#include "runtime/collective/Rendezvous.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <set>
#include <unordered_map>

namespace sinter::sim {

// It is recursive, because work may be a library call that queries the stream.
static std::recursive_mutex &theLock() {
  static auto *lock = new std::recursive_mutex;
  return *lock;
}

/// Notified when something was queued on a stream or a meeting is over.
static std::condition_variable_any &theCondition() {
  static auto *condition = new std::condition_variable_any;
  return *condition;
}

/// How long a replica waits for another one that has queued nothing yet.
static constexpr std::chrono::seconds patience{60};

static rt::Status whileRecording() {
  return rt::Status::failed("a graph is being recorded: waiting is not "
                            "allowed");
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

SimStream::SimStream(Timeline &timeline)
    : timeline_(timeline), number_(timeline.numCreated_++) {
  timeline_.streams_.push_back(this);
}

SimStream::~SimStream() {
  std::lock_guard lock(theLock());
  runAll();
  std::erase(timeline_.streams_, this);
}

bool SimStream::isBlocked() const {
  const Command &next = queue_.front();
  return (next.kind == Command::Await && !next.mark->isReached) ||
         (next.kind == Command::Meet && !next.meeting->isOver);
}

void SimStream::step() {
  // The command stays in the queue during the wait, so that nothing continues
  // this stream. Others, also on other threads, may see the wait end first.
  const uint64_t number = numTaken_;
  if (queue_.front().kind == Command::Await) {
    std::shared_ptr<Mark> mark = queue_.front().mark;
    Timeline::runUntil(*mark);
  } else if (queue_.front().kind == Command::Meet) {
    std::shared_ptr<SimMeeting> meeting = queue_.front().meeting;
    Timeline::runUntilOver(*meeting);
  }
  if (numTaken_ != number)
    return;
  Command command = std::move(queue_.front());
  queue_.pop_front();
  ++numTaken_;
  switch (command.kind) {
  case Command::Run:
    // After a failure, no work runs any more, so that no wait blocks forever.
    if (timeline_.status_.ok())
      if (rt::Status status = command.work(); !status.ok())
        timeline_.fail(status);
    break;
  case Command::Reach:
    command.mark->isReached = true;
    command.mark->timeUs = Timeline::nowUs();
    timeline_.runEager();
    break;
  case Command::Await:
    break;
  case Command::Arrive:
    if (timeline_.status_.ok())
      command.meeting->arrive(command.rank);
    else
      command.meeting->end(rt::leftGroup(command.rank));
    theCondition().notify_all();
    break;
  case Command::Meet:
    if (!command.meeting->status.ok())
      timeline_.fail(command.meeting->status);
    break;
  }
}

void SimStream::runAll() {
  while (!queue_.empty()) {
    timeline_.stepOthers();
    if (!queue_.empty())
      step();
  }
}

void SimStream::runWhilePossible() {
  while (!queue_.empty() && !isBlocked())
    step();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

Timeline::~Timeline() = default;

double Timeline::nowUs() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::unique_ptr<rt::Stream> Timeline::createStream() {
  std::lock_guard lock(theLock());
  return std::make_unique<SimStream>(*this);
}

rt::Status Timeline::status() const {
  std::lock_guard lock(theLock());
  return status_;
}

void Timeline::fail(const rt::Status &status) {
  std::lock_guard lock(theLock());
  if (status_.ok())
    status_ = status;
}

// Two of four seeds run every second stream late and the others as soon as
// possible, one seed each way. So each of two adjacent streams gets far ahead
// of the other once.
bool Timeline::isAlwaysEager(const SimStream &stream) const {
  const uint64_t kind = seed_ % 4;
  return (kind == 1 || kind == 2) && stream.number_ % 2 == seed_ % 2;
}

bool Timeline::isEager(const SimStream &stream) {
  if (seed_ % 4 == 1 || seed_ % 4 == 2)
    return isAlwaysEager(stream);
  return seed_ != 0 && random_.below(2);
}

// What waited for a mark that was reached may run now.
void Timeline::runEager() {
  for (size_t i = 0; i < streams_.size(); ++i)
    if (isAlwaysEager(*streams_[i]))
      streams_[i]->runWhilePossible();
}

// Commands that nothing orders may run first.
void Timeline::stepOthers() {
  if (seed_ % 4 < 3 || streams_.size() < 2)
    return;
  for (int i = 0; i < 2; ++i) {
    SimStream *other = streams_[random_.below(uint32_t(streams_.size()))];
    if (random_.below(2) && !other->queue_.empty() && !other->isBlocked())
      other->step();
  }
}

void Timeline::runUntil(const Mark &mark) {
  while (!mark.isReached && mark.stream && !mark.stream->queue_.empty())
    mark.stream->step();
}

/// Runs the other replicas' streams up to the meeting, or waits until their
/// threads have queued it.
void Timeline::runUntilOver(SimMeeting &meeting) {
  const auto latest = std::chrono::steady_clock::now() + patience;
  while (!meeting.isOver) {
    SimStream *late = nullptr;
    for (size_t rank = 0; rank < meeting.streams.size() && !late; ++rank)
      if (!meeting.hasArrived[rank])
        late = static_cast<SimStream *>(meeting.streams[rank]);
    if (late && !late->queue_.empty()) {
      late->step();
      continue;
    }
    // The recursive lock is held exactly once here, by the caller that queues
    // or waits.
    std::unique_lock lock(theLock(), std::adopt_lock);
    if (theCondition().wait_until(lock, latest) == std::cv_status::timeout)
      meeting.end({SINTER_DEVICE_FAILED,
                   "a replica did not reach an all-reduce that the others "
                   "wait for"});
    lock.release();
  }
  theCondition().notify_all();
}

/// Queues `item` on `stream`, with `mark` in place of its own mark.
rt::Status Timeline::queue(SimStream &stream, const Recording::Item &item,
                           const std::shared_ptr<Mark> &mark) {
  using Command = SimStream::Command;
  switch (item.kind) {
  case Recording::Item::Run:
    stream.queue_.push_back({Command::Run, item.work, nullptr, nullptr});
    break;
  case Recording::Item::Reach:
    stream.queue_.push_back({Command::Reach, {}, mark, nullptr});
    break;
  case Recording::Item::Await:
    stream.queue_.push_back({Command::Await, {}, mark, nullptr});
    return status_;
  case Recording::Item::Meet: {
    std::shared_ptr<SimMeeting> meeting = item.open();
    meeting->streams[item.rank] = &stream;
    stream.queue_.push_back({Command::Arrive, {}, nullptr, meeting, item.rank});
    stream.queue_.push_back({Command::Meet, {}, nullptr, meeting});
    theCondition().notify_all();
    break;
  }
  }
  if (isEager(stream))
    stream.runWhilePossible();
  return status_;
}

rt::Status Timeline::enqueueLocked(SimStream &stream, Recording::Item item) {
  if (!stream.recording_)
    return queue(stream, item, item.mark);
  stream.recording_->items.push_back(std::move(item));
  return status_;
}

rt::Status Timeline::meet(SimStream &stream, uint32_t rank, OpenMeeting open) {
  std::lock_guard lock(theLock());
  Timeline &timeline = stream.timeline_;
  SINTER_RETURN_IF_ERROR(timeline.status_);
  return timeline.enqueueLocked(
      stream, {Recording::Item::Meet, &stream, {}, nullptr, rank, open});
}

void Timeline::locked(const std::function<void()> &function) {
  std::lock_guard lock(theLock());
  function();
  theCondition().notify_all();
}

rt::Status Timeline::enqueue(SimStream &stream, Work work) {
  std::lock_guard lock(theLock());
  SINTER_RETURN_IF_ERROR(status_);
  return enqueueLocked(stream, {Recording::Item::Run, &stream, std::move(work),
                                nullptr, 0, nullptr});
}

rt::Status Timeline::record(SimEvent &event, SimStream &stream) {
  std::lock_guard lock(theLock());
  SINTER_RETURN_IF_ERROR(status_);
  event.mark = std::make_shared<Mark>();
  event.mark->stream = &stream;
  event.mark->recording = stream.recording_;
  return enqueueLocked(
      stream, {Recording::Item::Reach, &stream, {}, event.mark, 0, nullptr});
}

rt::Status Timeline::wait(SimStream &stream, const SimEvent &event) {
  std::lock_guard lock(theLock());
  SINTER_RETURN_IF_ERROR(status_);
  if (!event.mark)
    return {};
  if (const auto &recording = event.mark->recording) {
    if (!recording->isOpen)
      return rt::Status::failed("an event of a graph cannot be waited for "
                                "outside the graph");
    if (stream.recording_ && stream.recording_ != recording)
      return rt::Status::failed("a stream cannot be part of two graphs");
    stream.recording_ = recording; // the stream joins the capture
    return enqueueLocked(
        stream, {Recording::Item::Await, &stream, {}, event.mark, 0, nullptr});
  }
  if (stream.recording_)
    return rt::Status::failed("a graph is being recorded: an event outside the "
                              "graph cannot be waited for");
  return enqueueLocked(
      stream, {Recording::Item::Await, &stream, {}, event.mark, 0, nullptr});
}

rt::Status Timeline::synchronize(const SimEvent &event) {
  std::lock_guard lock(theLock());
  if (event.mark && event.mark->recording)
    return whileRecording();
  if (event.mark)
    runUntil(*event.mark);
  return status_;
}

rt::Status Timeline::synchronize(SimStream &stream) {
  std::lock_guard lock(theLock());
  if (stream.recording_)
    return whileRecording();
  stream.runAll();
  return status_;
}

rt::Status Timeline::synchronize() {
  std::lock_guard lock(theLock());
  for (SimStream *stream : streams_) {
    if (stream->recording_)
      return whileRecording();
  }
  while (true) {
    std::vector<SimStream *> busy;
    for (SimStream *stream : streams_)
      if (!stream->queue_.empty())
        busy.push_back(stream);
    if (busy.empty())
      return status_;
    // Seed 0 runs the last created stream first: uploads come before
    // computations.
    SimStream *next =
        seed_ == 0 ? busy.back() : busy[random_.below(uint32_t(busy.size()))];
    next->step();
  }
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

rt::Status Timeline::beginCapture(SimStream &stream) {
  std::lock_guard lock(theLock());
  SINTER_RETURN_IF_ERROR(status_);
  if (stream.recording_)
    return rt::Status::failed("a graph is being recorded already");
  stream.recording_ = std::make_shared<Recording>();
  stream.recording_->origin = &stream;
  return {};
}

rt::Result<std::unique_ptr<rt::Graph>> Timeline::endCapture(SimStream &stream) {
  std::lock_guard lock(theLock());
  std::shared_ptr<Recording> recording = stream.recording_;
  if (!recording)
    return rt::Status::failed("no graph is being recorded");
  recording->isOpen = false;
  for (SimStream *each : streams_)
    if (each->recording_ == recording)
      each->recording_ = nullptr;
  rt::Status status = status_;
  if (status.ok() && !isJoined(*recording))
    status = rt::Status::failed("a graph has work on another stream that the "
                                "stream of the capture never waits for");
  if (!status.ok()) {
    recording->items.clear();
    return status;
  }
  return std::unique_ptr<rt::Graph>(
      std::make_unique<SimGraph>(std::move(recording)));
}

SimGraph::~SimGraph() {
  std::lock_guard lock(theLock());
  recording->items.clear();
}

/// Whether the stream of the capture waits for all work of the other streams.
bool Timeline::isJoined(const Recording &recording) {
  std::set<const Mark *> awaited;
  std::set<const SimStream *> joined{recording.origin};
  for (auto item = recording.items.rbegin(); item != recording.items.rend();
       ++item) {
    bool isJoined = joined.contains(item->stream);
    if (item->kind == Recording::Item::Reach) {
      if (awaited.contains(item->mark.get()))
        joined.insert(item->stream);
    } else if (item->kind == Recording::Item::Await) {
      if (isJoined)
        awaited.insert(item->mark.get());
    } else if (!isJoined) {
      return false;
    }
  }
  return true;
}

rt::Status Timeline::start(SimStream &stream, const SimGraph &graph) {
  std::lock_guard lock(theLock());
  SINTER_RETURN_IF_ERROR(status_);
  std::unordered_map<const Mark *, std::shared_ptr<Mark>> marks;
  for (const Recording::Item &item : graph.recording->items) {
    SimStream *on =
        item.stream == graph.recording->origin ? &stream : item.stream;
    std::shared_ptr<Mark> mark;
    if (item.mark) {
      std::shared_ptr<Mark> &own = marks[item.mark.get()];
      if (!own) {
        own = std::make_shared<Mark>();
        own->stream = on;
      }
      mark = own;
    }
    SINTER_RETURN_IF_ERROR(queue(*on, item, mark));
  }
  return {};
}

} // namespace sinter::sim
