//===- SpanningSumTest.cpp - sums over replicas of several processes ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// However replicas are distributed over processes, they get the bits that they
// would get in one.
//
//===----------------------------------------------------------------------===//

#include "backends/common/device/SpanningSum.h"

#include <catch2/catch.hpp>

#include <barrier>
#include <cmath>
#include <random>
#include <thread>

using namespace sinter;
using rt::Status;

namespace {

/// Threads that play processes.
struct Wires {
  explicit Wires(uint32_t processes) : sent(processes), barrier(processes) {}
  std::vector<std::span<const std::span<const uint8_t>>> sent; // by process
  std::barrier<> barrier;
};

class ThreadExchange final : public rt::Exchange {
public:
  ThreadExchange(Wires &wires, uint32_t process)
      : wires_(wires), process_(process) {}
  Status exchange(std::span<const std::span<const uint8_t>> from,
                  std::span<const std::span<uint8_t>> to) override {
    wires_.sent[process_] = from;
    wires_.barrier.arrive_and_wait();
    Status status;
    for (uint32_t p = 0; p < to.size(); ++p) {
      if (p == process_)
        continue;
      const std::span<const uint8_t> other = wires_.sent[p][process_];
      if (other.size() != to[p].size())
        status = Status::failed("lengths differ");
      else
        std::copy(other.begin(), other.end(), to[p].begin());
    }
    wires_.barrier.arrive_and_wait();
    return status;
  }
  void abort() override {}

private:
  Wires &wires_;
  uint32_t process_;
};

template <typename T> uint32_t dtypeOf();
template <> uint32_t dtypeOf<float>() { return SINTER_F32; }
template <> uint32_t dtypeOf<int32_t>() { return SINTER_I32; }
template <> uint32_t dtypeOf<rt::Bfloat>() { return SINTER_BF16; }

template <typename T>
void compare(uint32_t processes, uint32_t count,
             const std::vector<uint64_t> &elements) {
  const uint32_t replicas = processes * count;
  std::mt19937 random(processes * 100 + count);
  std::normal_distribution<float> normal(0, 100);
  // By replica, then array.
  std::vector<std::vector<std::vector<T>>> from(replicas);
  for (auto &arrays : from)
    for (uint64_t n : elements) {
      auto &array = arrays.emplace_back(n);
      for (T &value : array)
        if constexpr (std::is_same_v<T, int32_t>)
          value = static_cast<int32_t>(random());
        else
          rt::fromFloat(std::ldexp(normal(random), int(random() % 20)), value);
    }
  auto to = from, expected = from;
  for (size_t i = 0; i < elements.size(); ++i) {
    std::vector<const void *> sources;
    std::vector<void *> targets;
    for (uint32_t r = 0; r < replicas; ++r) {
      sources.push_back(from[r][i].data());
      targets.push_back(expected[r][i].data());
    }
    REQUIRE(plain::sumReplicas(dtypeOf<T>(), sources, targets, 0, elements[i]));
  }
  Wires wires(processes);
  std::vector<Status> results(processes);
  std::vector<std::thread> threads;
  for (uint32_t p = 0; p < processes; ++p)
    threads.emplace_back([&, p] {
      rt::SpanningGroup group;
      group.exchange = std::make_shared<ThreadExchange>(wires, p);
      group.first = p * count;
      group.count = count;
      group.process = p;
      group.processes = processes;
      plain::SpanningSum sum(group);
      std::vector<std::vector<void *>> addresses(count);
      std::vector<void *const *> buffers;
      for (uint32_t l = 0; l < count; ++l) {
        for (auto &array : from[p * count + l])
          addresses[l].push_back(array.data());
        for (auto &array : to[p * count + l])
          addresses[l].push_back(array.data());
        buffers.push_back(addresses[l].data());
      }
      sum.begin({dtypeOf<T>(), elements}, buffers);
      bool isSummed = true;
      for (uint32_t l = 0; l < count; ++l)
        isSummed &= sum.stage(l, count);
      results[p] = sum.exchangeParts();
      for (uint32_t l = 0; l < count; ++l)
        isSummed &= sum.sum(l, count);
      if (Status status = sum.exchangeSums(); !status.ok())
        results[p] = status;
      for (uint32_t l = 0; l < count; ++l)
        sum.deliver(l);
      if (!isSummed)
        results[p] = Status::failed("not summed");
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Status &status : results)
    REQUIRE(status.ok());
  for (uint32_t r = 0; r < replicas; ++r)
    for (size_t i = 0; i < elements.size(); ++i)
      REQUIRE(std::memcmp(to[r][i].data(), expected[r][i].data(),
                          elements[i] * sizeof(T)) == 0);
}

} // namespace

TEMPLATE_TEST_CASE("spanning sum: the bits of one process", "[spanning-sum]",
                   float, int32_t, rt::Bfloat) {
  const uint32_t layouts[][2] = {{2, 1}, {4, 1}, {2, 2}, {3, 1},
                                 {2, 3}, {1, 4}, {5, 2}, {8, 1}};
  for (auto [processes, count] : layouts) {
    CAPTURE(processes, count);
    compare<TestType>(processes, count, {1});
    compare<TestType>(processes, count, {0, 1000, 0, 7});
    compare<TestType>(processes, count, {63, 64, 65, 1, 20000});
  }
}
