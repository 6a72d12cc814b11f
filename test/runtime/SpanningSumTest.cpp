//===- SpanningSumTest.cpp - sums over replicas of several processes ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// However replicas are distributed over processes, they get the bits that they
// would get in one.
//
//===----------------------------------------------------------------------===//

#include "backends/common/device/SpanningSum.h"
#include "test/runtime/CollectiveArrays.h"
#include "test/runtime/ThreadExchange.h"

#include <catch2/catch.hpp>

#include <numeric>
#include <thread>

using namespace sinter;
using rt::Status;
using test::CollectiveArrays;

namespace {

/// Runs the collective on `processes` with `count` replicas each; returns how
/// many bytes all have sent, or nothing for a dtype that cannot be summed.
std::optional<uint64_t> run(CollectiveArrays &arrays, uint32_t processes,
                            uint32_t count, bool takesPieces = false) {
  test::Wires wires(processes);
  std::vector<Status> results(processes);
  std::vector<int> isSummed(processes, true);
  std::vector<std::thread> threads;
  for (uint32_t p = 0; p < processes; ++p)
    threads.emplace_back([&, p] {
      rt::SpanningGroup group;
      group.exchange =
          std::make_shared<test::ThreadExchange>(wires, p, takesPieces);
      group.first = p * count;
      group.count = count;
      group.process = p;
      group.processes = processes;
      plain::SpanningSum sum(group);
      // Nothing is written behind the memory that is counted.
      constexpr uint8_t untouched = 0xa5;
      const uint64_t size =
          rt::spanningMemory(arrays.what(), processes, count).totalBytes();
      std::vector<uint8_t> memory(size + 64, untouched);
      sum.use({memory.data(), size});
      for (int round = 0; round < 2; ++round) {
        std::vector<void *const *> buffers;
        for (uint32_t l = 0; l < count; ++l)
          buffers.push_back(arrays.buffers(p * count + l));
        sum.begin(arrays.what(), buffers);
        for (uint32_t l = 0; l < count; ++l)
          isSummed[p] &= sum.stage(l, count);
        results[p] = sum.exchangeParts();
        for (uint32_t l = 0; l < count; ++l)
          isSummed[p] &= sum.sum(l, count);
        if (Status status = sum.exchangeResults(); !status.ok())
          results[p] = status;
        for (uint32_t l = 0; l < count; ++l)
          sum.deliver(l);
      }
      if (std::any_of(memory.begin() + static_cast<ptrdiff_t>(size),
                      memory.end(),
                      [](uint8_t byte) { return byte != untouched; }))
        results[p] = Status::failed("writes behind its memory");
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Status &status : results)
    REQUIRE(status.ok());
  if (std::ranges::count(isSummed, true) != processes)
    return std::nullopt;
  return std::accumulate(wires.sentBytes.begin(), wires.sentBytes.end(),
                         uint64_t(0)) /
         2;
}

} // namespace

TEST_CASE("spanning sum: the bits of one process", "[spanning-sum]") {
  const uint32_t layouts[][2] = {{2, 1}, {4, 1}, {2, 2}, {3, 1},
                                 {2, 3}, {1, 4}, {5, 2}, {8, 1}};
  for (uint32_t op : test::collectiveOps)
    for (uint32_t dtype :
         {SINTER_F32, SINTER_F16, SINTER_BF16, SINTER_I64, SINTER_I32})
      for (auto [processes, count] : layouts) {
        CAPTURE(op, dtype, processes, count);
        const std::vector<uint64_t> lists[] = {
            {1},
            {0, 1000, 0, 7},
            {63, 64, 65, 1, uint64_t(op == SINTER_ALL_REDUCE ? 20000 : 2000)}};
        for (const std::vector<uint64_t> &elements : lists) {
          for (bool takesPieces : {false, true}) {
            CollectiveArrays arrays(op, dtype, processes * count, elements);
            REQUIRE(run(arrays, processes, count, takesPieces));
            REQUIRE(arrays.areDone());
          }
        }
      }
}

TEST_CASE("spanning sum: what cannot be summed can be gathered",
          "[spanning-sum]") {
  for (uint32_t dtype : {SINTER_BOOL, SINTER_U16})
    for (uint32_t count : {1u, 2u, 3u}) {
      CAPTURE(dtype, count);
      for (bool takesPieces : {false, true}) {
        CollectiveArrays gathered(SINTER_ALL_GATHER, dtype, 2 * count, {5, 70});
        REQUIRE(run(gathered, 2, count, takesPieces));
        CHECK(gathered.areDone());
        for (uint32_t op : {SINTER_ALL_REDUCE, SINTER_REDUCE_SCATTER}) {
          CollectiveArrays summed(op, dtype, 2 * count, {5, 70});
          CHECK(!run(summed, 2, count, takesPieces));
        }
      }
    }
}

TEST_CASE("spanning sum: as many bytes as a ring would move",
          "[spanning-sum]") {
  const uint32_t layouts[][2] = {{4, 1}, {2, 2}, {3, 4}};
  for (auto [processes, count] : layouts) {
    CAPTURE(processes, count);
    const uint32_t replicas = processes * count;
    const uint64_t round = (processes - 1) * replicas * 107 * sizeof(float);
    CollectiveArrays all(SINTER_ALL_REDUCE, SINTER_F32, replicas,
                         {100 * replicas, 7 * replicas}),
        scattered(SINTER_REDUCE_SCATTER, SINTER_F32, replicas, {100, 7}),
        gathered(SINTER_ALL_GATHER, SINTER_F32, replicas, {100, 7});
    for (bool takesPieces : {false, true}) {
      CHECK(run(all, processes, count, takesPieces) == 2 * round);
      CHECK(run(scattered, processes, count, takesPieces) == round);
      CHECK(run(gathered, processes, count, takesPieces) == round);
    }
  }
}

TEST_CASE("spanning sum: what its buffers take", "[spanning-sum]") {
  const uint64_t elements[] = {64000, 64000};
  auto bytesOf = [&](uint32_t op, uint32_t dtype, uint32_t processes,
                     uint32_t count) {
    return rt::spanningMemory({op, dtype, elements}, processes, count)
        .totalBytes();
  };
  const uint64_t all = 2 * 64000 * sizeof(float), line = 64 * sizeof(float);
  // What is sent, and what the others send of this process's share.
  CHECK(bytesOf(SINTER_ALL_REDUCE, SINTER_F32, 2, 1) == all + all / 2 + line);
  CHECK(bytesOf(SINTER_REDUCE_SCATTER, SINTER_F32, 2, 1) == all + all / 2);
  CHECK(bytesOf(SINTER_REDUCE_SCATTER, SINTER_F32, 8, 2) == all + all / 8 * 7);
  CHECK(bytesOf(SINTER_ALL_GATHER, SINTER_F32, 8, 1) == all);
  CHECK(bytesOf(SINTER_ALL_GATHER, SINTER_BF16, 8, 4) == all / 2);
  // Of each replica.
  CHECK(bytesOf(SINTER_REDUCE_SCATTER, SINTER_F32, 2, 3) ==
        3 * (all + all / 2));
  CHECK(bytesOf(SINTER_REDUCE_SCATTER, SINTER_BF16, 2, 2) == all + all / 2);
}
