//===- Schedule.cpp - the order in which threads run ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/Schedule.h"

#include <numeric>
#include <utility>

namespace sinter::sim {

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators).
uint64_t Random::next() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

static Policy policyOf(uint64_t seed) {
  constexpr Policy policies[] = {Policy::Forward, Policy::Reverse,
                                 Policy::Random, Policy::Lockstep,
                                 Policy::Permuted};
  return policies[seed % 5];
}

void Schedule::begin(uint64_t seed, uint64_t block, uint32_t numThreads) {
  policy_ = policyOf(seed);
  random_ = Random(seed * 0x100000001b3ull + block);
  numThreads_ = numThreads;
  numStarted_ = 0;
  ready_.clear();
  first_ = 0;
  if (policy_ != Policy::Random && policy_ != Policy::Permuted)
    return;
  order_.resize(numThreads);
  std::iota(order_.begin(), order_.end(), 0u);
  for (uint32_t i = numThreads; i > 1; --i)
    std::swap(order_[i - 1], order_[random_.below(i)]);
}

uint32_t Schedule::takeReady(std::size_t index) {
  std::swap(ready_[index], ready_.back());
  uint32_t thread = ready_.back();
  ready_.pop_back();
  return thread;
}

int Schedule::next() {
  std::size_t numReady = ready_.size() - first_;
  uint32_t numLeft = numThreads_ - numStarted_;
  if (numReady + numLeft == 0)
    return -1;
  switch (policy_) {
  case Policy::Random: {
    uint32_t pick = random_.below(uint32_t(numReady) + numLeft);
    if (pick < numReady)
      return int(takeReady(first_ + pick));
    return int(started(numStarted_++));
  }
  case Policy::Reverse:
  case Policy::Permuted:
    if (numReady)
      return int(takeReady(ready_.size() - 1));
    return int(started(numStarted_++));
  case Policy::Lockstep:
    if (numLeft)
      return int(started(numStarted_++));
    break;
  case Policy::Forward:
    if (!numReady)
      return int(started(numStarted_++));
    break;
  }
  uint32_t thread = ready_[first_++];
  if (first_ == ready_.size()) {
    ready_.clear();
    first_ = 0;
  }
  return int(thread);
}

uint64_t blockAt(uint64_t seed, uint64_t position, uint64_t numBlocks) {
  if (seed == 0)
    return position;
  if (policyOf(seed) == Policy::Reverse)
    return numBlocks - 1 - position;
  // position * step + shift with a step that is coprime to the number.
  Random random(seed);
  uint64_t step = random.next() % numBlocks, shift = random.next() % numBlocks;
  while (std::gcd(step, numBlocks) != 1)
    ++step;
  return uint64_t((static_cast<unsigned __int128>(position) * step + shift) %
                  numBlocks);
}

} // namespace sinter::sim
