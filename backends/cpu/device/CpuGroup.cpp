//===- CpuGroup.cpp - replicas that are threads of one process ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Replicas exchange the addresses of their arrays, and each sums its share of
// every array for all of them. They wait for each other before, until all
// arrays are written, and after.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/CpuGroup.h"
#include "backends/common/device/ReplicaSum.h"
#include "runtime/collective/Rendezvous.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::rt;

namespace {

/// What a replica contributes to a meeting.
struct Offer {
  const Reduction *reduction;
  void *const *buffers;
};

class CpuGroup final : public Communicator {
public:
  CpuGroup(const sinter_rank &rank, std::shared_ptr<Rendezvous> meeting)
      : Communicator(rank.rank, rank.replicas), meeting_(std::move(meeting)),
        from_(rank.replicas), to_(rank.replicas) {}
  ~CpuGroup() override { meeting_->leave(rank()); }

  void abort() override { meeting_->leave(rank()); }

  Status allReduce(Stream &, const Reduction &reduction,
                   void *const *buffers) override {
    Offer mine{&reduction, buffers};
    SINTER_RETURN_IF_ERROR(meeting_->meet(rank(), &mine));
    Status summed = sumMyShare();
    // No replica continues, or leaves, while others read.
    SINTER_RETURN_IF_ERROR(meeting_->meet(rank(), &mine));
    return summed;
  }

private:
  const Offer &offer(uint32_t rank) const {
    return *static_cast<const Offer *>(meeting_->shownBy(rank));
  }

  Status sumMyShare() {
    const Reduction &mine = *offer(rank()).reduction;
    const size_t count = mine.elements.size();
    for (uint32_t r = 0; r < replicas(); ++r) {
      const Reduction &other = *offer(r).reduction;
      if (other.dtype != mine.dtype ||
          !std::ranges::equal(other.elements, mine.elements))
        return Status::failed("replicas " + std::to_string(rank()) + " and " +
                              std::to_string(r) +
                              " called different all_reduces");
    }
    for (size_t i = 0; i < count; ++i) {
      for (uint32_t r = 0; r < replicas(); ++r) {
        from_[r] = offer(r).buffers[i];
        to_[r] = offer(r).buffers[count + i];
      }
      // Multiples of 64 bytes, so that no cache line has two writers.
      const uint64_t elements = mine.elements[i];
      const uint64_t share = (elements / replicas() + 64) / 64 * 64;
      const uint64_t begin = std::min(elements, share * rank());
      const uint64_t end = std::min(elements, begin + share);
      if (!plain::sumReplicas(mine.dtype, from_, to_, begin, end))
        return Status(SINTER_UNSUPPORTED,
                      "an all_reduce of a dtype that cannot be summed");
    }
    return {};
  }

  std::shared_ptr<Rendezvous> meeting_;
  std::vector<const void *> from_; // of one array, by replica
  std::vector<void *> to_;
};

} // namespace

Result<std::unique_ptr<Communicator>>
sinter::cpu::joinCpuGroup(const sinter_rank &rank) {
  Result<std::shared_ptr<Rendezvous>> meeting = Rendezvous::join(rank);
  if (!meeting.ok())
    return meeting.status();
  return std::unique_ptr<Communicator>(
      std::make_unique<CpuGroup>(rank, std::move(*meeting)));
}
