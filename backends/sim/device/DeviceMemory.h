//===- DeviceMemory.h - memory of one simulated device ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each allocation has its own mapping, between zones of a known pattern and
// pages that fault. Freed memory also faults, and its addresses are not reused
// for a long time. Thread-safe.
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
  /// A `limitBytes` of 0 means as much as the host has.
  DeviceMemory(std::string device, uint64_t limitBytes);
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;
  ~DeviceMemory();

  /// Returns zeroed memory, aligned to 256 bytes; null for 0 bytes. Fails with
  /// SINTER_OUT_OF_MEMORY, naming `purpose` and what is left.
  rt::Result<void *> allocate(uint64_t sizeBytes, const char *purpose);
  /// Fails if `address` is not allocated, or if something wrote just outside
  /// of its allocation.
  rt::Status free(void *address);

  /// Makes memory of another object readable by this device.
  void adopt(const void *address, uint64_t sizeBytes);

  uint64_t availableBytes() const;
  uint64_t usedBytes() const;

  /// Checks that the range lies in one live allocation. Reads may also be from
  /// adopted memory. The error is one line that names the range by `what` ("the
  /// source of a copy").
  rt::Status check(const void *address, uint64_t sizeBytes, const char *what,
                   bool isRead = false) const;
  bool contains(const void *address, uint64_t sizeBytes) const;

  /// Fails if something wrote just outside an allocation.
  rt::Status checkZones() const;

  /// All live allocations, as ranges that a launch may use.
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

/// Whether the range is memory of any simulated device of this process.
bool isSimulatedMemory(const void *address, uint64_t sizeBytes);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_DEVICEMEMORY_H
