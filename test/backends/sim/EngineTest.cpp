//===- EngineTest.cpp - kernels compute what they should ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Runs each kernel in every kind of build, under every policy of the schedule.
//
//===----------------------------------------------------------------------===//
#include "test/backends/sim/SimKernel.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace sinter;
using namespace sinter::sim;
using namespace sinter::test;

namespace {

const SimOptions builds[] = {{0, false, false, false, ""},
                             {2, false, false, false, ""},
                             {2, true, false, false, ""},
                             {1, true, true, false, ""}};
constexpr uint64_t numSeeds = 10;

EngineOptions withSeed(uint64_t seed, int threads = 2) {
  EngineOptions options;
  options.seed = seed;
  options.threads = threads;
  return options;
}

std::vector<float> someFloats(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = float(int(i * 7919 % 2003) - 1001) / 64;
  return values;
}

} // namespace

TEST_CASE("an elementwise kernel with a tail") {
  for (const SimOptions &build : builds) {
    SimKernel kernel("elementwise.ll", "elementwise", build);
    INFO(kernel.error());
    REQUIRE(kernel.code());
    for (uint64_t seed = 0; seed < numSeeds; ++seed) {
      std::vector<float> x = someFloats(1000), y(1000, -1.0f);
      Engine engine(withSeed(seed));
      LaunchReport report;
      rt::Status status = engine.launch(
          kernel.launch({rangeOf(x), rangeOf(y)}, 8, 128), &report);
      INFO(status.message());
      REQUIRE(status.ok());
      CHECK(report.threads == 1024);
      CHECK(report.barriers == 0);
      for (size_t i = 0; i < x.size(); ++i)
        REQUIRE(y[i] == 2 * x[i] + 1);
    }
  }
}

TEST_CASE("a reduction by shuffles and a barrier") {
  constexpr size_t numBlocks = 5;
  std::vector<float> x = someFloats(256 * numBlocks);
  std::vector<float> expected(numBlocks);
  for (size_t block = 0; block < numBlocks; ++block) {
    auto tree = [](std::vector<float> values) {
      for (size_t offset = values.size() / 2; offset > 0; offset /= 2)
        for (size_t i = 0; i < offset; ++i)
          values[i] += values[i + offset];
      return values[0];
    };
    std::vector<float> sums(32, 0.0f);
    for (size_t warp = 0; warp < 8; ++warp)
      sums[warp] = tree({x.begin() + long(block * 256 + warp * 32),
                         x.begin() + long(block * 256 + warp * 32 + 32)});
    expected[block] = tree(sums);
  }
  for (const SimOptions &build : builds) {
    SimKernel kernel("reduce.ll", "reduce", build);
    INFO(kernel.error());
    REQUIRE(kernel.code());
    for (uint64_t seed = 0; seed < numSeeds; ++seed) {
      std::vector<float> y(numBlocks);
      Engine engine(withSeed(seed));
      LaunchReport report;
      rt::Status status = engine.launch(
          kernel.launch({rangeOf(x), rangeOf(y)}, numBlocks, 256), &report);
      INFO("seed " << seed << ": " << status.message());
      REQUIRE(status.ok());
      CHECK(y == expected);
      CHECK(report.barriers == numBlocks);
      CHECK(report.shuffles == numBlocks * (8 * 5 + 5));
      CHECK(report.threads == 256 * numBlocks);
    }
  }
}

TEST_CASE("a tiled product with static and dynamic shared memory") {
  constexpr size_t n = 64;
  std::vector<float> a = someFloats(n * n), b = someFloats(n * n);
  std::vector<float> expected(n * n);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) {
      float sum = 0;
      for (size_t k = 0; k < n; ++k)
        sum = std::fma(a[i * n + k], b[k * n + j], sum);
      expected[i * n + j] = sum;
    }
  for (const SimOptions &build : builds) {
    SimKernel kernel("sgemm.ll", "sgemm", build);
    INFO(kernel.error());
    REQUIRE(kernel.code());
    for (uint64_t seed = 0; seed < numSeeds; ++seed) {
      std::vector<float> c(n * n);
      Engine engine(withSeed(seed));
      Launch launch = kernel.launch({rangeOf(a), rangeOf(b), rangeOf(c)}, 4, 16,
                                    /*sharedBytes=*/1024);
      launch.grid[1] = 4;
      launch.block[1] = 16;
      LaunchReport report;
      rt::Status status = engine.launch(launch, &report);
      INFO("seed " << seed << ": " << status.message());
      REQUIRE(status.ok());
      CHECK(c == expected);
      CHECK(report.barriers == 16 * 8);
    }
  }
}

TEST_CASE("launches beyond the limits") {
  SimKernel kernel("elementwise.ll", "elementwise");
  REQUIRE(kernel.code());
  Engine engine(withSeed(0));
  std::vector<float> x(8), y(8);
  auto errorOf = [&](auto change) {
    Launch launch = kernel.launch({rangeOf(x), rangeOf(y)}, 1, 32);
    change(launch);
    rt::Status status = engine.launch(launch, nullptr);
    CHECK(status.code() == SINTER_DEVICE_FAILED);
    return status.message();
  };
  CHECK(errorOf([](Launch &launch) { launch.block[1] = 33; }) ==
        "kernel elementwise: a block of 1056 threads; at most 1024");
  CHECK(errorOf([](Launch &launch) { launch.grid[1] = 65536; }) ==
        "kernel elementwise: grid y is 65536, not 1 to 65535");
  CHECK(errorOf([](Launch &launch) { launch.block[2] = 0; }) ==
        "kernel elementwise: block z is 0, not 1 to 64");
  CHECK(errorOf([](Launch &launch) { launch.sharedBytes = 232449; }) ==
        "kernel elementwise: 232449 bytes of shared memory; at most 232448");
}
