//===- Meeting.h - where the processes of a job meet ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Rank 0 listens, and all processes of the job connect to it. There they leave
// what the others need before the first step (addresses, hashes), learn up to
// which step they may go, and learn at once when one of them ends. The values
// of a step do not come here: a Communicator sums them.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_COLLECTIVE_MEETING_H
#define SINTER_RUNTIME_COLLECTIVE_MEETING_H

#include "runtime/collective/MeetingServer.h"
#include "runtime/collective/Ranks.h"
#include "runtime/collective/Wire.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sinter::rt {

/// What all processes do before the same step.
enum class Order : uint32_t {
  None = 0,
  Save = 1,    // compares the states before
  Stop = 2,    // saves, too
  Compare = 4, // the states of all processes
};

/// What a process may do next.
struct Permission {
  int64_t step;              // steps before it may begin
  Order order = Order::None; // to follow before `step`
};

class Meeting {
public:
  struct Options {
    /// Joins only processes that have the same.
    std::string token;
    /// How long to wait for all to join.
    int64_t joinTimeoutMs = 300000;
    /// Whether processes of one host exchange values through memory.
    bool sharesMemory = true;
    /// A process that sends nothing for so long ends the job.
    int64_t aliveTimeoutMs = 60000;
    /// Of rank 0, on another thread: called once if some have not joined after
    /// a while, with a text that names them.
    std::function<void(const std::string &)> onLate;
    int64_t lateMs = 10000;
    /// Ends join() with SINTER_INTERRUPTED once it returns true.
    std::function<bool()> isInterrupted = [] { return false; };
  };

  /// Waits until all processes of `ranks` have joined.
  static Result<std::unique_ptr<Meeting>> join(const Ranks &ranks,
                                               const Options &options);
  /// Says that this process does not need the others any more. Rank 0 waits
  /// until all have said so or are gone.
  ~Meeting();
  Meeting(const Meeting &) = delete;
  Meeting &operator=(const Meeting &) = delete;

  uint32_t rank() const { return ranks_.rank; }
  uint32_t world() const { return ranks_.world; }
  bool sharesMemory() const { return options_.sharesMemory; }
  /// What carries the values of a step, in words; "" if a library decides. For
  /// messages.
  void setTransport(std::string text) { transport_ = std::move(text); }
  const std::string &transport() const { return transport_; }
  /// This host's address, as the leader sees it.
  std::string localHost() const { return wire_.localHost(); }

  /// Leaves `bytes` under `name` for the others. A name is used once. The bytes
  /// are dropped once `readers` processes have got them; 0: all of them.
  Status put(const std::string &name, std::string bytes, uint32_t readers = 0);
  /// Waits for what someone has put under `name`. Fails once the job is over.
  Result<std::string> get(const std::string &name);
  /// Each process contributes `bytes`; returns those of all, by rank. `name` is
  /// used once.
  Result<std::vector<std::string>> gather(const std::string &name,
                                          std::string bytes);
  /// Each process contributes `bytes`; rank 0 computes from those of all, by
  /// rank, what is returned everywhere. `name` is used once. Takes fewer
  /// messages than gather().
  using Combine = std::function<std::string(const std::vector<std::string> &)>;
  Result<std::string> combine(const std::string &name, std::string bytes,
                              const Combine &combine);
  /// All call this before another run of the same processes, when none of them
  /// is in the former one: names can be used again, and what rank 0 allowed is
  /// forgotten.
  Status beginRun();

  /// Success as long as the job goes on; then why it does not: SINTER_FAILED if
  /// a process has failed, SINTER_INTERRUPTED if one is lost.
  Status status() const;
  /// The same, after waiting for the end for at most `timeoutMs`.
  Status awaitEnd(int64_t timeoutMs) const;
  /// Calls `function` once when the job is over, on another thread; at once if
  /// it is over already. Null: forgets the former one, and waits for it.
  void onEnd(std::function<void()> function);
  /// Ends the job, for all processes: `why` names what happened to this one.
  void fail(const std::string &why);

  /// What this process does, for the heartbeats; from any thread. Steps count
  /// from 0.
  void setStep(int64_t step, bool isTraining) {
    step_ = step;
    isTraining_ = isTraining;
  }
  void countMessages(uint64_t count = 1) { messages_ += count; }

  /// Rank 0: tells the others.
  Status allow(const Permission &permission);
  /// Waits until step `step` may begin or there is an order to follow before
  /// it. Each order is returned once. Rank 0 does not ask.
  Result<Permission> awaitPermission(int64_t step);
  /// Asks rank 0 for an order; it decides when.
  void ask(Order order);
  /// Rank 0: what was asked for since the last call, all of it at once.
  uint32_t takeAsked() { return asked_.exchange(0); }
  /// Rank 0: "rank 3", which asked first for Order::Stop; "" if none did.
  std::string stopAskedBy() const;

  /// What this process answers to askAll(), on another thread and whatever it
  /// does meanwhile. Null: nothing; waits for an answer that is under way.
  void answerWith(std::function<std::string()> answer);
  /// Rank 0: what the others answer, rank 1 first.
  Result<std::vector<std::string>> askAll();

  /// Rank 0: tells the others that there is a checkpoint of step `step`. Who is
  /// told what to do next has learned that before.
  Status tellSaved(int64_t step);
  /// The step of the newest checkpoint of this run; -1 if none is known.
  int64_t savedStep() const { return savedStep_; }

private:
  Meeting(Ranks ranks, Options options)
      : ranks_(std::move(ranks)), options_(std::move(options)) {}
  Status connect();
  std::string leaderText() const;
  void listen();
  void accept(Message message);
  void endWith(Status why);
  Status send(const Message &message);
  Status tell(const Message &message);
  std::string keyOf(const std::string &name) const;

  const Ranks ranks_;
  const Options options_;
  std::unique_ptr<MeetingServer> server_; // of rank 0
  Wire wire_;
  std::thread listener_;
  std::mutex sending_;
  std::atomic<uint32_t> asked_{0};
  std::atomic<bool> isLeaving_{false};
  std::atomic<int64_t> step_{0};
  std::atomic<bool> isTraining_{false};
  std::atomic<uint64_t> messages_{0};
  std::atomic<int64_t> savedStep_{-1};
  std::string transport_;
  uint64_t runs_ = 0;      // before this one
  uint64_t questions_ = 0; // of askAll()
  std::mutex answering_;   // guards answer_
  std::function<std::string()> answer_;

  mutable std::mutex mutex_; // guards what follows
  mutable std::condition_variable changed_;
  std::map<std::string, std::string> values_;
  Status ended_; // success: not
  std::function<void()> onEnd_;
  bool isCallingOnEnd_ = false;
  std::deque<Permission> permissions_;
  std::string stopAskedBy_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_COLLECTIVE_MEETING_H
