//===- DeviceMemory.cpp - memory of one simulated device ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/DeviceMemory.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace sinter::sim {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kZoneBytes = 256; // at least, before and after
constexpr int kPattern = 0xa5;
constexpr size_t kMostFreed = 1024; // mappings that stay reserved

std::mutex memoriesMutex;
std::vector<const DeviceMemory *> &memories() {
  static auto *all = new std::vector<const DeviceMemory *>;
  return *all;
}

std::string bytesText(uint64_t bytes) {
  return std::to_string(bytes) + " bytes";
}

} // namespace

bool isSimulatedMemory(const void *address, uint64_t sizeBytes) {
  std::lock_guard lock(memoriesMutex);
  return std::any_of(memories().begin(), memories().end(),
                     [&](const DeviceMemory *memory) {
                       return memory->contains(address, sizeBytes);
                     });
}

DeviceMemory::DeviceMemory(std::string device, uint64_t limitBytes)
    : device_(std::move(device)), limitBytes_(limitBytes) {
  std::lock_guard lock(memoriesMutex);
  memories().push_back(this);
}

DeviceMemory::~DeviceMemory() {
  {
    std::lock_guard lock(memoriesMutex);
    std::erase(memories(), this);
  }
  for (auto &[address, block] : live_)
    munmap(block.mapping, block.mappedBytes);
  for (Block &block : freed_)
    munmap(block.mapping, block.mappedBytes);
}

rt::Result<void *> DeviceMemory::allocate(uint64_t sizeBytes,
                                          const char *purpose) {
  if (sizeBytes == 0)
    return static_cast<void *>(nullptr);
  auto tooLittle = [&](const std::string &why) {
    return rt::Status(SINTER_OUT_OF_MEMORY, device_ + " has no memory for " +
                                                purpose + " of " +
                                                bytesText(sizeBytes) + why);
  };
  std::lock_guard lock(mutex_);
  if (limitBytes_ &&
      (sizeBytes > limitBytes_ || usedBytes_ > limitBytes_ - sizeBytes))
    return tooLittle(": " + bytesText(limitBytes_ - usedBytes_) + " of " +
                     bytesText(limitBytes_) + " are left");
  if (sizeBytes > (uint64_t(1) << 46))
    return tooLittle("");
  Block block;
  uint64_t inner =
      (kZoneBytes + sizeBytes + kZoneBytes + kPage - 1) / kPage * kPage;
  block.mappedBytes = inner + 2 * kPage;
  block.sizeBytes = sizeBytes;
  block.purpose = purpose;
  void *mapping = mmap(nullptr, block.mappedBytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    return tooLittle("");
  block.mapping = static_cast<uint8_t *>(mapping);
  uint8_t *begin = block.mapping + kPage, *address = begin + kZoneBytes;
  if (mprotect(begin, inner, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapping, block.mappedBytes);
    return tooLittle("");
  }
  std::memset(begin, kPattern, kZoneBytes);
  std::memset(address + sizeBytes, kPattern, inner - kZoneBytes - sizeBytes);
  usedBytes_ += sizeBytes;
  live_.emplace(address, std::move(block));
  return static_cast<void *>(address);
}

rt::Status DeviceMemory::free(void *address) {
  if (!address)
    return {};
  std::lock_guard lock(mutex_);
  auto found = live_.find(static_cast<uint8_t *>(address));
  if (found == live_.end())
    return {SINTER_DEVICE_FAILED,
            device_ + ": the freed memory is not allocated"};
  std::string damage = damageOf(found->first, found->second);
  Block block = std::move(found->second);
  live_.erase(found);
  usedBytes_ -= block.sizeBytes;
  mprotect(block.mapping, block.mappedBytes, PROT_NONE);
  madvise(block.mapping, block.mappedBytes, MADV_DONTNEED);
  freed_.push_back(std::move(block));
  if (freed_.size() > kMostFreed) {
    munmap(freed_.front().mapping, freed_.front().mappedBytes);
    freed_.pop_front();
  }
  if (!damage.empty())
    return {SINTER_DEVICE_FAILED, damage};
  return {};
}

void DeviceMemory::adopt(const void *address, uint64_t sizeBytes) {
  std::lock_guard lock(mutex_);
  adopted_.push_back({address, sizeBytes, /*isWritable=*/false});
}

uint64_t DeviceMemory::availableBytes() const {
  std::lock_guard lock(mutex_);
  return limitBytes_ ? limitBytes_ - usedBytes_ : UINT64_MAX;
}

uint64_t DeviceMemory::usedBytes() const {
  std::lock_guard lock(mutex_);
  return usedBytes_;
}

const DeviceMemory::Block *DeviceMemory::find(const void *address,
                                              uint64_t sizeBytes) const {
  auto *at = static_cast<uint8_t *>(const_cast<void *>(address));
  auto after = live_.upper_bound(at);
  if (after == live_.begin())
    return nullptr;
  auto &[begin, block] = *std::prev(after);
  auto offset = uint64_t(at - begin);
  return offset <= block.sizeBytes && sizeBytes <= block.sizeBytes - offset
             ? &block
             : nullptr;
}

bool DeviceMemory::contains(const void *address, uint64_t sizeBytes) const {
  std::lock_guard lock(mutex_);
  return find(address, sizeBytes);
}

rt::Status DeviceMemory::check(const void *address, uint64_t sizeBytes,
                               const char *what, bool isRead) const {
  std::lock_guard lock(mutex_);
  if (sizeBytes == 0 || find(address, sizeBytes))
    return {};
  auto holds = [&](const MemoryRange &range) {
    const auto *begin = static_cast<const uint8_t *>(range.begin);
    const auto *at = static_cast<const uint8_t *>(address);
    return at >= begin && at + sizeBytes <= begin + range.sizeBytes;
  };
  if (isRead && std::any_of(adopted_.begin(), adopted_.end(), holds))
    return {};
  std::string line = device_ + ": " + what + " (" + bytesText(sizeBytes) + ") ";
  auto *at = static_cast<const uint8_t *>(address);
  for (const Block &block : freed_)
    if (at >= block.mapping && at < block.mapping + block.mappedBytes)
      return {SINTER_DEVICE_FAILED,
              line + "lies in memory that was freed: " + block.purpose};
  for (const auto &[begin, block] : live_)
    if (at >= block.mapping && at < block.mapping + block.mappedBytes)
      return {SINTER_DEVICE_FAILED, line + "does not lie inside " +
                                        block.purpose + " of " +
                                        bytesText(block.sizeBytes)};
  return {SINTER_DEVICE_FAILED, line + "is not memory of this device"};
}

std::string DeviceMemory::damageOf(uint8_t *address, const Block &block) const {
  auto firstBad = [](const uint8_t *begin, const uint8_t *end) {
    return std::find_if(begin, end,
                        [](uint8_t byte) { return byte != kPattern; });
  };
  const uint8_t *begin = block.mapping + kPage;
  if (firstBad(begin, address) != address)
    return device_ + ": something wrote before " + block.purpose + " of " +
           bytesText(block.sizeBytes);
  const uint8_t *behind = address + block.sizeBytes;
  const uint8_t *end = block.mapping + block.mappedBytes - kPage;
  const uint8_t *bad = firstBad(behind, end);
  if (bad != end)
    return device_ + ": something wrote " + std::to_string(bad - behind) +
           " bytes after " + block.purpose + " of " +
           bytesText(block.sizeBytes);
  return "";
}

rt::Status DeviceMemory::checkZones() const {
  std::lock_guard lock(mutex_);
  for (const auto &[address, block] : live_)
    if (std::string damage = damageOf(address, block); !damage.empty())
      return {SINTER_DEVICE_FAILED, damage};
  return {};
}

std::vector<MemoryRange> DeviceMemory::ranges() const {
  std::lock_guard lock(mutex_);
  std::vector<MemoryRange> ranges = adopted_;
  for (const auto &[address, block] : live_)
    ranges.push_back({address, block.sizeBytes, true});
  return ranges;
}

} // namespace sinter::sim
