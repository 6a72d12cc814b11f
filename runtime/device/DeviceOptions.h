//===- DeviceOptions.h - the user's options for a device --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DEVICE_DEVICEOPTIONS_H
#define SINTER_RUNTIME_DEVICE_DEVICEOPTIONS_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sinter::rt {

/// Each device reads the options that concern it.
struct DeviceOptions {
  int threads = 0; // of the CPU; 0: one per available core

  /// CUDA, sim: no graphs; every command is waited for and checked.
  bool syncLaunches = false;
  /// Limit on the use of the device's memory; 0: all of it (CUDA: 95 % of what
  /// is free). In a program that has a GPU, the CPU's memory is not limited.
  uint64_t memoryLimitBytes = 0;
  /// CPU: the bytes in use, of all devices that share the limit. Null: of this
  /// one.
  std::shared_ptr<std::atomic<uint64_t>> sharedUse;

  /// sim: the seed of schedules and delays; the barrier or predicate to leave
  /// out ("barrier:3"); where the report goes.
  std::optional<uint64_t> simSeed;
  std::string simDrop, simReport;
  bool isForSim() const {
    return simSeed || !simDrop.empty() || !simReport.empty();
  }
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DEVICE_DEVICEOPTIONS_H
