//===- ArenaTest.cpp - layouts do not overlap and are small ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/Arena.h"

#include <catch2/catch.hpp>
#include <random>

using namespace sinter::passes::plan;

namespace {

/// Counts pairs of buffers that are live at the same time and share bytes, and
/// buffers outside the arena.
size_t countMistakes(const std::vector<Lifetime> &buffers,
                     const ArenaLayout &layout) {
  size_t mistakes = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    int64_t begin = layout.offsets[i], end = begin + buffers[i].bytes;
    mistakes += begin < 0 || end > layout.bytes || begin % 64 != 0;
    for (size_t j = 0; j < i; ++j) {
      bool together = buffers[i].first <= buffers[j].last &&
                      buffers[j].first <= buffers[i].last;
      bool share = layout.offsets[j] < end &&
                   begin < layout.offsets[j] + buffers[j].bytes;
      mistakes += together && share && buffers[i].bytes && buffers[j].bytes;
    }
  }
  return mistakes;
}

} // namespace

TEST_CASE("an arena of nothing is empty") {
  CHECK(maxLiveBytes({}) == 0);
  CHECK(layOutArena({}).bytes == 0);
  std::vector<Lifetime> empty = {{0, 0, 3}, {0, 1, 1}};
  CHECK(layOutArena(empty).bytes == 0);
}

TEST_CASE("buffers that follow each other share bytes") {
  std::vector<Lifetime> buffers = {{128, 0, 1}, {64, 1, 2}, {128, 2, 3}};
  CHECK(maxLiveBytes(buffers) == 192);
  CHECK(layOutArena(buffers).bytes == 192);
}

TEST_CASE("a long-lived buffer does not split the arena") {
  // First fit in time puts the small one between the large ones.
  std::vector<Lifetime> buffers = {
      {640, 0, 1}, {64, 1, 9}, {640, 2, 3}, {1280, 4, 5}};
  CHECK(layOutArena(buffers).bytes == maxLiveBytes(buffers));
}

TEST_CASE("random lifetimes: no overlap, at most a tenth above what is live") {
  std::mt19937 generator(1);
  auto random = [&] { return static_cast<unsigned>(generator()); };
  for (int round = 0; round < 500; ++round) {
    unsigned commands = 1 + random() % 60;
    std::vector<Lifetime> buffers(1 + random() % 60);
    for (Lifetime &buffer : buffers) {
      unsigned first = random() % commands;
      buffer = {
          static_cast<int64_t>(random() % 40) * 64, first,
          std::min(commands - 1, first + random() % (1 + random() % commands))};
    }
    ArenaLayout layout = layOutArena(buffers);
    INFO("round " << round);
    CHECK(countMistakes(buffers, layout) == 0);
    CHECK(layout.bytes * 10 <= maxLiveBytes(buffers) * 11);
  }
}

TEST_CASE("many buffers are laid out without comparing all pairs") {
  std::mt19937 generator(2);
  auto random = [&] { return static_cast<unsigned>(generator()); };
  std::vector<Lifetime> buffers(13000);
  for (unsigned i = 0; i < buffers.size(); ++i)
    buffers[i] = {static_cast<int64_t>(1 + random() % 40) * 64, i,
                  i + 1 + random() % 8};
  ArenaLayout layout = layOutArena(buffers);
  CHECK(countMistakes(buffers, layout) == 0);
  CHECK(layout.bytes < 2 * maxLiveBytes(buffers));
}
