//===- Timeline.cpp - streams and events of simulated devices -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/Timeline.h"

#include <algorithm>
#include <chrono>

namespace sinter::sim {

// Recursive: work may be a library's call that asks for the stream's state.
static std::recursive_mutex &theLock() {
  static auto *lock = new std::recursive_mutex;
  return *lock;
}

static rt::Status whileRecording() {
  return rt::Status::failed("a graph is being recorded: nothing may be waited "
                            "for");
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
  return queue_.front().kind == Command::Await &&
         !queue_.front().mark->isReached;
}

void SimStream::step() {
  Command command = std::move(queue_.front());
  queue_.pop_front();
  switch (command.kind) {
  case Command::Run:
    // After a failure nothing runs any more, and nobody waits for ever.
    if (timeline_.status_.ok())
      if (rt::Status status = command.work(); !status.ok())
        timeline_.fail(status);
    break;
  case Command::Reach:
    command.mark->isReached = true;
    command.mark->timeUs = Timeline::nowUs();
    break;
  case Command::Await:
    Timeline::runUntil(*command.mark);
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

// Two of the seeds have every second stream late and the others at once, in
// both ways: so either of two neighbours is far ahead of the other once.
bool Timeline::isEager(const SimStream &stream) {
  switch (seed_ % 4) {
  case 1:
  case 2:
    return stream.number_ % 2 == seed_ % 2;
  default:
    return seed_ != 0 && random_.below(2);
  }
}

// What nothing orders may happen first.
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

rt::Status Timeline::enqueueLocked(SimStream &stream, Work work) {
  if (stream.recording_) {
    stream.recording_->work.push_back(std::move(work));
    return status_;
  }
  stream.queue_.push_back({SimStream::Command::Run, std::move(work), nullptr});
  if (isEager(stream))
    stream.runWhilePossible();
  return status_;
}

rt::Status Timeline::enqueue(SimStream &stream, Work work) {
  std::lock_guard lock(theLock());
  SINTER_RETURN_IF_ERROR(status_);
  return enqueueLocked(stream, std::move(work));
}

rt::Status Timeline::record(SimEvent &event, SimStream &stream) {
  std::lock_guard lock(theLock());
  SINTER_RETURN_IF_ERROR(status_);
  event.mark = std::make_shared<Mark>();
  event.mark->stream = &stream;
  event.mark->recording = stream.recording_;
  if (stream.recording_)
    return {};
  stream.queue_.push_back({SimStream::Command::Reach, {}, event.mark});
  if (isEager(stream))
    stream.runWhilePossible();
  return status_;
}

rt::Status Timeline::wait(SimStream &stream, const SimEvent &event) {
  std::lock_guard lock(theLock());
  SINTER_RETURN_IF_ERROR(status_);
  if (!event.mark)
    return {};
  if (const auto &recording = event.mark->recording) {
    if (!recording->isOpen)
      return rt::Status::failed("an event of a graph cannot be waited for "
                                "outside it");
    if (stream.recording_ && stream.recording_ != recording)
      return rt::Status::failed("a stream cannot be part of two graphs");
    stream.recording_ = recording; // it joins the capture
    return {};
  }
  if (stream.recording_)
    return rt::Status::failed("a graph is being recorded: an event outside it "
                              "cannot be waited for");
  stream.queue_.push_back({SimStream::Command::Await, {}, event.mark});
  return {};
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
    // The last created first for seed 0: uploads come before computations.
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
  SINTER_RETURN_IF_ERROR(status_);
  auto graph = std::make_unique<SimGraph>();
  graph->recording = std::move(recording);
  return std::unique_ptr<rt::Graph>(std::move(graph));
}

rt::Status Timeline::start(SimStream &stream, const SimGraph &graph) {
  std::lock_guard lock(theLock());
  SINTER_RETURN_IF_ERROR(status_);
  std::shared_ptr<const Recording> recording = graph.recording;
  for (size_t i = 0; i < recording->work.size(); ++i)
    SINTER_RETURN_IF_ERROR(
        enqueueLocked(stream, [recording, i] { return recording->work[i](); }));
  return {};
}

} // namespace sinter::sim
