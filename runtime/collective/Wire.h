//===- Wire.h - messages over TCP -------------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The processes of a job and their leader exchange short messages: a kind, a
// number, a name and bytes. All of one build, so numbers are as the machine has
// them; the first message says so.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_COLLECTIVE_WIRE_H
#define SINTER_RUNTIME_COLLECTIVE_WIRE_H

#include "runtime/base/Status.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::rt {

enum class MessageKind : uint32_t {
  // To the leader.
  Join,  // number: rank; name: version of the protocol; bytes: JoinRequest
  Put,   // name, bytes: what others get; number: how many of them, 0: all
  Get,   // name; answered by Value, as soon as there is one
  Leave, // the process does not need the others any more
  Fail,  // name: why the job cannot go on
  // From the leader.
  Joined,  // all have joined
  Refused, // name: why
  Value,   // name, bytes
  End,     // name: why the job is over; number: SINTER_FAILED if a process has
           // failed, SINTER_INTERRUPTED if one is lost
  // Both ways: something arrives at least each second.
  Alive, // from a process: Activity, as Activity::message() has it
  // From rank 0 to all others, and from them to rank 0.
  Allow,    // Meeting::allow; number: step; bytes: the order, one byte
  Ask,      // Meeting::ask; number: the order; name (to rank 0): its sender
  Saved,    // Meeting::tellSaved; number: the step of the newest checkpoint
  Question, // Meeting::askAll; each puts its answer under name, "/" and rank
};

struct Message {
  MessageKind kind = MessageKind::Alive;
  int64_t number = 0;
  std::string name;
  std::string bytes;
};

inline constexpr uint32_t mostMessageBytes = 16 << 20;

/// A connected socket. Moves, and closes when destroyed.
class Wire {
public:
  Wire() = default;
  explicit Wire(int fd) : fd_(fd) {}
  ~Wire() { close(); }
  Wire(Wire &&other) noexcept;
  Wire &operator=(Wire &&other) noexcept;

  int fd() const { return fd_; }
  bool isOpen() const { return fd_ >= 0; }
  void close();
  /// Ends both directions; another thread that reads or writes gets an error.
  void shutDown() const;

  /// Sends the whole message; fails if that takes longer than `timeoutMs`. One
  /// thread at a time.
  Status send(const Message &message, int64_t timeoutMs = 10000) const;
  /// Reads what is there, without waiting. SINTER_FAILED if the other side has
  /// closed the connection or sent something else than messages of at most
  /// `mostBytes`.
  Status readAvailable(uint32_t mostBytes = mostMessageBytes);
  /// The next message that has been read completely.
  std::optional<Message> take();
  /// Waits for a message; nothing if none arrives within `timeoutMs`. Fails as
  /// readAvailable() does.
  Result<std::optional<Message>> receive(int64_t timeoutMs);

  /// The address of the other side, "192.0.2.1:40000".
  std::string peer() const;
  /// This side's address without the port.
  std::string localHost() const;

private:
  int fd_ = -1;
  std::string read_; // bytes of messages that were not taken
  size_t taken_ = 0; // of read_
};

/// Listens on `host` alone. `port` 0 takes any.
class Listener {
public:
  static Result<Listener> open(const std::string &host, uint16_t port);
  /// A connection that waits; nothing if there is none.
  std::optional<Wire> accept();
  int fd() const { return socket_.fd(); }
  uint16_t port() const { return port_; }

private:
  Listener(Wire socket, uint16_t port)
      : socket_(std::move(socket)), port_(port) {}
  Wire socket_;
  uint16_t port_;
};

/// Notices that this process was stopped or did not get the processor: what it
/// did not hear meanwhile was not the others' fault.
class PauseWatch {
public:
  /// Call at least each 100 ms. How long the process was paused since the last
  /// call; zero if it was not.
  std::chrono::steady_clock::duration pause();

private:
  std::chrono::steady_clock::time_point last_ =
      std::chrono::steady_clock::now();
};

/// Connects, again and again until `timeoutMs` have passed: the other side may
/// start later.
Result<Wire> connectTo(const std::string &host, uint16_t port,
                       int64_t timeoutMs);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_COLLECTIVE_WIRE_H
