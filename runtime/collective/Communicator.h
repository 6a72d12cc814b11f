//===- Communicator.h - one replica among others ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Replicas run one program, each on a device of its own, and sum and gather
// values. A device makes its Communicator (Device::joinGroup); the executor
// calls it for COLLECTIVE commands. What must stay true: all replicas make the
// same calls in the same order, and get the same bits.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_COLLECTIVE_COMMUNICATOR_H
#define SINTER_RUNTIME_COLLECTIVE_COMMUNICATOR_H

#include "runtime/base/Status.h"
#include "sinter/abi.h"

#include <cstdint>
#include <span>
#include <string>

namespace sinter::rt {

class Stream;

/// The error of those that need `who`, a replica or a process that has left.
inline Status leftGroup(const std::string &who, const std::string &why = "") {
  return Status::aboutOthers(SINTER_FAILED, who + " has left its group" + why);
}
inline Status leftGroup(uint32_t replica) {
  return leftGroup("replica " + std::to_string(replica));
}

/// What one COLLECTIVE does with arrays of one dtype, as one message.
struct Collective {
  uint32_t op;    // sinter_collective_op
  uint32_t dtype; // sinter_dtype
  /// Of each array as a whole, even if a replica has only its part on one side;
  /// the number of replicas then divides it.
  std::span<const uint64_t> elements;

  /// Elements of array `i` that each replica reads, and that it writes.
  uint64_t readElements(size_t i, uint32_t replicas) const {
    return op == SINTER_ALL_GATHER ? elements[i] / replicas : elements[i];
  }
  uint64_t writtenElements(size_t i, uint32_t replicas) const {
    return op == SINTER_REDUCE_SCATTER ? elements[i] / replicas : elements[i];
  }
};

class Communicator {
public:
  /// Leaves the group. No call of it may be in flight, and no recorded graph
  /// may have one: NCCL waits until there is none. All replicas do this, each
  /// on its own thread, unless the group was aborted.
  virtual ~Communicator();

  uint32_t rank() const { return rank_; }
  uint32_t replicas() const { return replicas_; }

  /// Computes buffers[n + i], n = elements.size(), from what all replicas have
  /// in buffers[i], as sinter_collective_op says; only an all_reduce may have
  /// the same address twice. The operation is queued on `stream`; if streams
  /// mean nothing, it is done, at the latest, when await() returns. The spans
  /// and `buffers` must stay in place until the stream is synchronised.
  /// Allocates nothing that a recorded graph could not.
  virtual Status run(Stream &stream, const Collective &what,
                     void *const *buffers) = 0;

  /// Host memory that operations take beside their arrays, of which `all` are
  /// run, one at a time; 0 if the library has its own.
  virtual uint64_t scratchBytes(std::span<const Collective> all) const {
    (void)all;
    return 0;
  }
  /// Gives them as much, before the first one. It stays in place until the
  /// replica leaves.
  virtual void useScratch(std::span<uint8_t> memory) { (void)memory; }

  /// How many operations were begun.
  virtual uint64_t numBegun() const { return 0; }
  /// If streams mean nothing: waits until the first `number` operations are
  /// done.
  virtual Status await(uint64_t number) {
    (void)number;
    return {};
  }

  /// Aborts the group for good, from any thread: calls in flight end soon, and
  /// calls fail with leftGroup(), for this replica and for those that wait for
  /// it. Does not wait.
  virtual void abort() = 0;

protected:
  Communicator(uint32_t rank, uint32_t replicas)
      : rank_(rank), replicas_(replicas) {}

private:
  uint32_t rank_, replicas_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_COLLECTIVE_COMMUNICATOR_H
