//===- PackedStore.cpp - memory for operands that are packed at load ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/PackedStore.h"
#include "backends/cpu/device/Blocks.h"
#include "runtime/base/Hash.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

using namespace sinter;
using namespace sinter::cpu;

/// Large enough for huge pages to matter. The unused rest of the last block is
/// no loss, because untouched pages take no memory.
static constexpr uint64_t blockBytes = uint64_t(16) << 20;

static uint64_t roundedUp(uint64_t sizeBytes) {
  return static_cast<uint64_t>(
      alignUp(static_cast<int64_t>(std::max<uint64_t>(sizeBytes, 1))));
}

static std::shared_ptr<rt::AlignedBlock> makeBlock(uint64_t sizeBytes) {
  rt::Result<rt::AlignedBlock> block =
      rt::AlignedBlock::allocate(sizeBytes, "packed weights");
  if (!block.ok())
    throw std::bad_alloc();
  return std::make_shared<rt::AlignedBlock>(std::move(*block));
}

/// A part has its own reference count: its users may all be gone while the
/// block still lives. The part releases the block with its last user, although
/// ProcessParts still knows the part: the deleter lives as long as that.
static PackedBytes partOf(std::shared_ptr<rt::AlignedBlock> block,
                          uint64_t offsetBytes) {
  uint8_t *bytes = block->data() + offsetBytes;
  return {bytes,
          [block = std::move(block)](uint8_t *) mutable { block.reset(); }};
}

namespace {

/// The parts of all stores, by the hash of their bytes.
class ProcessParts {
public:
  static ProcessParts &get() {
    static auto *parts = new ProcessParts; // parts may be dropped at exit
    return *parts;
  }

  /// Returns a known part with the same bytes; else adds `part` and returns it.
  PackedBytes findOrAdd(PackedBytes part, uint64_t sizeBytes) {
    const uint64_t hash = rt::hash64({part.get(), sizeBytes});
    std::lock_guard lock(mutex_);
    for (auto [it, end] = parts_.equal_range(hash); it != end;) {
      PackedBytes other = it->second.part.lock();
      if (!other) {
        it = parts_.erase(it);
        continue;
      }
      if (it->second.sizeBytes == sizeBytes &&
          std::memcmp(other.get(), part.get(), sizeBytes) == 0)
        return other;
      ++it;
    }
    parts_.insert({hash, {part, sizeBytes}});
    return part;
  }

  uint64_t sizeBytes() {
    std::lock_guard lock(mutex_);
    uint64_t total = 0;
    for (const auto &[hash, known] : parts_)
      total += known.part.expired() ? 0 : known.sizeBytes;
    return total;
  }

private:
  struct Known {
    std::weak_ptr<uint8_t> part;
    uint64_t sizeBytes;
  };
  std::mutex mutex_;
  std::unordered_multimap<uint64_t, Known> parts_;
};

} // namespace

uint64_t PackedStore::processBytes() { return ProcessParts::get().sizeBytes(); }

PackedBytes PackedStore::make(uint64_t sizeBytes,
                              const std::function<void(uint8_t *)> &fill) {
  PackedBytes own = allocate(sizeBytes);
  fill(own.get());
  PackedBytes kept = ProcessParts::get().findOrAdd(own, sizeBytes);
  // If the dropped copy was the last part of the block, reuse its memory.
  if (kept != own && block_ &&
      own.get() + roundedUp(sizeBytes) == block_->data() + usedBytes_)
    usedBytes_ -= roundedUp(sizeBytes);
  if (kept != own && usedBytes_ == 0)
    block_.reset(); // it has touched pages but no parts
  return kept;
}

PackedBytes PackedStore::allocate(uint64_t sizeBytes) {
  const uint64_t rounded = roundedUp(sizeBytes);
  if (rounded > blockBytes / 2) {
    std::shared_ptr<rt::AlignedBlock> own = makeBlock(rounded);
    return partOf(own, 0);
  }
  if (!block_ || block_.use_count() == 1 || usedBytes_ + rounded > blockBytes) {
    if (!block_ || block_.use_count() > 1)
      block_ = makeBlock(blockBytes);
    usedBytes_ = 0;
  }
  PackedBytes part = partOf(block_, usedBytes_);
  usedBytes_ += rounded;
  return part;
}
