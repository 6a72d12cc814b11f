//===- DeviceArena.cpp - the memory that a program uses on a GPU ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/device/DeviceArena.h"

#include "runtime/base/NumberText.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cuda;
using rt::bytesText;
using rt::Result;
using rt::Status;

/// Small requests share a block; the driver allocates in units of 2 MiB anyway.
static constexpr uint64_t granuleBytes = uint64_t(2) << 20;

static uint64_t roundedUp(uint64_t bytes, uint64_t granule) {
  return (bytes + granule - 1) / granule * granule;
}

DeviceArena::DeviceArena(const DriverTable &driver, std::string device,
                         uint64_t limitBytes, uint64_t freeBytes)
    : driver_(driver), device_(std::move(device)),
      limitBytes_(limitBytes ? limitBytes : freeBytes / 20 * 19),
      isLimitGiven_(limitBytes != 0) {}

void DeviceArena::release() {
  for (const auto &[address, size] : blocks_)
    (void)driver_.memFree(address);
  blocks_.clear();
  free_.clear();
  used_.clear();
  usedBytes_ = heldBytes_ = 0;
}

void DeviceArena::addFree(DeviceAddress begin, uint64_t sizeBytes) {
  // Merge the range with its neighbours in the same block.
  auto block = std::prev(blocks_.upper_bound(begin));
  auto next = free_.lower_bound(begin);
  if (next != free_.end() && next->first == begin + sizeBytes &&
      next->first < block->first + block->second) {
    sizeBytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin() && begin != block->first) {
    auto before = std::prev(next);
    if (before->first + before->second == begin) {
      before->second += sizeBytes;
      return;
    }
  }
  free_.emplace(begin, sizeBytes);
}

Status DeviceArena::tooMuch(uint64_t sizeBytes, const char *purpose,
                            const std::string &left) const {
  return {SINTER_OUT_OF_MEMORY, std::string(purpose) + " needs " +
                                    bytesText(sizeBytes) + " of " + device_ +
                                    "'s memory, " + left};
}

/// A block of the driver's for a request of `sizeBytes`.
Result<DeviceAddress> DeviceArena::newBlock(uint64_t blockBytes,
                                            uint64_t sizeBytes,
                                            const char *purpose) {
  DeviceAddress address = 0;
  DriverResult code = driver_.memAlloc(&address, blockBytes);
  if (code == result::outOfMemory)
    return tooMuch(sizeBytes, purpose,
                   "which is not free: another process may hold it");
  if (code != result::success)
    return Status(SINTER_DEVICE_FAILED,
                  device_ + " cannot allocate memory for " + purpose + ": " +
                      errorText(driver_, code));
  blocks_.emplace(address, blockBytes);
  heldBytes_ += blockBytes;
  return address;
}

Status DeviceArena::checkLimit(uint64_t sizeBytes, const char *purpose) const {
  // This order of checks cannot overflow.
  if (sizeBytes <= availableBytes() &&
      roundedUp(sizeBytes, alignmentBytes) <= availableBytes())
    return {};
  return tooMuch(
      sizeBytes, purpose,
      bytesText(availableBytes()) + " are left of " + bytesText(limitBytes_) +
          (isLimitGiven_ ? " (the memory limit)" : " (95 % of what was free)"));
}

Result<DeviceAddress> DeviceArena::allocateApart(uint64_t sizeBytes,
                                                 const char *purpose) {
  if (sizeBytes == 0)
    return DeviceAddress(0);
  SINTER_RETURN_IF_ERROR(checkLimit(sizeBytes, purpose));
  Result<DeviceAddress> address = newBlock(sizeBytes, sizeBytes, purpose);
  if (!address.ok())
    return address;
  used_.emplace(*address, sizeBytes);
  usedBytes_ += sizeBytes;
  return address;
}

Result<DeviceAddress> DeviceArena::allocate(uint64_t sizeBytes,
                                            const char *purpose) {
  if (sizeBytes == 0)
    return DeviceAddress(0);
  SINTER_RETURN_IF_ERROR(checkLimit(sizeBytes, purpose));
  const uint64_t bytes = roundedUp(sizeBytes, alignmentBytes);
  auto fits = [&] {
    return std::find_if(free_.begin(), free_.end(), [&](const auto &range) {
      return range.second >= bytes;
    });
  };
  auto found = fits();
  if (found == free_.end()) {
    const uint64_t block = roundedUp(bytes, granuleBytes);
    Result<DeviceAddress> address = newBlock(block, bytes, purpose);
    if (!address.ok())
      return address;
    addFree(*address, block);
    found = fits();
  }
  auto [begin, size] = *found;
  free_.erase(found);
  if (size > bytes)
    free_.emplace(begin + bytes, size - bytes);
  used_.emplace(begin, bytes);
  usedBytes_ += bytes;
  return begin;
}

void DeviceArena::free(DeviceAddress address) {
  auto found = used_.find(address);
  if (found == used_.end())
    return;
  usedBytes_ -= found->second;
  addFree(address, found->second);
  used_.erase(found);
  // Whole free blocks return to the driver, for other programs.
  auto block = std::prev(blocks_.upper_bound(address));
  auto range = free_.find(block->first);
  if (range == free_.end() || range->second != block->second)
    return;
  (void)driver_.memFree(block->first);
  heldBytes_ -= block->second;
  free_.erase(range);
  blocks_.erase(block);
}
