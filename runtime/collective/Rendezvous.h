//===- Rendezvous.h - threads that wait for each other ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Where replicas of one process meet, identified by the bytes of their group.
// Used by devices whose replicas are threads of one process (CPU, simulated).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_COLLECTIVE_RENDEZVOUS_H
#define SINTER_RUNTIME_COLLECTIVE_RENDEZVOUS_H

#include "runtime/base/Status.h"
#include "sinter/abi.h"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace sinter::rt {

/// Writes the name of a new group of this process.
void nameLocalGroup(uint8_t *group);

class Rendezvous {
public:
  /// The meeting point of `rank`'s group, once all replicas have joined.
  /// SINTER_INVALID if the group was not named by nameLocalGroup, the numbers
  /// contradict the others', or the rank is taken.
  static Result<std::shared_ptr<Rendezvous>> join(const sinter_rank &rank);

  uint32_t replicas() const { return static_cast<uint32_t>(shown_.size()); }

  /// Shows `what` to the others and waits until all have shown something.
  /// Fails if one has left, or after `timeoutMs`.
  Status meet(uint32_t rank, const void *what, int64_t timeoutMs = 600000);
  /// What `rank` showed at the last meeting.
  const void *shownBy(uint32_t rank) const { return shown_[rank]; }

  /// Leaves for good: meetings fail from now on.
  void leave(uint32_t rank);

private:
  explicit Rendezvous(uint32_t replicas)
      : shown_(replicas), joined_(replicas) {}

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<const void *> shown_;
  std::vector<bool> joined_;
  uint32_t arrived_ = 0;
  uint64_t meetings_ = 0;
  Status broken_; // why meetings fail
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_COLLECTIVE_RENDEZVOUS_H
