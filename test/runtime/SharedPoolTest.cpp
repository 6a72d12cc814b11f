//===- SharedPoolTest.cpp - copies of the runtime share one pool ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/ThreadPool.h"

#include <catch2/catch.hpp>

#include <dlfcn.h>
#include <string>

using sinter::rt::ThreadPool;

static void *poolOf(const std::string &library, bool close) {
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  INFO((handle ? "" : dlerror()));
  REQUIRE(handle);
  auto *function =
      reinterpret_cast<void *(*)(int64_t *)>(dlsym(handle, "poolUserPool"));
  REQUIRE(function);
  int64_t sum = 0;
  void *pool = function(&sum);
  REQUIRE(pool);
  REQUIRE(sum == 499500);
  // Nothing of the runtime is exported.
  REQUIRE(dlsym(handle, "sinterPoolSlot") == nullptr);
  if (close)
    dlclose(handle);
  return pool;
}

TEST_CASE("thread pool: one for all copies of the runtime", "[pool]") {
  std::string folder = SINTER_POOL_USER_DIR;
  void *first = poolOf(folder + "/sinter-pool-user-1.so", /*close=*/true);
  void *second = poolOf(folder + "/sinter-pool-user-2.so", /*close=*/false);
  REQUIRE(first == &ThreadPool::shared());
  REQUIRE(second == first);
  int64_t total = 0;
  ThreadPool::shared().parallelFor(
      1, 10, 1, [&](int, int64_t begin, int64_t end) { total += end - begin; });
  REQUIRE(total == 10);
}
