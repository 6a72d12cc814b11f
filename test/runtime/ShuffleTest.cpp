//===- ShuffleTest.cpp ----------------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Shuffle.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

using namespace sinter::rt;

TEST_CASE("a permutation is a bijection for every size", "[shuffle]") {
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size <= 300; ++size)
    sizes.push_back(size);
  for (int64_t size : {511, 512, 513, 1000, 4095, 4096, 4097, 60000, 65537})
    sizes.push_back(size);
  for (int64_t size : sizes) {
    Permutation permutation(7, 3, size);
    std::vector<bool> seen(size);
    for (int64_t i = 0; i < size; ++i) {
      int64_t image = permutation(i);
      REQUIRE(image >= 0);
      REQUIRE(image < size);
      REQUIRE(!seen[image]);
      seen[image] = true;
    }
  }
}

TEST_CASE("seed and epoch change the order", "[shuffle]") {
  constexpr int64_t size = 60000;
  auto same = [](const Permutation &a, const Permutation &b) {
    int64_t count = 0;
    for (int64_t i = 0; i < size; ++i)
      count += a(i) == b(i);
    return count;
  };
  Permutation base(1, 0, size);
  CHECK(same(base, Permutation(1, 0, size)) == size);
  // Two independent orders agree in about one place.
  CHECK(same(base, Permutation(1, 1, size)) < 12);
  CHECK(same(base, Permutation(2, 0, size)) < 12);
}

TEST_CASE("the order has no visible structure", "[shuffle]") {
  constexpr int64_t size = 60000;
  Permutation permutation(5, 0, size);
  // The mean distance of neighbours is size / 3 in a random order.
  double sum = 0;
  for (int64_t i = 1; i < size; ++i)
    sum += std::abs(double(permutation(i) - permutation(i - 1)));
  CHECK(sum / size == Approx(size / 3.0).epsilon(0.02));
}

TEST_CASE("rows of a step", "[shuffle]") {
  RowOrder order{10, 4, 9, false};
  REQUIRE(order.batchesPerEpoch() == 2);
  std::vector<int64_t> rows(4);
  order.rowsOf(1, rows.data());
  CHECK(rows == std::vector<int64_t>{4, 5, 6, 7});
  order.rowsOf(2, rows.data()); // the next epoch
  CHECK(rows == std::vector<int64_t>{0, 1, 2, 3});
  order.shuffle = true;
  std::vector<bool> seen(10);
  for (int64_t step : {4, 5}) { // epoch 2
    order.rowsOf(step, rows.data());
    for (int64_t row : rows) {
      CHECK(!seen[row]);
      seen[row] = true;
    }
  }
}

TEST_CASE("micro-batches and replicas share out a batch", "[shuffle]") {
  RowOrder whole{40, 12, 9, true}, part = whole;
  part.parts = 2;
  part.microBatches = 3;
  REQUIRE(part.partRows() == 2);
  for (int64_t step : {0, 2, 3}) {
    std::vector<int64_t> expected(12), rows(2), all;
    whole.rowsOf(step, expected.data());
    for (part.part = 0; part.part < 2; ++part.part)
      for (int64_t i = 0; i < 3; ++i) {
        part.rowsOf(step * 3 + i, rows.data());
        all.insert(all.end(), rows.begin(), rows.end());
      }
    CHECK(all == expected);
  }
}
