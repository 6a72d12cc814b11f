//===- MutationTest.cpp - a missing barrier or comparison is found --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/backends/sim/SimKernel.h"

#include <catch2/catch.hpp>

#include <functional>

using namespace sinter;
using namespace sinter::sim;
using namespace sinter::test;

namespace {

const SimOptions mutableBuild = {2, true, true, false, ""};

/// The result of a launch with `drop`; nothing if it fails.
using Run = std::function<std::vector<float>(const EngineOptions &, bool &)>;

/// Sites of a kind, and how many of them are detected with 5 seeds.
struct Score {
  uint32_t numSites = 0, numFound = 0;
};

Score score(SimKernel &kernel, Drop::Kind kind, const Run &run) {
  Engine asker({});
  const sinter_sim_kernel_info *info = asker.describe(kernel.code());
  uint32_t site =
      kind == Drop::Barrier ? SINTER_SIM_BARRIER : SINTER_SIM_PREDICATE;
  Score score;
  for (uint32_t i = 0; i < info->numSites; ++i)
    score.numSites += info->sites[i].kind == site;
  bool failed = false;
  std::vector<float> expected = run({}, failed);
  REQUIRE(!failed);
  for (uint32_t number = 0; number < score.numSites; ++number)
    for (uint64_t seed = 0; seed < 5; ++seed) {
      EngineOptions options;
      options.seed = seed;
      options.drop = {kind, "", number};
      if (run(options, failed) != expected || failed) {
        ++score.numFound;
        break;
      }
    }
  return score;
}

} // namespace

TEST_CASE("every barrier and predicate of a tiled product matters") {
  constexpr size_t n = 64;
  SimKernel kernel("sgemm.ll", "sgemm", mutableBuild);
  REQUIRE(kernel.code());
  std::vector<float> a(n * n), b(n * n);
  for (size_t i = 0; i < n * n; ++i) {
    a[i] = float(i % 13) - 6;
    b[i] = float(i % 7) - 3;
  }
  Run run = [&](const EngineOptions &options, bool &failed) {
    std::vector<float> c(n * n);
    Launch launch =
        kernel.launch({rangeOf(a), rangeOf(b), rangeOf(c)}, 4, 16, 1024);
    launch.grid[1] = 4;
    launch.block[1] = 16;
    Engine engine(options);
    failed = !engine.launch(launch, nullptr).ok();
    return c;
  };
  Score barriers = score(kernel, Drop::Barrier, run);
  CHECK(barriers.numSites == 2);
  CHECK(barriers.numFound == 2);
  Score predicates = score(kernel, Drop::Predicate, run);
  CHECK(predicates.numSites == 2);
  CHECK(predicates.numFound == 2);
}

TEST_CASE("the barrier and predicates of a reduction matter") {
  SimKernel kernel("reduce.ll", "reduce", mutableBuild);
  REQUIRE(kernel.code());
  std::vector<float> x(512);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i % 31) - 10;
  Run run = [&](const EngineOptions &options, bool &failed) {
    std::vector<float> y(2);
    Engine engine(options);
    failed =
        !engine.launch(kernel.launch({rangeOf(x), rangeOf(y)}, 2, 256), nullptr)
             .ok();
    return y;
  };
  Score barriers = score(kernel, Drop::Barrier, run);
  CHECK(barriers.numSites == 1);
  CHECK(barriers.numFound == 1);
  // Lane 0, the first 8 lanes, thread 0; with the one for warp 0 forced, the
  // other warps add zeros and write nothing: an equivalent kernel.
  Score predicates = score(kernel, Drop::Predicate, run);
  CHECK(predicates.numSites == 4);
  CHECK(predicates.numFound == 3);
}

TEST_CASE("the test for the tail of an elementwise kernel matters") {
  SimKernel kernel("elementwise.ll", "elementwise", mutableBuild);
  REQUIRE(kernel.code());
  std::vector<float> x(1000, 3.0f);
  Run run = [&](const EngineOptions &options, bool &failed) {
    std::vector<float> y(1000);
    Engine engine(options);
    failed =
        !engine.launch(kernel.launch({rangeOf(x), rangeOf(y)}, 8, 128), nullptr)
             .ok();
    return y;
  };
  Score predicates = score(kernel, Drop::Predicate, run);
  CHECK(predicates.numSites == 1);
  CHECK(predicates.numFound == 1);
}

TEST_CASE("a drop concerns the kernel that it names") {
  SimKernel kernel("elementwise.ll", "elementwise", mutableBuild);
  REQUIRE(kernel.code());
  std::vector<float> x(1000), y(1000);
  EngineOptions options;
  options.drop = {Drop::Predicate, "another", 0};
  Engine engine(options);
  Launch launch = kernel.launch({rangeOf(x), rangeOf(y)}, 8, 128);
  CHECK(engine.launch(launch, nullptr).ok());
  engine.options().drop.kernel = "elementwise";
  CHECK(!engine.launch(launch, nullptr).ok());
}
