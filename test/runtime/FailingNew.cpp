//===- FailingNew.cpp - allocations that fail in tests --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "FailingNew.h"

#include <cstdlib>
#include <new>
#include <unistd.h>

static thread_local int allocationsLeft = 0; // until one fails; 0: none will
static thread_local bool hasFailed = false;
static const char *failingPath = nullptr;
static bool wasThere = false;

void sinter::test::failAllocation(int count) {
  allocationsLeft = count;
  hasFailed = false;
}

bool sinter::test::takeFailure() {
  allocationsLeft = 0;
  return hasFailed;
}

void sinter::test::failAllocationsAt(const std::string &path) {
  static const std::string kept = path;
  failingPath = kept.c_str();
}

static bool failsNow() {
  if (allocationsLeft > 0 && --allocationsLeft == 0)
    return hasFailed = true;
  if (!failingPath || ::gettid() != ::getpid())
    return false;
  const bool isThere = ::access(failingPath, F_OK) == 0;
  const bool fails = isThere && !wasThere;
  wasThere = isThere;
  return fails;
}

void *operator new(std::size_t size) {
  void *memory = failsNow() ? nullptr : std::malloc(size ? size : 1);
  if (!memory)
    throw std::bad_alloc();
  return memory;
}

void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
