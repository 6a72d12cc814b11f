//===- MeetingServer.h - the leader's side of a meeting ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A thread of rank 0 that stores what processes leave for each other, forwards
// the messages of rank 0, and checks that all processes are alive. A connection
// is not trusted until it has joined: its first message is short and has the
// job's token.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_COLLECTIVE_MEETINGSERVER_H
#define SINTER_RUNTIME_COLLECTIVE_MEETINGSERVER_H

#include "runtime/collective/Wire.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace sinter::rt {

/// What a process sends to join.
struct JoinRequest {
  uint32_t rank = 0, world = 0;
  std::string token;

  Message message() const;
  /// SINTER_INVALID if that is not a message of this version.
  static Result<JoinRequest> read(const Message &message);
};

/// What heartbeats tell of a process.
struct Activity {
  int64_t step = 0;
  /// Messages of collectives that it has begun. All begin the same ones.
  uint64_t messages = 0;
  /// It is in steps; it does nothing else that the others may have to wait for.
  bool isTraining = false;

  bool operator==(const Activity &) const = default;
  Message message() const;
  /// Nothing where the message has another form.
  static std::optional<Activity> read(const Message &message);
};

class MeetingServer {
public:
  struct Options {
    uint32_t world = 1;
    std::string token;
    int64_t joinTimeoutMs, aliveTimeoutMs;
    std::function<void(const std::string &)> onLate; // see Meeting::Options
    int64_t lateMs;
  };
  static Result<std::unique_ptr<MeetingServer>>
  start(const std::string &host, uint16_t port, const Options &options);
  /// Waits until all have left or are gone, or the job has ended.
  ~MeetingServer();

private:
  using Clock = std::chrono::steady_clock;
  struct Member {
    Wire wire;
    std::optional<uint32_t> rank; // once it has joined
    std::string address;
    Clock::time_point heard, moved; // moved: `activity` was another one
    Activity activity;
    bool hasLeft = false, isGone = false;
    std::vector<std::string> waitsFor;
  };

  MeetingServer(Listener listener, Options options)
      : listener_(std::move(listener)), options_(std::move(options)) {}
  void serve();
  void welcome();
  void read(Member &member);
  void admit(Member &member, const Message &message);
  void handle(Member &member, Message message);
  void give(Member &member, const std::string &name);
  void lose(Member &member, const std::string &why);
  void checkTime();
  void checkProgress(Clock::time_point now);
  void endJob(sinter_status code, const std::string &why);
  void send(Member &member, const Message &message);
  void sendToAll(const Message &message);
  Member *find(uint32_t rank);
  std::string nameOf(const Member &member) const;
  std::string missingText();
  bool isOver() const;

  Listener listener_;
  const Options options_;
  std::list<Member> members_;
  struct Value {
    std::string bytes;
    uint32_t readers; // who still get it
  };
  std::map<std::string, Value> values_;
  uint32_t numJoined_ = 0;
  bool hasEnded_ = false;
  Status end_;
  Clock::time_point started_ = Clock::now(), beat_ = started_, ended_;
  /// Since when all are in steps, as far as heartbeats tell.
  Clock::time_point allInSteps_ = started_;
  bool hasSaidLate_ = false;
  PauseWatch watch_;
  std::string refused_; // the address of a process with another token
  std::atomic<bool> isLeaving_{false};
  std::thread thread_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_COLLECTIVE_MEETINGSERVER_H
