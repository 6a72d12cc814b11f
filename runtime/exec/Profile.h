//===- Profile.h - where the time of a run goes -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_EXEC_PROFILE_H
#define SINTER_RUNTIME_EXEC_PROFILE_H

#include "sinter/abi.h"

#include <cstdint>

namespace sinter::rt {

/// Receives the time of every command while it is installed on a program.
/// Called between commands on the thread that runs the program.
class ProfileSink {
public:
  virtual ~ProfileSink() = default;
  /// Command `index` of `entry` began at `beginNs` (CLOCK_MONOTONIC) and took
  /// `durationNs`.
  virtual void record(const sinter_entry &entry, uint32_t index,
                      uint64_t beginNs, uint64_t durationNs) = 0;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_EXEC_PROFILE_H
