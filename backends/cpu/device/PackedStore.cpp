//===- PackedStore.cpp - memory for operands that are packed at load ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/PackedStore.h"
#include "backends/cpu/device/Blocks.h"

#include <algorithm>
#include <new>

using namespace sinter;
using namespace sinter::cpu;

/// Large enough for huge pages to matter, small enough that the rest of the
/// last block is no loss: what is not touched takes no memory.
static constexpr uint64_t blockBytes = uint64_t(16) << 20;

static std::shared_ptr<rt::AlignedBlock> makeBlock(uint64_t sizeBytes) {
  rt::Result<rt::AlignedBlock> block =
      rt::AlignedBlock::allocate(sizeBytes, "packed weights");
  if (!block.ok())
    throw std::bad_alloc();
  return std::make_shared<rt::AlignedBlock>(std::move(*block));
}

PackedBytes PackedStore::allocate(uint64_t sizeBytes) {
  uint64_t rounded = static_cast<uint64_t>(
      alignUp(static_cast<int64_t>(std::max<uint64_t>(sizeBytes, 1))));
  if (rounded > blockBytes / 2) {
    std::shared_ptr<rt::AlignedBlock> own = makeBlock(rounded);
    return {own, own->data()};
  }
  if (!block_ || block_.use_count() == 1 || usedBytes_ + rounded > blockBytes) {
    if (!block_ || block_.use_count() > 1)
      block_ = makeBlock(blockBytes);
    usedBytes_ = 0;
  }
  PackedBytes part(block_, block_->data() + usedBytes_);
  usedBytes_ += rounded;
  return part;
}
