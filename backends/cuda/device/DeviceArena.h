//===- DeviceArena.h - what a program takes of a GPU ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Large blocks of the driver, cut up by first fit. One limit holds for all that
// a program takes, scratch of libraries included.
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

  /// `limitBytes` 0: 95 % of `freeBytes`, what the device had free before.
  /// `device` is its name, for errors. All calls need the context current.
  DeviceArena(const DriverTable &driver, std::string device,
              uint64_t limitBytes, uint64_t freeBytes);
  DeviceArena(const DeviceArena &) = delete;
  DeviceArena &operator=(const DeviceArena &) = delete;

  /// Memory with any content. SINTER_OUT_OF_MEMORY names `purpose`, the size
  /// and what is left.
  rt::Result<DeviceAddress> allocate(uint64_t sizeBytes, const char *purpose);
  /// Nothing happens for an address that allocate() did not return.
  void free(DeviceAddress address);
  /// Gives everything back; to be called at the end, when nothing is used.
  void release();

  uint64_t limitBytes() const { return limitBytes_; }
  /// What was asked for, which the limit is for, and what that takes of the
  /// device (blocks are multiples of 2 MiB).
  uint64_t usedBytes() const { return usedBytes_; }
  uint64_t heldBytes() const { return heldBytes_; }
  uint64_t availableBytes() const { return limitBytes_ - usedBytes_; }

private:
  rt::Status tooMuch(uint64_t sizeBytes, const char *purpose,
                     const std::string &left) const;
  rt::Status grow(uint64_t sizeBytes, const char *purpose);
  void addFree(DeviceAddress begin, uint64_t sizeBytes);

  const DriverTable &driver_;
  std::string device_;
  uint64_t limitBytes_;
  bool isLimitGiven_;
  uint64_t usedBytes_ = 0, heldBytes_ = 0;
  std::map<DeviceAddress, uint64_t> blocks_; // of the driver
  std::map<DeviceAddress, uint64_t> free_;   // never across two blocks
  std::unordered_map<DeviceAddress, uint64_t> used_;
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_DEVICE_DEVICEARENA_H
