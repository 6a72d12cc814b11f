//===- ThreadPoolTest.cpp - the shared workers ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/ThreadPool.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <memory>
#include <sched.h>
#include <set>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace sinter::rt;

namespace {

/// Runs every tile exactly once; two ranges never have one worker index at the
/// same time.
void checkCoverage(ThreadPool &pool, int threads, int64_t tiles,
                   int64_t grain) {
  std::vector<std::atomic<int>> seen(static_cast<size_t>(tiles));
  std::vector<std::atomic<bool>> inUse(static_cast<size_t>(threads));
  std::atomic<int> problems{0};
  pool.parallelFor(
      threads, tiles, grain, [&](int worker, int64_t begin, int64_t end) {
        if (worker < 0 || worker >= threads || inUse[worker].exchange(true) ||
            begin >= end || begin < 0 || end > tiles)
          ++problems;
        else {
          for (int64_t i = begin; i < end; ++i)
            ++seen[i];
          inUse[worker] = false;
        }
      });
  REQUIRE(problems == 0);
  for (auto &count : seen)
    if (count != 1)
      FAIL("a tile ran " << count << " times");
}

cpu_set_t currentCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  return set;
}

cpu_set_t setOf(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return set;
}

void run(const cpu_set_t &set) { sched_setaffinity(0, sizeof(set), &set); }

/// Runs a body on the worker of a pool of two, while the caller has a piece.
template <typename Body> void onWorker(ThreadPool &pool, Body body) {
  std::atomic<bool> done{false};
  pool.parallelFor(2, 2, 1, [&](int worker, int64_t, int64_t) {
    if (worker == 1 && !done) {
      body();
      done = true;
    }
    for (int i = 0; i < 100000 && !done; ++i)
      usleep(50);
  });
  REQUIRE(done);
}

} // namespace

TEST_CASE("thread pool: covers all tiles once", "[pool]") {
  ThreadPool pool;
  for (int threads : {1, 2, 3, 8}) {
    REQUIRE(pool.reserve(threads).ok());
    for (int64_t tiles : {0, 1, 2, 3, 7, 64, 1000, 100000})
      for (int64_t grain : {1, 5, 1000})
        checkCoverage(pool, threads, tiles, grain);
  }
}

TEST_CASE("thread pool: many short calls, with more threads than cores",
          "[pool]") {
  ThreadPool pool;
  REQUIRE(pool.reserve(7).ok());
  std::atomic<int64_t> sum{0};
  for (int i = 0; i < 5000; ++i)
    pool.parallelFor(
        7, 9, 1, [&](int, int64_t begin, int64_t end) { sum += end - begin; });
  REQUIRE(sum == 5000 * 9);
}

TEST_CASE("thread pool: wakes workers that have parked", "[pool]") {
  ThreadPool pool;
  REQUIRE(pool.reserve(3).ok());
  for (int i = 0; i < 20; ++i) {
    usleep(3000);
    checkCoverage(pool, 3, 100, 1);
  }
}

TEST_CASE("thread pool: workers take part", "[pool]") {
  ThreadPool pool;
  REQUIRE(pool.reserve(2).ok());
  std::set<int> workers;
  std::atomic<int> seen{0};
  // Each tile waits until both threads have one: only possible with two
  // threads.
  pool.parallelFor(2, 2, 1, [&](int worker, int64_t, int64_t) {
    seen |= 1 << worker;
    for (int i = 0; i < 100000 && seen != 3; ++i)
      usleep(50);
  });
  REQUIRE(seen == 3);
}

TEST_CASE("thread pool: a worker whose turn is over comes back to the call",
          "[pool]") {
  ThreadPool pool;
  REQUIRE(pool.reserve(2).ok());
  std::vector<int> seen(16);
  std::atomic<int> byWorker{0};
  pool.parallelFor(2, 16, 1, [&](int worker, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      ++seen[static_cast<size_t>(i)];
    // A piece of the worker takes longer than a turn; the caller keeps its
    // first one until the worker has had several.
    if (worker == 1) {
      usleep(3000);
      ++byWorker;
    }
    for (int i = 0; i < 100000 && worker == 0 && byWorker < 4; ++i)
      usleep(50);
  });
  REQUIRE(byWorker >= 4);
  REQUIRE(seen == std::vector<int>(16, 1));
}

TEST_CASE("thread pool: a worker on the caller's CPU", "[pool]") {
  const cpu_set_t all = currentCpus(), caller = setOf(sched_getcpu());
  ThreadPool pool;
  REQUIRE(pool.reserve(2).ok());
  run(caller);
  onWorker(pool, [&] { run(caller); });
  for (int i = 0; i < 100; ++i) {
    checkCoverage(pool, 2, 1000, 1);
    usleep(i % 3 * 100); // sometimes it parks
  }
  // It may have no work while the caller has some, but it does if the caller
  // waits. Its CPUs are those that others chose.
  cpu_set_t found;
  onWorker(pool, [&] { found = currentCpus(); });
  CHECK(CPU_EQUAL(&found, &caller));
  run(all);
}

TEST_CASE("thread pool: nested and concurrent callers do their own work",
          "[pool]") {
  ThreadPool pool;
  REQUIRE(pool.reserve(3).ok());
  std::atomic<int64_t> inner{0};
  std::atomic<int> problems{0};
  pool.parallelFor(3, 30, 1, [&](int worker, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      pool.parallelFor(3, 10, 1, [&](int nested, int64_t first, int64_t last) {
        problems += nested != worker;
        inner += last - first;
      });
  });
  REQUIRE(problems == 0);
  REQUIRE(inner == 300);

  std::atomic<int64_t> total{0};
  auto caller = [&] {
    for (int i = 0; i < 500; ++i)
      pool.parallelFor(3, 20, 1, [&](int, int64_t begin, int64_t end) {
        total += end - begin;
      });
  };
  std::thread other(caller), third(caller);
  caller();
  other.join();
  third.join();
  REQUIRE(total == 3 * 500 * 20);
}

TEST_CASE("thread pool: refuses absurd thread counts", "[pool]") {
  ThreadPool pool;
  for (int threads : {0, -1, ThreadPool::maxThreads + 1, 1 << 30}) {
    Status status = pool.reserve(threads);
    REQUIRE(status.code() == SINTER_INVALID);
    REQUIRE(status.message().find(std::to_string(threads)) !=
            std::string::npos);
  }
  // Without reserve, the caller works alone.
  checkCoverage(pool, 4, 50, 1);
}
