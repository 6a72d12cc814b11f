//===- Place.cpp - a device of a program and what is on it ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Place.h"

#include <algorithm>

using namespace sinter::rt;

/// Tensors begin at multiples of this many bytes, on the host and on devices.
static constexpr uint64_t alignmentBytes = 256;

static uint64_t alignedUp(uint64_t bytes) {
  return (bytes + alignmentBytes - 1) / alignmentBytes * alignmentBytes;
}

ConstantMap::ConstantMap(const sinter_artifact &artifact, uint32_t place)
    : constants_(artifact.constants) {
  std::vector<Range> used;
  for (uint32_t i = 0; i < artifact.numEntries; ++i)
    for (uint32_t j = 0; j < artifact.entries[i].numCommands; ++j) {
      const sinter_command &command = artifact.entries[i].commands[j];
      for (uint32_t k = 0; k < command.numSlices; ++k) {
        const sinter_slice &slice = command.slices[k];
        if (command.place != place || slice.space != SINTER_SPACE_CONSTANT ||
            slice.sizeBytes == 0)
          continue;
        // An aligned start keeps the alignment of everything after it.
        uint64_t begin = slice.offsetBytes / alignmentBytes * alignmentBytes;
        used.push_back({begin, slice.offsetBytes + slice.sizeBytes - begin, 0});
      }
    }
  std::sort(used.begin(), used.end(), [](const Range &a, const Range &b) {
    return a.hostOffset < b.hostOffset;
  });
  for (const Range &range : used) {
    if (!ranges_.empty() && range.hostOffset <= ranges_.back().hostOffset +
                                                    ranges_.back().sizeBytes) {
      Range &last = ranges_.back();
      last.sizeBytes = std::max(
          last.sizeBytes, range.hostOffset + range.sizeBytes - last.hostOffset);
    } else {
      ranges_.push_back(range);
    }
  }
  for (Range &range : ranges_) {
    range.offset = sizeBytes_;
    sizeBytes_ += alignedUp(range.sizeBytes);
  }
}

Status ConstantMap::upload(Device &device, Stream &stream,
                           uint8_t *base) const {
  for (const Range &range : ranges_)
    SINTER_RETURN_IF_ERROR(device.upload(stream, base + range.offset,
                                         constants_ + range.hostOffset,
                                         range.sizeBytes));
  return device.synchronize(stream);
}

const uint8_t *ConstantMap::at(uint64_t offset) const {
  if (!base_)
    return constants_ + offset;
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), offset,
                                [](uint64_t value, const Range &range) {
                                  return value < range.hostOffset;
                                });
  // An empty slice need not lie in any range.
  if (after == ranges_.begin())
    return base_;
  const Range &range = after[-1];
  return base_ + range.offset +
         std::min(offset - range.hostOffset, range.sizeBytes);
}

uint64_t sinter::rt::offsetInBlock(const sinter_tensor_desc *tensors,
                                   uint32_t index) {
  uint64_t offset = 0;
  for (uint32_t i = 0; i < index; ++i)
    offset += alignedUp(tensors[i].sizeBytes);
  return offset;
}
