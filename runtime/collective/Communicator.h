//===- Communicator.h - one replica among others ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Replicas run one program, each on a device of its own, and sum values. A
// device makes its Communicator (Device::joinGroup); the executor calls it for
// ALL_REDUCE commands. What must stay true: all replicas make the same calls in
// the same order, and get the same bits.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_COLLECTIVE_COMMUNICATOR_H
#define SINTER_RUNTIME_COLLECTIVE_COMMUNICATOR_H

#include "runtime/base/Status.h"
#include "sinter/abi.h"

#include <cstdint>
#include <span>

namespace sinter::rt {

class Stream;

/// In the errors of replicas that fail only because another one did.
inline constexpr const char *leftGroupText = "has left its group";

/// What one ALL_REDUCE sums: arrays of one dtype, as one message.
struct Reduction {
  uint32_t dtype; // sinter_dtype
  std::span<const uint64_t> elements;
};

class Communicator {
public:
  /// Leaves the group. No sum of it may be in flight, and no recorded graph may
  /// have one: NCCL waits until there is none. All replicas do this, each on
  /// its own thread, unless the group was aborted.
  virtual ~Communicator();

  uint32_t rank() const { return rank_; }
  uint32_t replicas() const { return replicas_; }

  /// Sums into buffers[n + i], n = elements.size(), what all replicas have in
  /// buffers[i]; both may be the same address. The sum is queued on `stream`;
  /// if streams mean nothing, it is done, at the latest, when await() returns.
  /// The spans and `buffers` must stay in place until the stream is
  /// synchronised. Allocates nothing that a recorded graph could not.
  virtual Status allReduce(Stream &stream, const Reduction &reduction,
                           void *const *buffers) = 0;

  /// How many sums were begun.
  virtual uint64_t numSums() const { return 0; }
  /// If streams mean nothing: waits until the first `number` sums are done.
  virtual Status await(uint64_t number) {
    (void)number;
    return {};
  }

  /// Aborts the group for good, from any thread: sums in flight end soon, and
  /// calls fail with leftGroupText, for this replica and for those that wait
  /// for it. Does not wait.
  virtual void abort() = 0;

protected:
  Communicator(uint32_t rank, uint32_t replicas)
      : rank_(rank), replicas_(replicas) {}

private:
  uint32_t rank_, replicas_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_COLLECTIVE_COMMUNICATOR_H
