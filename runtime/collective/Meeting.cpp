//===- Meeting.cpp - where the processes of a job meet --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Meeting.h"

#include "runtime/base/BlockSignals.h"

#include <cerrno>
#include <chrono>
#include <poll.h>
#include <system_error>

using namespace sinter::rt;
using Clock = std::chrono::steady_clock;

Result<std::unique_ptr<Meeting>> Meeting::join(const Ranks &ranks,
                                               const Options &options) {
  std::unique_ptr<Meeting> meeting(new Meeting(ranks, options));
  if (ranks.rank == 0) {
    MeetingServer::Options server;
    server.world = ranks.world;
    server.token = options.token;
    server.joinTimeoutMs = options.joinTimeoutMs;
    server.aliveTimeoutMs = options.aliveTimeoutMs;
    server.onLate = options.onLate;
    server.lateMs = options.lateMs;
    Result<std::unique_ptr<MeetingServer>> started =
        MeetingServer::start(ranks.leaderHost, ranks.leaderPort, server);
    if (!started.ok())
      return Status::failed(
          "rank 0 cannot meet the others: " + started.status().message() +
          (started.status().systemError() == EADDRINUSE
               ? "; --leader=HOST:PORT, of all processes, sets another port"
               : ""));
    meeting->server_ = std::move(*started);
  }
  SINTER_RETURN_IF_ERROR(meeting->connect());
  BlockSignals blocked;
  try {
    meeting->listener_ =
        std::thread([meeting = meeting.get()] { meeting->listen(); });
  } catch (const std::system_error &error) {
    return Status::failed(std::string("cannot start a thread: ") +
                          error.what());
  }
  return meeting;
}

static Status lost(std::string why) {
  return {SINTER_INTERRUPTED, std::move(why)};
}

std::string Meeting::leaderText() const {
  return "rank 0 (" + ranks_.leaderHost + ":" +
         std::to_string(ranks_.leaderPort) + ")";
}

/// Returns once all have joined.
Status Meeting::connect() {
  const std::string leader = leaderText(),
                    self = "rank " + std::to_string(ranks_.rank);
  // The leader says itself who is missing, so it gets a little longer.
  constexpr std::chrono::milliseconds margin(5000);
  constexpr int64_t sliceMs = 200;
  const Clock::time_point until =
      Clock::now() + std::chrono::milliseconds(options_.joinTimeoutMs);
  const Status interrupted(SINTER_INTERRUPTED,
                           "interrupted while " + self +
                               " was waiting for the other processes");
  while (!wire_.isOpen()) {
    Result<Wire> wire =
        connectTo(ranks_.leaderHost, ranks_.leaderPort, sliceMs);
    if (wire.ok())
      wire_ = std::move(*wire);
    else if (options_.isInterrupted())
      return interrupted;
    else if (Clock::now() >= until)
      return Status::failed(self + " cannot meet the others within " +
                            std::to_string(options_.joinTimeoutMs / 1000) +
                            " s: " + wire.status().message());
  }
  SINTER_RETURN_IF_ERROR(
      send(JoinRequest{ranks_.rank, ranks_.world, options_.token}.message()));
  while (true) {
    Result<std::optional<Message>> answer = wire_.receive(sliceMs);
    if (!answer.ok())
      return lost(leader + " has ended before all had joined: " +
                  answer.status().message());
    if (!*answer) {
      if (options_.isInterrupted())
        return interrupted;
      if (Clock::now() >= until + margin)
        return lost(leader + " does not say whether all have joined");
      continue;
    }
    switch ((*answer)->kind) {
    case MessageKind::Joined:
      return {};
    case MessageKind::Refused:
      return Status::invalid(leader + " has refused " + self + ": " +
                             (*answer)->name);
    case MessageKind::End:
      return Status(static_cast<sinter_status>((*answer)->number),
                    (*answer)->name);
    case MessageKind::Alive:
      break;
    default:
      return Status::failed(leader + " answers in an unknown way");
    }
  }
}

Meeting::~Meeting() {
  isLeaving_ = true;
  // Who leaves because it lost the others may be wrong: they, or rank 0, may
  // only have been paused. To them, it is lost, too.
  if (status().ok())
    (void)send({MessageKind::Leave, 0, "", ""});
  wire_.shutDown(); // wakes the listener
  if (listener_.joinable())
    listener_.join();
}

Status Meeting::send(const Message &message) {
  std::lock_guard lock(sending_);
  return wire_.send(message);
}

/// Sends, from another thread than the one that listens. That one learns why
/// nothing can be sent.
Status Meeting::tell(const Message &message) {
  const Status sent = send(message);
  if (sent.ok())
    return {};
  constexpr int64_t soonMs = 1000;
  const Status end = awaitEnd(soonMs);
  return end.ok() ? lost(leaderText() + " does not answer: " + sent.message())
                  : end;
}

//===----------------------------------------------------------------------===//
// The thread that listens
//===----------------------------------------------------------------------===//

void Meeting::listen() {
  Clock::time_point heard = Clock::now(), beat = heard;
  PauseWatch watch;
  // connect() may have read more than it waited for.
  while (std::optional<Message> message = wire_.take())
    accept(std::move(*message));
  while (!isLeaving_) {
    pollfd one = {wire_.fd(), POLLIN, 0};
    (void)::poll(&one, 1, 100);
    heard += watch.pause();
    const Clock::time_point now = Clock::now();
    if (one.revents) {
      Status read = wire_.readAvailable();
      while (std::optional<Message> message = wire_.take())
        accept(std::move(*message));
      heard = now;
      if (!read.ok())
        return endWith(lost(leaderText() + " has ended: " + read.message()));
    }
    if (now - heard > std::chrono::milliseconds(options_.aliveTimeoutMs))
      return endWith(lost(leaderText() + " has sent nothing for " +
                          std::to_string(options_.aliveTimeoutMs / 1000) +
                          " s: it is stopped, or its host is gone"));
    if (now - beat >= std::chrono::seconds(1)) {
      beat = now;
      (void)send(Activity{step_, messages_, isTraining_}.message());
    }
  }
}

void Meeting::accept(Message message) {
  switch (message.kind) {
  case MessageKind::Value: {
    std::lock_guard lock(mutex_);
    values_[message.name] = std::move(message.bytes);
    break;
  }
  case MessageKind::Allow: {
    std::lock_guard lock(mutex_);
    permissions_.push_back(
        {message.number,
         static_cast<Order>(message.bytes.empty() ? 0 : message.bytes[0])});
    break;
  }
  case MessageKind::Ask: {
    const auto asked = static_cast<uint32_t>(message.number);
    std::lock_guard lock(mutex_);
    if ((asked & static_cast<uint32_t>(Order::Stop)) && stopAskedBy_.empty())
      stopAskedBy_ = message.name;
    asked_ |= asked;
    return;
  }
  case MessageKind::Saved:
    savedStep_ = message.number;
    return;
  case MessageKind::Question: {
    std::string answer;
    {
      std::lock_guard lock(answering_);
      answer = answer_ ? answer_() : "";
    }
    (void)send({MessageKind::Put, 1,
                message.name + "/" + std::to_string(rank()),
                std::move(answer)});
    return;
  }
  case MessageKind::End:
    return endWith(
        Status(static_cast<sinter_status>(message.number), message.name));
  default:
    return;
  }
  changed_.notify_all();
}

void Meeting::endWith(Status why) {
  std::function<void()> function;
  {
    std::lock_guard lock(mutex_);
    if (!ended_.ok())
      return;
    ended_ = std::move(why);
    function = onEnd_;
    isCallingOnEnd_ = function != nullptr;
  }
  changed_.notify_all();
  if (!function)
    return;
  function();
  {
    std::lock_guard lock(mutex_);
    isCallingOnEnd_ = false;
  }
  changed_.notify_all();
}

//===----------------------------------------------------------------------===//
// What processes leave for each other
//===----------------------------------------------------------------------===//

Status Meeting::status() const {
  std::lock_guard lock(mutex_);
  return ended_;
}

Status Meeting::awaitEnd(int64_t timeoutMs) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(timeoutMs),
                    [&] { return !ended_.ok(); });
  return ended_;
}

/// `name` among those of all runs.
std::string Meeting::keyOf(const std::string &name) const {
  return runs_ == 0 ? name : "run " + std::to_string(runs_) + "/" + name;
}

Status Meeting::put(const std::string &name, std::string bytes,
                    uint32_t readers) {
  SINTER_RETURN_IF_ERROR(status());
  return tell({MessageKind::Put, readers, keyOf(name), std::move(bytes)});
}

Result<std::string> Meeting::get(const std::string &title) {
  const std::string name = keyOf(title);
  const Status asked = tell({MessageKind::Get, 0, name, ""});
  std::unique_lock lock(mutex_);
  if (!asked.ok() && ended_.ok())
    return asked;
  changed_.wait(lock, [&] { return values_.contains(name) || !ended_.ok(); });
  auto place = values_.find(name);
  if (place == values_.end())
    return ended_;
  std::string value = std::move(place->second);
  values_.erase(place);
  return value;
}

Result<std::vector<std::string>> Meeting::gather(const std::string &name,
                                                 std::string bytes) {
  auto of = [&](uint32_t rank) { return name + "/" + std::to_string(rank); };
  SINTER_RETURN_IF_ERROR(put(of(rank()), std::move(bytes)));
  std::vector<std::string> all;
  for (uint32_t i = 0; i < world(); ++i) {
    Result<std::string> one = get(of(i));
    if (!one.ok())
      return one.status();
    all.push_back(std::move(*one));
  }
  return all;
}

Result<std::string> Meeting::combine(const std::string &name, std::string bytes,
                                     const Combine &combine) {
  auto of = [&](uint32_t rank) { return name + "/" + std::to_string(rank); };
  const std::string result = name + "/result";
  if (rank() != 0) {
    SINTER_RETURN_IF_ERROR(put(of(rank()), std::move(bytes), /*readers=*/1));
    return get(result);
  }
  std::vector<std::string> all = {std::move(bytes)};
  for (uint32_t i = 1; i < world(); ++i) {
    Result<std::string> one = get(of(i));
    if (!one.ok())
      return one.status();
    all.push_back(std::move(*one));
  }
  std::string combined = combine(all);
  if (world() > 1)
    SINTER_RETURN_IF_ERROR(put(result, combined, world() - 1));
  return combined;
}

Status Meeting::beginRun() {
  ++runs_;
  savedStep_ = -1;
  {
    std::lock_guard lock(mutex_);
    permissions_.clear();
  }
  // Rank 0 allows nothing before all have come here.
  return gather("begin", "").status();
}

//===----------------------------------------------------------------------===//
// The job
//===----------------------------------------------------------------------===//

void Meeting::onEnd(std::function<void()> function) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !isCallingOnEnd_; });
    onEnd_ = function;
    if (ended_.ok())
      return;
  }
  if (function)
    function();
}

void Meeting::fail(const std::string &why) {
  (void)send({MessageKind::Fail, 0, why, ""});
  endWith(Status::failed("rank " + std::to_string(rank()) + ": " + why));
}

Status Meeting::allow(const Permission &permission) {
  SINTER_RETURN_IF_ERROR(status());
  return tell({MessageKind::Allow, permission.step, "",
               std::string(1, static_cast<char>(permission.order))});
}

Result<Permission> Meeting::awaitPermission(int64_t step) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (!ended_.ok())
      return ended_;
    if (!permissions_.empty()) {
      Permission &first = permissions_.front();
      if (step < first.step)
        return Permission{first.step};
      if (first.order != Order::None)
        return Permission{step, std::exchange(first.order, Order::None)};
      if (permissions_.size() > 1) {
        permissions_.pop_front();
        continue;
      }
    }
    const size_t known = permissions_.size();
    changed_.wait(lock,
                  [&] { return permissions_.size() > known || !ended_.ok(); });
  }
}

void Meeting::ask(Order order) {
  if (rank() == 0)
    asked_ |= static_cast<uint32_t>(order);
  else
    (void)send({MessageKind::Ask, static_cast<int64_t>(order), "", ""});
}

std::string Meeting::stopAskedBy() const {
  std::lock_guard lock(mutex_);
  return stopAskedBy_;
}

void Meeting::answerWith(std::function<std::string()> answer) {
  std::lock_guard lock(answering_);
  answer_ = std::move(answer);
}

Result<std::vector<std::string>> Meeting::askAll() {
  const std::string name = "answers " + std::to_string(++questions_);
  SINTER_RETURN_IF_ERROR(status());
  SINTER_RETURN_IF_ERROR(tell({MessageKind::Question, 0, keyOf(name), ""}));
  std::vector<std::string> answers;
  for (uint32_t i = 1; i < world(); ++i) {
    Result<std::string> answer = get(name + "/" + std::to_string(i));
    if (!answer.ok())
      return answer.status();
    answers.push_back(std::move(*answer));
  }
  return answers;
}

Status Meeting::tellSaved(int64_t step) {
  savedStep_ = step;
  return tell({MessageKind::Saved, step, "", ""});
}
