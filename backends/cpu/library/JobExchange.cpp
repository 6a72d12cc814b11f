//===- JobExchange.cpp - processes on one or more hosts -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/library/JobExchange.h"

#include "backends/cpu/library/GlooExchange.h"
#include "runtime/collective/HostExchange.h"
#include "runtime/collective/Meeting.h"

#include <vector>

using namespace sinter;
using namespace sinter::rt;

namespace {

class JobExchange final : public Exchange {
public:
  JobExchange(std::unique_ptr<HostExchange> host,
              std::unique_ptr<cpu::GlooExchange> others)
      : host_(std::move(host)), others_(std::move(others)) {}

  Status exchange(std::span<const Pieces> from,
                  std::span<const Pieces> to) override {
    const auto farFrom = withoutHost(from);
    const auto farTo = withoutHost(to);
    return others_->exchange(farFrom, farTo,
                             [&] { return host_->exchange(from, to); });
  }

  bool takesPieces() const override { return false; }
  std::string transport() const override {
    return (host_->numReached() ? host_->transport() + " and " : "") + "TCP";
  }

  void abort() override {
    host_->abort();
    others_->abort();
  }

private:
  /// Without the pieces of processes on this host.
  std::vector<Pieces> withoutHost(std::span<const Pieces> all) const {
    std::vector<Pieces> far(all.begin(), all.end());
    for (uint32_t rank = 0; rank < far.size(); ++rank)
      if (host_->reaches(rank))
        far[rank] = {};
    return far;
  }

  std::unique_ptr<HostExchange> host_;
  std::unique_ptr<cpu::GlooExchange> others_;
};

} // namespace

Result<std::unique_ptr<Exchange>>
sinter::cpu::makeJobExchange(Meeting &meeting) {
  auto host = HostExchange::join(meeting);
  if (!host.ok())
    return host.status();
  // All processes find the same: each host has all of them, or none has.
  if ((*host)->numReached() + 1 == meeting.world())
    return std::unique_ptr<Exchange>(std::move(*host));
  auto others = joinGloo(meeting);
  if (!others.ok())
    return others.status();
  return std::unique_ptr<Exchange>(
      std::make_unique<JobExchange>(std::move(*host), std::move(*others)));
}
