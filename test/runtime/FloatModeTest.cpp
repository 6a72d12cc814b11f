//===- FloatModeTest.cpp - programs do not see the host's float mode ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/FloatMode.h"
#include "runtime/base/ThreadPool.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <cfloat>

using namespace sinter::rt;

#if defined(__x86_64__)

namespace {

/// A host that rounds down and flushes denormals, as -ffast-math does.
class UnusualHost {
public:
  UnusualHost() { _mm_setcsr(unusual); }
  ~UnusualHost() { _mm_setcsr(before_); }

  static constexpr unsigned unusual = 0x1f80 | 0x2000 | 0x8040;

private:
  const unsigned before_ = _mm_getcsr();
};

/// Half of a denormal is one if they are kept; 1/3 depends on the rounding.
bool isStandard() {
  volatile float least = FLT_MIN, third = 3;
  const float half = least / 2, inverse = -1 / third;
  return half > 0 && inverse == -0x1.555556p-2f;
}

} // namespace

TEST_CASE("float mode: set for a scope, and restored", "[float-mode]") {
  REQUIRE(isStandard());
  UnusualHost host;
  REQUIRE(!isStandard());
  {
    FloatMode mode;
    CHECK(isStandard());
    {
      FloatMode again;
      CHECK(isStandard());
    }
    CHECK(isStandard());
  }
  constexpr unsigned flags = 0x3f; // what has occurred
  CHECK((_mm_getcsr() & ~flags) == UnusualHost::unusual);
  CHECK(!isStandard());
}

TEST_CASE("float mode: workers have the standard one", "[float-mode]") {
  UnusualHost host;
  FloatMode mode;
  ThreadPool pool;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 100; ++i)
    pool.parallelFor(3, 64, 1, [&](int, int64_t, int64_t) {
      wrong += isStandard() ? 0 : 1;
    });
  CHECK(wrong == 0);
}

#endif
