//===- OutOfMemory.h - failed allocations as a Status -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_OUTOFMEMORY_H
#define SINTER_RUNTIME_BASE_OUTOFMEMORY_H

#include "runtime/base/Status.h"

#include <new>

namespace sinter::rt {

/// What `action` returns, or SINTER_OUT_OF_MEMORY if an allocation in it fails.
template <typename Action> Status orOutOfMemory(Action action) {
  try {
    return action();
  } catch (const std::bad_alloc &) {
    return {SINTER_OUT_OF_MEMORY, "out of memory"}; // needs no allocation
  }
}

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_OUTOFMEMORY_H
