//===- PoolUser.cpp - a library with its own copy of the runtime ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Built twice as a shared library that exports one function, as an inference
// library does; SharedPoolTest loads both.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/ThreadPool.h"

/// The pool that this copy of the runtime uses, after a call on it.
extern "C" __attribute__((visibility("default"))) void *
poolUserPool(int64_t *sum) {
  using sinter::rt::ThreadPool;
  ThreadPool &pool = ThreadPool::shared();
  if (!pool.reserve(3).ok())
    return nullptr;
  std::atomic<int64_t> total{0};
  pool.parallelFor(3, 1000, 1, [&](int, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      total += i;
  });
  *sum = total;
  return &pool;
}
