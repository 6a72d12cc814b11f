//===- PackedStoreTest.cpp - packed weights are shared and released -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/PackedStore.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <fstream>
#include <unistd.h>
#include <vector>

using namespace sinter::cpu;

namespace {

constexpr uint64_t large = 64 << 20, small = 64 << 10;

/// The resident memory of this process.
uint64_t residentBytes() {
  uint64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

PackedBytes make(PackedStore &store, uint64_t size, int value) {
  return store.make(size, [&](uint8_t *to) { std::memset(to, value, size); });
}

} // namespace

TEST_CASE("packed store: equal bytes are one part", "[packed]") {
  PackedStore first, second;
  const PackedBytes a = make(first, small, 1), b = make(second, small, 1),
                    c = make(second, small, 2);
  CHECK(a == b);
  CHECK(a != c);
}

TEST_CASE("packed store: memory goes back with the last user", "[packed]") {
  const uint64_t before = residentBytes();
  {
    PackedStore store, other;
    PackedBytes part = make(store, large, 3), same = make(other, large, 3);
    std::vector<PackedBytes> parts;
    for (int i = 4; i < 4 + 256; ++i)
      parts.push_back(make(store, small, i));
    CHECK(residentBytes() >= before + large);
    part.reset();
    CHECK(residentBytes() >= before + large);
    CHECK(same.get()[large - 1] == 3);
  }
  CHECK(residentBytes() < before + large / 4);
  // The same bytes again.
  PackedStore store;
  CHECK(make(store, large, 3).get()[large - 1] == 3);
}
