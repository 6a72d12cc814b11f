//===- SpanningGroup.h - replicas in several processes ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// For devices whose replicas are threads that read each other's memory (CPU,
// simulated): the threads of one process meet as always, and an Exchange
// connects the processes.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_COLLECTIVE_SPANNINGGROUP_H
#define SINTER_RUNTIME_COLLECTIVE_SPANNINGGROUP_H

#include "runtime/collective/Exchange.h"
#include "runtime/collective/Meeting.h"

#include "sinter/abi.h"

#include <memory>
#include <optional>

namespace sinter::rt {

/// What a group of replicas is made for.
struct GroupRequest {
  /// Null: all replicas are in this process.
  Meeting *meeting = nullptr;
  /// The replicas of this process are [first, first + count) of all.
  uint32_t first = 0, count = 1;
};

/// The part of a group that is in this process.
struct SpanningGroup {
  std::shared_ptr<Exchange> exchange;
  Meeting *meeting = nullptr; // that counts messages; outlives the group
  uint32_t first = 0, count = 1;
  uint32_t process = 0, processes = 1;

  /// What rank.rank is among the replicas of this process, for
  /// Rendezvous::join.
  sinter_rank localRank(const sinter_rank &rank) const {
    sinter_rank local = rank;
    local.rank = rank.rank - first;
    local.replicas = count;
    return local;
  }
};

/// Writes the name of a new group. With a meeting, connects the processes by
/// `make`; all of them call this. SINTER_UNSUPPORTED without `make`.
Status nameGroupOfThreads(const GroupRequest &request, const MakeExchange &make,
                          uint8_t *group);

/// For libraries that connect processes themselves: rank 0 names the group by
/// `name`, and the others get what it wrote.
Status nameGroupByLeader(const GroupRequest &request,
                         const std::function<Status(uint8_t *group)> &name,
                         uint8_t *group);

/// The group that nameGroupOfThreads has named, if it spans processes.
std::optional<SpanningGroup> spanningGroup(const uint8_t *group);

/// Gives up what keeps the group's connections, once all replicas of this
/// process have joined.
void forgetSpanningGroup(const uint8_t *group);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_COLLECTIVE_SPANNINGGROUP_H
