//===- Schedule.h - the order in which threads run --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A GPU guarantees no order of threads except by barriers. So the order is a
// parameter of a test: results must be the same for every seed. Seed 0 runs
// threads and blocks in ascending order.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_DEVICE_SCHEDULE_H
#define SINTER_BACKENDS_SIM_DEVICE_SCHEDULE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sinter::sim {

/// A small generator that gives the same numbers on every machine.
class Random {
public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  /// In [0, bound); bound > 0.
  uint32_t below(uint32_t bound) { return uint32_t(next() >> 33) % bound; }

private:
  uint64_t state_;
};

enum class Policy {
  Forward,  // each thread runs until it waits, lowest first
  Reverse,  // the same, highest first
  Random,   // after each meeting, any thread that can run
  Lockstep, // all threads reach a meeting before one passes the next
  Permuted  // each runs until it waits, in an order that varies
};

class Schedule {
public:
  /// Begins a block of `numThreads` that is number `block` of a launch.
  void begin(uint64_t seed, uint64_t block, uint32_t numThreads);

  /// Thread `thread`, which waited, can continue.
  void add(uint32_t thread) { ready_.push_back(thread); }

  /// The thread that runs next: one that was added, or one that has not run
  /// yet; -1 if there is none.
  int next();

  /// True if the thread that completes a meeting lets the others run first.
  bool stepsAside() const {
    return policy_ == Policy::Lockstep || policy_ == Policy::Random;
  }

  Random &random() { return random_; }
  /// The order in which threads begin.
  uint32_t started(uint32_t position) const {
    return policy_ == Policy::Forward || policy_ == Policy::Lockstep ? position
           : policy_ == Policy::Reverse ? numThreads_ - 1 - position
                                        : order_[position];
  }

private:
  uint32_t takeReady(std::size_t index);

  Policy policy_ = Policy::Forward;
  Random random_{0};
  uint32_t numThreads_ = 0, numStarted_ = 0;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> ready_; // valid from first_ on
  std::size_t first_ = 0;
};

/// The block that runs at `position` in a launch of `numBlocks`.
uint64_t blockAt(uint64_t seed, uint64_t position, uint64_t numBlocks);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_SCHEDULE_H
