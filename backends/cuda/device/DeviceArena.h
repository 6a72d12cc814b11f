//===- DeviceArena.h - a program's memory on a GPU --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Allocates large blocks from the driver and divides them by first fit. One
// limit applies to all memory of a program, including the scratch of libraries.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_DEVICE_DEVICEARENA_H
#define SINTER_BACKENDS_CUDA_DEVICE_DEVICEARENA_H

#include "backends/cuda/device/Driver.h"

#include <map>
#include <unordered_map>
#include <vector>

namespace sinter::cuda {

class DeviceArena {
public:
  static constexpr uint64_t alignmentBytes = 256;

  /// A `limitBytes` of 0 means 95 % of `freeBytes`, the device's free memory
  /// before. `device` is its name, for errors. The context must be current for
  /// all calls.
  DeviceArena(const DriverTable &driver, std::string device,
              uint64_t limitBytes, uint64_t freeBytes);
  DeviceArena(const DeviceArena &) = delete;
  DeviceArena &operator=(const DeviceArena &) = delete;

  /// Returns memory with arbitrary contents. The message of
  /// SINTER_OUT_OF_MEMORY names `purpose`, the size and what is left.
  rt::Result<DeviceAddress> allocate(uint64_t sizeBytes, const char *purpose);
  /// The same in a block of exactly this size, so that memory checkers know
  /// where it ends.
  rt::Result<DeviceAddress> allocateApart(uint64_t sizeBytes,
                                          const char *purpose);
  /// Ignores addresses that were not allocated.
  void free(DeviceAddress address);
  /// Frees everything. Call it at the end, when no memory is in use.
  void release();

  uint64_t limitBytes() const { return limitBytes_; }
  /// The bytes allocated by users, to which the limit applies, and the bytes
  /// that those take from the device (blocks are multiples of 2 MiB).
  uint64_t usedBytes() const { return usedBytes_; }
  uint64_t heldBytes() const { return heldBytes_; }
  uint64_t availableBytes() const { return limitBytes_ - usedBytes_; }

private:
  rt::Status tooMuch(uint64_t sizeBytes, const char *purpose,
                     const std::string &left) const;
  rt::Status checkLimit(uint64_t sizeBytes, const char *purpose) const;
  rt::Result<DeviceAddress> newBlock(uint64_t blockBytes, uint64_t sizeBytes,
                                     const char *purpose);
  void addFree(DeviceAddress begin, uint64_t sizeBytes);

  const DriverTable &driver_;
  std::string device_;
  uint64_t limitBytes_;
  bool isLimitGiven_;
  uint64_t usedBytes_ = 0, heldBytes_ = 0;
  std::map<DeviceAddress, uint64_t> blocks_; // from the driver
  std::map<DeviceAddress, uint64_t> free_;   // no range spans two blocks
  std::unordered_map<DeviceAddress, uint64_t> used_;
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_DEVICE_DEVICEARENA_H
