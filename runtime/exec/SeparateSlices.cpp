//===- SeparateSlices.cpp - values in allocations of their own ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/SeparateSlices.h"
#include "runtime/base/DebugWords.h"

#include <algorithm>

using namespace sinter::rt;

Result<bool> SeparateSlices::areWanted() {
  return hasDebugWord(separateSlicesWord);
}

size_t SeparateSlices::wholeOf(size_t part) const {
  while (parts_[part].whole != part)
    part = parts_[part].whole;
  return part;
}

void SeparateSlices::join(size_t part, size_t other) {
  const auto [first, second] = std::minmax(wholeOf(part), wholeOf(other));
  parts_[second].whole = first;
}

SeparateSlices::SeparateSlices(const sinter_entry &entry, uint32_t place) {
  struct Owner {
    uint64_t end;
    size_t part;
  };
  std::map<uint64_t, Owner> owners; // of the arena's bytes now, by first byte
  // Owned ranges end at `at`, or begin there.
  auto splitAt = [&](uint64_t at) {
    auto after = owners.lower_bound(at);
    if (after == owners.begin())
      return;
    auto before = std::prev(after);
    if (before->second.end <= at)
      return;
    owners.emplace(at, before->second);
    before->second.end = at;
  };
  auto begin = [&](uint64_t first, uint64_t end) {
    const size_t part = parts_.size();
    parts_.push_back({first, end, part});
    splitAt(first);
    splitAt(end);
    owners.erase(owners.lower_bound(first), owners.lower_bound(end));
    owners.emplace(first, Owner{end, part});
    return part;
  };
  for (uint32_t c = 0; c < entry.numCommands; ++c) {
    const sinter_command &command = entry.commands[c];
    for (uint32_t s = 0; s < command.numSlices; ++s) {
      const sinter_slice &slice = command.slices[s];
      if (slice.space != SINTER_SPACE_ARENA || slice.index != place ||
          slice.sizeBytes == 0)
        continue;
      const uint64_t first = slice.offsetBytes, end = first + slice.sizeBytes;
      size_t part = parts_.size();
      if (s >= command.numReads) {
        // A result in place of an operand stays in the operand's allocation.
        auto same =
            std::find_if(command.slices, command.slices + command.numReads,
                         [&](const sinter_slice &read) {
                           return read.space == SINTER_SPACE_ARENA &&
                                  read.index == place && read.sizeBytes != 0 &&
                                  read.offsetBytes < end &&
                                  first < read.offsetBytes + read.sizeBytes;
                         });
        const bool isInPlace = same != command.slices + command.numReads;
        part = begin(first, end);
        if (isInPlace)
          join(part, partOf_.at({c, uint32_t(same - command.slices)}));
      } else {
        splitAt(first);
        splitAt(end);
        for (auto it = owners.lower_bound(first);
             it != owners.end() && it->first < end; ++it) {
          if (part < parts_.size())
            join(part, it->second.part);
          part = std::min(part, it->second.part);
        }
        if (part == parts_.size()) // what an earlier run left
          part = begin(first, end);
        // Bytes of the slice that nothing wrote belong to its value.
        parts_[part].begin = std::min(parts_[part].begin, first);
        parts_[part].end = std::max(parts_[part].end, end);
      }
      partOf_[{c, s}] = part;
      offsetOf_[{c, s}] = first;
    }
  }
  for (size_t i = 0; i < parts_.size(); ++i) {
    auto [it, isNew] =
        rangeOf_.try_emplace(wholeOf(i), parts_[i].begin, parts_[i].end);
    it->second.first = std::min(it->second.first, parts_[i].begin);
    // Libraries were promised the alignment of offsets in the arena.
    it->second.first -= it->second.first % 256;
    it->second.second = std::max(it->second.second, parts_[i].end);
  }
}

Status SeparateSlices::allocate(
    const std::function<Result<uint8_t *>(uint64_t)> &allocate) {
  for (const auto &[whole, range] : rangeOf_) {
    Result<uint8_t *> address = allocate(range.second - range.first);
    if (!address.ok())
      return address.status();
    addressOf_[whole] = *address;
  }
  return {};
}

uint8_t *SeparateSlices::address(uint32_t command, uint32_t slice) const {
  auto part = partOf_.find({command, slice});
  if (part == partOf_.end())
    return nullptr; // it has no bytes
  const size_t whole = wholeOf(part->second);
  return addressOf_.at(whole) +
         (offsetOf_.at({command, slice}) - rangeOf_.at(whole).first);
}

std::vector<uint64_t> SeparateSlices::sizes() const {
  std::vector<uint64_t> result;
  for (const auto &[whole, range] : rangeOf_)
    result.push_back(range.second - range.first);
  return result;
}
