//===- AlignedBlock.cpp - memory for arenas, states and scratch -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/AlignedBlock.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

using namespace sinter::rt;

static constexpr uint64_t cacheLineBytes = 64;
static constexpr uint64_t hugePageBytes = uint64_t(2) << 20;
static constexpr uint64_t mapFromBytes = uint64_t(4) << 20;

/// Maps `sizeBytes`, a multiple of a huge page's size, at an address that is
/// one too; null if the system refuses.
static void *mapHuge(uint64_t sizeBytes) {
  uint64_t total = sizeBytes + hugePageBytes;
  void *raw = ::mmap(nullptr, total, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED)
    return nullptr;
  uint64_t begin = reinterpret_cast<uintptr_t>(raw);
  uint64_t aligned = (begin + hugePageBytes - 1) & ~(hugePageBytes - 1);
  if (aligned != begin)
    ::munmap(raw, aligned - begin);
  if (uint64_t rest = begin + total - (aligned + sizeBytes))
    ::munmap(reinterpret_cast<void *>(aligned + sizeBytes), rest);
  void *address = reinterpret_cast<void *>(aligned);
  // Only advice: without huge pages the block works as well, if more slowly.
  (void)::madvise(address, sizeBytes, MADV_HUGEPAGE);
  return address;
}

Result<AlignedBlock> AlignedBlock::allocate(uint64_t sizeBytes,
                                            const char *purpose) {
  AlignedBlock block;
  if (sizeBytes == 0)
    return block;
  auto refuse = [&]() -> Status {
    return {SINTER_OUT_OF_MEMORY, "cannot allocate " +
                                      std::to_string(sizeBytes) +
                                      " bytes for " + purpose};
  };
  // More than any machine has, and too little for rounding up to wrap.
  if (sizeBytes > UINT64_MAX / 4)
    return refuse();
  if (sizeBytes >= mapFromBytes) {
    uint64_t rounded = (sizeBytes + hugePageBytes - 1) & ~(hugePageBytes - 1);
    block.data_ = static_cast<uint8_t *>(mapHuge(rounded));
    block.mappedBytes_ = rounded;
  } else {
    uint64_t rounded = (sizeBytes + cacheLineBytes - 1) & ~(cacheLineBytes - 1);
    block.data_ =
        static_cast<uint8_t *>(std::aligned_alloc(cacheLineBytes, rounded));
    if (block.data_)
      std::memset(block.data_, 0, rounded);
  }
  if (!block.data_)
    return refuse();
  block.sizeBytes_ = sizeBytes;
  return block;
}

AlignedBlock::AlignedBlock(AlignedBlock &&other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      sizeBytes_(std::exchange(other.sizeBytes_, 0)),
      mappedBytes_(std::exchange(other.mappedBytes_, 0)) {}

AlignedBlock &AlignedBlock::operator=(AlignedBlock &&other) noexcept {
  std::swap(data_, other.data_);
  std::swap(sizeBytes_, other.sizeBytes_);
  std::swap(mappedBytes_, other.mappedBytes_);
  return *this;
}

AlignedBlock::~AlignedBlock() {
  if (!data_)
    return;
  if (mappedBytes_)
    ::munmap(data_, mappedBytes_);
  else
    std::free(data_);
}
