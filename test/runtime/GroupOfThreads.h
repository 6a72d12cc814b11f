//===- GroupOfThreads.h - threads that play replicas ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_RUNTIME_GROUPOFTHREADS_H
#define SINTER_TEST_RUNTIME_GROUPOFTHREADS_H

#include "backends/cpu/device/CpuGroup.h"
#include "runtime/collective/Exchange.h"
#include "runtime/collective/Meeting.h"
#include "runtime/collective/Rendezvous.h"
#include "runtime/collective/SpanningGroup.h"

#include <catch2/catch.hpp>

#include <functional>
#include <thread>
#include <vector>

namespace sinter::test {

/// How many processes, and replicas of each.
struct Layout {
  uint32_t processes, count;
  uint32_t replicas() const { return processes * count; }
};

using Body = std::function<rt::Status(rt::Communicator &)>;

inline rt::Status runReplica(const sinter_rank &rank, const Body &body) {
  auto group = cpu::joinCpuGroup(rank);
  SINTER_RETURN_IF_ERROR(group.status());
  rt::Status status = body(**group);
  return status.ok() ? (*group)->await((*group)->numBegun()) : status;
}

/// Runs `replicas`, threads of this process; returns the first error.
inline rt::Status onReplicas(const sinter_rank &group, uint32_t first,
                             uint32_t count, const Body &body) {
  std::vector<rt::Status> results(count);
  std::vector<std::thread> threads;
  for (uint32_t l = 0; l < count; ++l)
    threads.emplace_back([&, l] {
      sinter_rank rank = group;
      rank.rank = first + l;
      results[l] = runReplica(rank, body);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (rt::Status &status : results)
    SINTER_RETURN_IF_ERROR(status);
  return {};
}

inline uint16_t freePort() {
  rt::Result<rt::Listener> listener = rt::Listener::open("127.0.0.1", 0);
  REQUIRE(listener.ok());
  return listener->port();
}

/// What process `number` exchanges bytes with.
using ExchangeOf = std::function<rt::MakeExchange(uint32_t number)>;

/// How process `number` joins.
using OptionsOf = std::function<rt::Meeting::Options(uint32_t number)>;

/// Plays the processes of a job, if there are several. Returns the first error.
inline rt::Status onProcesses(
    Layout layout, const ExchangeOf &exchangeOf, const Body &body,
    const OptionsOf &optionsOf = [](uint32_t) {
      return rt::Meeting::Options();
    }) {
  sinter_rank whole = {};
  whole.replicas = layout.replicas();
  if (layout.processes == 1) {
    rt::nameLocalGroup(whole.group);
    return onReplicas(whole, 0, layout.count, body);
  }
  const uint16_t port = freePort();
  std::vector<rt::Status> results(layout.processes);
  std::vector<std::thread> threads;
  auto process = [&](uint32_t p) -> rt::Status {
    rt::Ranks ranks;
    ranks.rank = p;
    ranks.world = layout.processes;
    ranks.leaderHost = "127.0.0.1";
    ranks.leaderPort = port;
    auto meeting = rt::Meeting::join(ranks, optionsOf(p));
    SINTER_RETURN_IF_ERROR(meeting.status());
    rt::GroupRequest request{meeting->get(), p * layout.count, layout.count};
    sinter_rank mine = whole;
    SINTER_RETURN_IF_ERROR(
        rt::nameGroupOfThreads(request, exchangeOf(p), mine.group));
    return onReplicas(mine, request.first, request.count, body);
  };
  for (uint32_t p = 0; p < layout.processes; ++p)
    threads.emplace_back([&, p] { results[p] = process(p); });
  for (std::thread &thread : threads)
    thread.join();
  for (rt::Status &status : results)
    SINTER_RETURN_IF_ERROR(status);
  return {};
}

} // namespace sinter::test

#endif // SINTER_TEST_RUNTIME_GROUPOFTHREADS_H
