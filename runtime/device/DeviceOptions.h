//===- DeviceOptions.h - what the user may say about a device ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DEVICE_DEVICEOPTIONS_H
#define SINTER_RUNTIME_DEVICE_DEVICEOPTIONS_H

#include <cstdint>
#include <optional>
#include <string>

namespace sinter::rt {

/// Each device reads what concerns it.
struct DeviceOptions {
  int threads = 0; // of the CPU; 0: one per available core

  /// CUDA, sim: no graphs; every command is waited for and checked.
  bool syncLaunches = false;
  /// At most so many bytes of the device's memory; 0: what is there (CUDA: 95 %
  /// of what is free). Of a program that has a GPU the CPU's is not limited.
  uint64_t memoryLimitBytes = 0;

  /// sim: of schedules and delays; which barrier or predicate is left out
  /// ("barrier:3"); where the report goes.
  std::optional<uint64_t> simSeed;
  std::string simDrop, simReport;
  bool isForSim() const {
    return simSeed || !simDrop.empty() || !simReport.empty();
  }
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DEVICE_DEVICEOPTIONS_H
