//===- PersistentTest.cpp - kernels whose blocks wait for each other ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/backends/sim/SimKernel.h"

#include <catch2/catch.hpp>

#include <set>

using namespace sinter;
using namespace sinter::sim;
using namespace sinter::test;

namespace {

constexpr SimOptions builds[] = {{0, false, false, false, ""},
                                 {2, false, false, false, ""},
                                 {2, true, false, false, ""},
                                 {1, true, true, false, ""}};
constexpr uint32_t kThreads = 32, kRounds = 5, kMostBlocks = 8;

/// A launch of a kernel of persistent.ll with a grid of `grid` blocks.
struct Rounds {
  std::vector<uint32_t> x, y;
  std::string error;
  LaunchReport report;

  Rounds(const std::string &name, const SimOptions &build, uint64_t seed,
         uint32_t grid = kMostBlocks)
      : x(1), y(2 * kThreads * kMostBlocks) {
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = static_cast<uint32_t>(1000 * i);
    SimKernel kernel("persistent.ll", name, build);
    INFO(kernel.error());
    REQUIRE(kernel.code());
    EngineOptions options;
    options.seed = seed;
    options.threads = 2;
    Engine engine(options);
    Launch launch = kernel.launch({rangeOf(x), rangeOf(y)}, grid, kThreads);
    launch.isPersistent = true;
    error = engine.launch(launch, &report).message();
    CHECK(error.find('\n') == std::string::npos);
  }

  /// The number of blocks that ran.
  uint32_t blocks() const { return x[0] / kRounds; }

  bool isRight() const {
    for (uint32_t block = 0; block < blocks(); ++block)
      for (uint32_t thread = 0; thread < kThreads; ++thread) {
        uint32_t first = (block + kRounds) % blocks() * kThreads + thread;
        uint32_t last = (blocks() + block) * kThreads + thread;
        if (y[last] != 1000 * first + kRounds)
          return false;
      }
    return true;
  }
};

} // namespace

TEST_CASE("blocks that wait for each other see what the others wrote") {
  std::set<uint32_t> blocks;
  for (const SimOptions &build : builds)
    for (uint64_t seed = 0; seed < 20; ++seed) {
      CAPTURE(seed);
      Rounds rounds("persistent", build, seed);
      CHECK(rounds.error == "");
      CHECK(rounds.isRight());
      CHECK(rounds.report.threads == rounds.blocks() * kThreads);
      CHECK(rounds.report.grid[0] == kMostBlocks);
      blocks.insert(rounds.blocks());
    }
  CHECK(blocks == std::set<uint32_t>{2, 3, 4, 5, 6});
  // Never more than are useful.
  CHECK(Rounds("persistent", builds[1], 0, 1).blocks() == 1);
}

TEST_CASE("a fence or a wait that a persistent kernel lacks is found") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    for (const char *name : {"no_fence", "no_wait"})
      CHECK(Rounds(name, builds[2], seed)
                .error.find("with nothing that orders the two") !=
            std::string::npos);
  }
  // Without the check of accesses, most orders give another result.
  int wrong = 0;
  for (uint64_t seed = 0; seed < 20; ++seed)
    wrong += !Rounds("no_wait", builds[1], seed).isRight();
  CHECK(wrong > 10);
}

TEST_CASE("a persistent kernel that waits for too many blocks ends") {
  Rounds rounds("endless", builds[1], 0);
  CHECK(rounds.error.find("kernel endless, block (") == 0);
  CHECK(rounds.error.find("waits for memory that no other thread of its kernel "
                          "writes") != std::string::npos);
}
