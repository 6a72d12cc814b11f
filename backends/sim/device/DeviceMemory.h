//===- DeviceMemory.h - memory of one simulated device ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Allocations lie in mappings of their own, between zones of a known pattern
// and pages that fault. Freed memory faults as well, and its addresses are not
// given again for long. Thread-safe.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_DEVICE_DEVICEMEMORY_H
#define SINTER_BACKENDS_SIM_DEVICE_DEVICEMEMORY_H

#include "backends/sim/device/Engine.h"
#include "backends/sim/device/Poison.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace sinter::sim {

class DeviceMemory {
public:
  /// `limitBytes` 0: what the host has.
  DeviceMemory(std::string device, uint64_t limitBytes);
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;
  ~DeviceMemory();

  /// Zeroed, a multiple of 256; null for 0 bytes. Fails with
  /// SINTER_OUT_OF_MEMORY, naming `purpose` and what is left.
  rt::Result<void *> allocate(uint64_t sizeBytes, const char *purpose);
  /// Fails when there is no such allocation (any more), or when something was
  /// written around it.
  rt::Status free(void *address);

  /// Memory of another object for this device: it may be read.
  void adopt(const void *address, uint64_t sizeBytes);

  uint64_t availableBytes() const;
  uint64_t usedBytes() const;

  /// Checks that the range lies in one live allocation. Reads may also be from
  /// adopted memory. The error is one line that begins with `what` ("the source
  /// of a copy").
  rt::Status check(const void *address, uint64_t sizeBytes, const char *what,
                   bool isRead = false) const;
  bool contains(const void *address, uint64_t sizeBytes) const;

  /// Fails when something was written around an allocation.
  rt::Status checkZones() const;

  /// All live allocations, as a launch may use them.
  std::vector<MemoryRange> ranges() const;

private:
  struct Block {
    uint8_t *mapping = nullptr;
    uint64_t mappedBytes = 0, sizeBytes = 0;
    std::string purpose;
  };
  const Block *find(const void *address, uint64_t sizeBytes) const;
  std::string damageOf(uint8_t *address, const Block &block) const;

  std::string device_;
  uint64_t limitBytes_, usedBytes_ = 0;
  mutable std::mutex mutex_;
  std::map<uint8_t *, Block> live_; // by address
  std::vector<MemoryRange> adopted_;
  std::deque<Block> freed_;
};

/// Whether it is memory of some simulated device of this process.
bool isSimulatedMemory(const void *address, uint64_t sizeBytes);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_DEVICEMEMORY_H
