//===- HostExchange.h - processes that share memory -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The processes of a job that run on one host exchange bytes through memory
// that all of them map. Between any two there is a ring buffer for each
// direction. The memory has no name in a file system, so nothing is left behind
// when the processes are gone.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_COLLECTIVE_HOSTEXCHANGE_H
#define SINTER_RUNTIME_COLLECTIVE_HOSTEXCHANGE_H

#include "runtime/collective/Exchange.h"

#include <atomic>
#include <cstddef>
#include <vector>

namespace sinter::rt {

/// Memory that several processes map.
class SharedMemory {
public:
  SharedMemory() = default;
  SharedMemory(SharedMemory &&other) noexcept;
  SharedMemory &operator=(SharedMemory &&other) noexcept;
  ~SharedMemory();

  /// Zeros. Another process of this user maps them by what address() says, as
  /// long as this one has not called close().
  static Result<SharedMemory> make(size_t bytes);
  static Result<SharedMemory> open(const std::string &address, size_t bytes);

  std::string address() const;
  void close();
  uint8_t *data() const { return data_; }

private:
  Status map(int fd, size_t bytes);

  int fd_ = -1;
  uint8_t *data_ = nullptr;
  size_t sizeBytes_ = 0;
};

class HostExchange final : public Exchange {
public:
  /// Finds the processes of the meeting that can share memory with this one:
  /// those of the same kernel, network, user and numbering of processes. Each
  /// process of the meeting calls this.
  static Result<std::unique_ptr<HostExchange>> join(Meeting &meeting);
  ~HostExchange() override;

  /// Whether process `rank` is another one that shares memory with this one.
  bool reaches(uint32_t rank) const;
  /// How many of them there are.
  size_t numReached() const { return ranks_.empty() ? 0 : ranks_.size() - 1; }

  /// Exchanges with those that it reaches, and ignores the ranges of others.
  Status exchange(std::span<const Pieces> from,
                  std::span<const Pieces> to) override;
  bool takesPieces() const override { return true; }
  std::string transport() const override { return "shared memory"; }
  void abort() override;

private:
  struct Doorbell;
  struct ByteRing;
  class PiecesLeft;

  HostExchange() = default;
  /// Maps the memory, or leaves ranks_ empty.
  Status share(Meeting &meeting);
  Status map(Meeting &meeting);
  size_t memoryBytes() const;

  Doorbell &doorbell(size_t index) const;
  ByteRing &ring(size_t sender, size_t receiver) const;
  /// Calls copy(place in the ring, bytes) for what is left, from byte `begin`
  /// of all that ever pass the ring to `end`; where it ended.
  template <typename Copy>
  uint64_t walk(ByteRing &ring, uint64_t begin, uint64_t end, PiecesLeft &left,
                Copy copy) const;
  /// Copies what the ring has room for; whether that is anything.
  bool push(size_t receiver, PiecesLeft &left) const;
  /// Copies what the ring has; whether that is anything.
  bool pull(size_t sender, PiecesLeft &left) const;
  void wake(size_t index) const;
  /// Until someone has rung since `count` was read.
  void sleep(uint32_t count) const;
  void leave();

  std::vector<uint32_t> ranks_; // that share the memory, in this order
  size_t own_ = 0;              // the place of this process in it
  size_t ringBytes_ = 0;        // a power of two
  SharedMemory memory_;
  std::atomic<bool> isAborted_{false};
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_COLLECTIVE_HOSTEXCHANGE_H
