//===- CpuGroup.cpp - replicas that are threads ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Replicas of a process exchange the addresses of their arrays. In an
// all_reduce, each sums its share of every array for all of them; else each
// computes what it alone gets. They wait for each other before, until all
// arrays are written, and after. In a job of several processes, the first
// replica of each also exchanges bytes with the other processes.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/CpuGroup.h"
#include "backends/common/device/ReplicaSum.h"
#include "backends/common/device/SpanningSum.h"
#include "runtime/base/BlockSignals.h"
#include "runtime/base/OutOfMemory.h"
#include "runtime/collective/Rendezvous.h"
#include "runtime/collective/SpanningMemory.h"
#include "runtime/data/ElementType.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

using namespace sinter;
using namespace sinter::rt;

namespace {

/// What a replica contributes to a meeting.
struct Offer {
  const Collective *what;
  void *const *buffers;
};

/// Replicas that meet in this process.
class ThreadGroup : public Communicator {
public:
  ThreadGroup(const sinter_rank &rank, const sinter_rank &local,
              std::shared_ptr<Rendezvous> meeting)
      : Communicator(rank.rank, rank.replicas), local_(local.rank),
        locals_(local.replicas), meeting_(std::move(meeting)) {}
  ~ThreadGroup() override { meeting_->leave(local_); }

  void abort() override { meeting_->leave(local_); }

protected:
  Status meet(const Offer &mine) { return meeting_->meet(local_, &mine); }
  const Offer &offer(uint32_t local) const {
    return *static_cast<const Offer *>(meeting_->shownBy(local));
  }
  /// Whether all have called the same. After a meeting.
  Status checkSame() const {
    const Collective &mine = *offer(local_).what;
    for (uint32_t r = 0; r < locals_; ++r) {
      const Collective &other = *offer(r).what;
      if (other.op != mine.op || other.dtype != mine.dtype ||
          !std::ranges::equal(other.elements, mine.elements))
        return Status::failed("replicas " + std::to_string(rank()) + " and " +
                              std::to_string(rank() - local_ + r) +
                              " called different collectives");
    }
    return {};
  }
  static Status unsummable() {
    return {SINTER_UNSUPPORTED, "a sum of a dtype that cannot be summed"};
  }

  const uint32_t local_, locals_; // among the replicas of this process

private:
  std::shared_ptr<Rendezvous> meeting_;
};

/// All replicas are in this process.
class CpuGroup final : public ThreadGroup {
public:
  CpuGroup(const sinter_rank &rank, std::shared_ptr<Rendezvous> meeting)
      : ThreadGroup(rank, rank, std::move(meeting)), from_(rank.replicas),
        to_(rank.replicas) {}

  Status run(Stream &, const Collective &what, void *const *buffers) override {
    Offer mine{&what, buffers};
    SINTER_RETURN_IF_ERROR(meet(mine));
    Status done = doMyShare(mine);
    // No replica continues, or leaves, while others read.
    SINTER_RETURN_IF_ERROR(meet(mine));
    return done;
  }

private:
  Status doMyShare(const Offer &mine) {
    SINTER_RETURN_IF_ERROR(checkSame());
    for (size_t i = 0; i < mine.what->elements.size(); ++i) {
      bool isSummed = true;
      switch (mine.what->op) {
      case SINTER_ALL_REDUCE:
        isSummed = sumMyShare(*mine.what, i);
        break;
      case SINTER_REDUCE_SCATTER:
        isSummed = sumMyPart(mine, i);
        break;
      default:
        gather(mine, i);
      }
      if (!isSummed)
        return unsummable();
    }
    return {};
  }

  /// Of array `i`, for all replicas.
  bool sumMyShare(const Collective &what, size_t i) {
    for (uint32_t r = 0; r < replicas(); ++r) {
      from_[r] = offer(r).buffers[i];
      to_[r] = offer(r).buffers[what.elements.size() + i];
    }
    // Multiples of 64 bytes, so that no cache line has two writers.
    const uint64_t elements = what.elements[i];
    const uint64_t share = (elements / replicas() + 64) / 64 * 64;
    const uint64_t begin = std::min(elements, share * rank());
    const uint64_t end = std::min(elements, begin + share);
    return plain::sumReplicas(what.dtype, from_, to_, begin, end);
  }

  bool sumMyPart(const Offer &mine, size_t i) {
    const Collective &what = *mine.what;
    const uint64_t part = what.writtenElements(i, replicas());
    for (uint32_t r = 0; r < replicas(); ++r)
      from_[r] = static_cast<const uint8_t *>(offer(r).buffers[i]) +
                 rank() * part * elementBytes(what.dtype);
    part_[0] = mine.buffers[what.elements.size() + i];
    return plain::sumReplicas(what.dtype, from_, part_, 0, part);
  }

  void gather(const Offer &mine, size_t i) {
    const Collective &what = *mine.what;
    const uint64_t bytes =
        what.readElements(i, replicas()) * elementBytes(what.dtype);
    auto *to = static_cast<uint8_t *>(mine.buffers[what.elements.size() + i]);
    for (uint32_t r = 0; bytes && r < replicas(); ++r)
      std::memcpy(to + r * bytes, offer(r).buffers[i], bytes);
  }

  std::vector<const void *> from_; // of one array, by replica
  std::vector<void *> to_;
  std::vector<void *> part_{1}; // that this replica gets
};

/// What the replicas of a process share if there are other processes.
struct SharedSum {
  explicit SharedSum(SpanningGroup group) : sum(std::move(group)) {}
  plain::SpanningSum sum;
  Status status; // of the first replica's exchange
};

/// Works on a thread of its own, while the replica computes what comes before
/// the result is needed: other processes may be late.
class JobGroup final : public ThreadGroup {
public:
  JobGroup(const sinter_rank &rank, const sinter_rank &local,
           std::shared_ptr<Rendezvous> meeting,
           std::shared_ptr<SharedSum> shared)
      : ThreadGroup(rank, local, std::move(meeting)),
        shared_(std::move(shared)), sum_(shared_->sum) {
    BlockSignals blocked;
    thread_ = std::thread([this] { runQueued(); });
  }
  ~JobGroup() override {
    abort();
    {
      std::lock_guard lock(mutex_);
      isLeaving_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void abort() override {
    sum_.group().exchange->abort();
    ThreadGroup::abort();
  }

  Status run(Stream &, const Collective &what, void *const *buffers) override {
    {
      std::lock_guard lock(mutex_);
      SINTER_RETURN_IF_ERROR(failure_);
      queue_[begun_ % queue_.size()] = {what, buffers};
      ++begun_;
    }
    changed_.notify_all();
    // Few messages are ever under way.
    return begun_ - done() < queue_.size() ? Status() : await(begun_);
  }

  /// The first replica has what all of this process share.
  uint64_t scratchBytes(std::span<const Collective> all) const override {
    const SpanningGroup &group = sum_.group();
    uint64_t most = 0;
    for (const Collective &what : all)
      most = std::max(
          most,
          spanningMemory(what, group.processes, group.count).totalBytes());
    return local_ == 0 ? most : 0;
  }
  void useScratch(std::span<uint8_t> memory) override { sum_.use(memory); }

  uint64_t numBegun() const override { return begun_; }
  Status await(uint64_t number) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= number || !failure_.ok(); });
    return failure_;
  }

private:
  struct Queued {
    Collective what;
    void *const *buffers;
  };

  uint64_t done() {
    std::lock_guard lock(mutex_);
    return done_;
  }

  void runQueued() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return done_ < begun_ || isLeaving_; });
      if (isLeaving_)
        return;
      const Queued next = queue_[done_ % queue_.size()];
      lock.unlock();
      Status status =
          orOutOfMemory([&] { return runNow(next.what, next.buffers); });
      lock.lock();
      if (!status.ok()) {
        failure_ = withMessage(status, next.what);
        changed_.notify_all();
        return;
      }
      ++done_;
      changed_.notify_all();
    }
  }

  /// Where another process has left: in which message.
  Status withMessage(const Status &status, const Collective &what) const {
    if (!status.isAboutOthers())
      return status;
    uint64_t elements = 0;
    for (uint64_t each : what.elements)
      elements += each;
    return status.as(
        status.code(),
        status.message() + ", message " + std::to_string(done_ + 1) + " of " +
            std::to_string(elements * elementBytes(what.dtype)) + " bytes");
  }

  Status runNow(const Collective &what, void *const *buffers) {
    const Offer mine{&what, buffers};
    SINTER_RETURN_IF_ERROR(meet(mine));
    SINTER_RETURN_IF_ERROR(checkSame());
    SINTER_RETURN_IF_ERROR(first(mine, [&]() -> Status {
      std::vector<void *const *> all;
      for (uint32_t i = 0; i < locals_; ++i)
        all.push_back(offer(i).buffers);
      sum_.begin(what, std::move(all));
      return {};
    }));
    if (!sum_.stage(local_, locals_))
      return unsummable();
    SINTER_RETURN_IF_ERROR(meet(mine));
    SINTER_RETURN_IF_ERROR(first(mine, [&] { return sum_.exchangeParts(); }));
    if (!sum_.sum(local_, locals_))
      return unsummable();
    SINTER_RETURN_IF_ERROR(meet(mine));
    SINTER_RETURN_IF_ERROR(first(mine, [&] { return sum_.exchangeResults(); }));
    sum_.deliver(local_);
    // The next message begins when all have met again.
    return {};
  }

  /// The first replica calls `function`; the others wait for it.
  template <typename Function>
  Status first(const Offer &mine, Function function) {
    if (local_ == 0)
      shared_->status = function();
    SINTER_RETURN_IF_ERROR(meet(mine));
    return shared_->status;
  }

  std::shared_ptr<SharedSum> shared_;
  plain::SpanningSum &sum_;

  uint64_t begun_ = 0; // of the thread that calls run()
  std::mutex mutex_;   // guards what follows
  std::condition_variable changed_;
  std::array<Queued, 64> queue_ = {}; // a ring; call n is at n % size
  uint64_t done_ = 0;
  Status failure_; // of the first call that failed
  bool isLeaving_ = false;
  std::thread thread_;
};

Result<std::unique_ptr<Communicator>> joinJob(const sinter_rank &rank,
                                              const SpanningGroup &group) {
  const sinter_rank local = group.localRank(rank);
  Result<std::shared_ptr<Rendezvous>> meeting = Rendezvous::join(local);
  if (!meeting.ok())
    return meeting.status();
  // All replicas use what the first one makes.
  std::shared_ptr<SharedSum> shared;
  if (local.rank == 0)
    shared = std::make_shared<SharedSum>(group);
  SINTER_RETURN_IF_ERROR((*meeting)->meet(local.rank, &shared));
  if (local.rank != 0)
    shared = *static_cast<const std::shared_ptr<SharedSum> *>(
        (*meeting)->shownBy(0));
  SINTER_RETURN_IF_ERROR((*meeting)->meet(local.rank, &shared));
  if (local.rank == 0)
    forgetSpanningGroup(rank.group);
  return std::unique_ptr<Communicator>(std::make_unique<JobGroup>(
      rank, local, std::move(*meeting), std::move(shared)));
}

} // namespace

Result<std::unique_ptr<Communicator>>
sinter::cpu::joinCpuGroup(const sinter_rank &rank) {
  if (std::optional<SpanningGroup> group = spanningGroup(rank.group))
    return joinJob(rank, *group);
  Result<std::shared_ptr<Rendezvous>> meeting = Rendezvous::join(rank);
  if (!meeting.ok())
    return meeting.status();
  return std::unique_ptr<Communicator>(
      std::make_unique<CpuGroup>(rank, std::move(*meeting)));
}
