//===- Rendezvous.cpp - threads of one process that wait for each other ---===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Rendezvous.h"
#include "runtime/collective/Communicator.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>

using namespace sinter::rt;

Communicator::~Communicator() = default;

namespace {

constexpr char localPrefix[] = "sinter local group";

struct Groups {
  std::mutex mutex;
  std::map<uint64_t, std::weak_ptr<Rendezvous>> byNumber;
};

Groups &groups() {
  static auto *all = new Groups;
  return *all;
}

} // namespace

void sinter::rt::nameLocalGroup(uint8_t *group) {
  static std::atomic<uint64_t> next{1};
  uint64_t number = next++;
  std::memset(group, 0, SINTER_GROUP_BYTES);
  std::memcpy(group, localPrefix, sizeof(localPrefix));
  std::memcpy(group + sizeof(localPrefix), &number, sizeof(number));
}

Result<std::shared_ptr<Rendezvous>> Rendezvous::join(const sinter_rank &rank) {
  if (rank.replicas == 0 || rank.rank >= rank.replicas)
    return Status::invalid("replica " + std::to_string(rank.rank) + " of " +
                           std::to_string(rank.replicas));
  if (std::memcmp(rank.group, localPrefix, sizeof(localPrefix)) != 0)
    return Status::invalid(
        "the group of replicas was not made for this kind of device");
  uint64_t number;
  std::memcpy(&number, rank.group + sizeof(localPrefix), sizeof(number));
  std::shared_ptr<Rendezvous> meeting;
  {
    std::lock_guard lock(groups().mutex);
    std::weak_ptr<Rendezvous> &known = groups().byNumber[number];
    meeting = known.lock();
    if (!meeting)
      known = meeting =
          std::shared_ptr<Rendezvous>(new Rendezvous(rank.replicas));
  }
  if (meeting->replicas() != rank.replicas)
    return Status::invalid(
        "replicas disagree on their number: " + std::to_string(rank.replicas) +
        " and " + std::to_string(meeting->replicas()));
  {
    std::lock_guard lock(meeting->mutex_);
    if (meeting->joined_[rank.rank])
      return Status::invalid("more than one replica has rank " +
                             std::to_string(rank.rank));
    meeting->joined_[rank.rank] = true;
  }
  SINTER_RETURN_IF_ERROR(meeting->meet(rank.rank, nullptr));
  return meeting;
}

Status Rendezvous::meet(uint32_t rank, const void *what, int64_t timeoutMs) {
  std::unique_lock lock(mutex_);
  SINTER_RETURN_IF_ERROR(broken_);
  shown_[rank] = what;
  const uint64_t meeting = meetings_;
  if (++arrived_ == shown_.size()) {
    arrived_ = 0;
    ++meetings_;
    changed_.notify_all();
    return {};
  }
  bool over =
      changed_.wait_for(lock, std::chrono::milliseconds(timeoutMs),
                        [&] { return meetings_ != meeting || !broken_.ok(); });
  if (!over && broken_.ok()) {
    broken_ = Status::failed("a replica did not reach a collective within " +
                             std::to_string(timeoutMs / 1000) + " s");
    changed_.notify_all();
  }
  return meetings_ != meeting ? Status() : broken_;
}

void Rendezvous::leave(uint32_t rank) {
  std::lock_guard lock(mutex_);
  if (broken_.ok())
    broken_ = leftGroup(rank);
  changed_.notify_all();
}
