//===- AccessCheck.cpp - bounds and races of a launch ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/AccessCheck.h"

#include <algorithm>

namespace sinter::sim {

AccessRanges::AccessRanges(const std::vector<MemoryRange> &ranges) {
  for (const MemoryRange &range : ranges) {
    auto begin = reinterpret_cast<uint64_t>(range.begin);
    Span span{begin, begin + range.sizeBytes};
    if (range.sizeBytes == 0)
      continue;
    all_.push_back(span);
    if (range.isWritable)
      writable_.push_back(span);
  }
  auto byBegin = [](const Span &a, const Span &b) { return a.begin < b.begin; };
  std::sort(all_.begin(), all_.end(), byBegin);
  std::sort(writable_.begin(), writable_.end(), byBegin);
  buffers_ = all_;
  merge(all_);
  merge(writable_);
}

// Merges only ranges that overlap: adjacent ranges are separate buffers.
void AccessRanges::merge(std::vector<Span> &spans) {
  std::vector<Span> merged;
  for (const Span &span : spans) {
    if (!merged.empty() && span.begin < merged.back().end)
      merged.back().end = std::max(merged.back().end, span.end);
    else
      merged.push_back(span);
  }
  spans = std::move(merged);
}

bool AccessRanges::contains(const std::vector<Span> &spans, size_t &last,
                            uint64_t begin, uint64_t end) {
  auto isIn = [&](const Span &span) {
    return span.begin <= begin && end <= span.end;
  };
  if (last < spans.size() && isIn(spans[last]))
    return true;
  auto after = std::upper_bound(
      spans.begin(), spans.end(), begin,
      [](uint64_t value, const Span &span) { return value < span.begin; });
  if (after == spans.begin() || !isIn(*(after - 1)))
    return false;
  last = size_t(after - 1 - spans.begin());
  return true;
}

AccessRanges::Verdict AccessRanges::look(const void *address,
                                         uint64_t sizeBytes, bool writes) {
  auto begin = reinterpret_cast<uint64_t>(address);
  if (contains(writes ? writable_ : all_, writes ? lastWritable_ : lastOfAll_,
               begin, begin + sizeBytes))
    return Verdict::Inside;
  return writes && contains(all_, lastOfAll_, begin, begin + sizeBytes)
             ? Verdict::ReadOnly
             : Verdict::Outside;
}

std::string AccessRanges::whereIs(const void *address) const {
  auto at = reinterpret_cast<uint64_t>(address);
  const Span *nearest = nullptr;
  uint64_t distance = 0;
  bool isBehind = false;
  for (const Span &span : buffers_) {
    bool behind = at >= span.end, before = at < span.begin;
    uint64_t away = behind ? at - span.end : before ? span.begin - at : 0;
    if (!nearest || away < distance) {
      nearest = &span;
      distance = away;
      isBehind = behind;
    }
  }
  if (!nearest || distance > (uint64_t(1) << 30))
    return "far from every buffer of the launch";
  uint64_t size = nearest->end - nearest->begin;
  std::string buffer = " a buffer of " + std::to_string(size) + " bytes";
  if (distance == 0 && at >= nearest->begin && at < nearest->end)
    return "across the end of" + buffer;
  return std::to_string(distance) + " bytes " +
         (isBehind ? "after" : "before") + buffer;
}

void RaceShadow::beginLaunch(uint64_t numBlocks, bool ordersBlocks) {
  ++launch_;
  ordersBlocks_ = ordersBlocks;
  readers_.clear();
  time_ = 1;
  orders_.assign(numBlocks, Order());
}

void RaceShadow::fence(uint64_t block) {
  Order &order = orders_[block];
  order.fence = ++time_;
  order.seen = order.atomic;
}

void RaceShadow::endLaunch() {
  constexpr size_t kMostPages = 2048;
  split_.clear();
  if (pages_.size() > kMostPages) {
    pages_.clear();
    lastNumber_ = UINT64_MAX;
    lastPage_ = nullptr;
  }
}

RaceShadow::Page &RaceShadow::page(uint64_t number) {
  if (number != lastNumber_) {
    std::unique_ptr<Page> &slot = pages_[number];
    if (!slot)
      slot = std::make_unique<Page>();
    lastPage_ = slot.get();
    lastNumber_ = number;
  }
  return *lastPage_;
}

bool RaceShadow::isOrdered(const Who &earlier, const Accessor &who) const {
  if (earlier.block == uint32_t(who.block))
    return earlier.thread == who.thread || earlier.epoch != who.epoch ||
           (earlier.thread / 32 == who.thread / 32 &&
            earlier.warpEpoch != who.warpEpoch);
  const std::vector<Publication> &theirs = orders_[earlier.block].published;
  auto first = std::upper_bound(
      theirs.begin(), theirs.end(), earlier.time,
      [](uint32_t time, const Publication &one) { return time < one.fence; });
  return first != theirs.end() && orders_[who.block].seen > first->operation;
}

// `reader` stands for all threads of its block that read since they were last
// ordered.
bool RaceShadow::blockRaces(const Who &reader, const Accessor &who) const {
  if (reader.block == uint32_t(who.block) && reader.epoch == who.epoch) {
    if (reader.isManyWarps)
      return true;
    if (reader.isMany)
      return reader.thread / 32 != who.thread / 32 ||
             reader.warpEpoch == who.warpEpoch;
  }
  return !isOrdered(reader, who);
}

bool RaceShadow::readersRace(const Cell &cell, const Accessor &who) const {
  if (!cell.reader.isManyBlocks)
    return blockRaces(cell.reader, who);
  auto found = readers_.find(&cell);
  return found == readers_.end() ||
         std::any_of(
             found->second.begin(), found->second.end(),
             [&](const Who &reader) { return blockRaces(reader, who); });
}

void RaceShadow::addReader(Cell &cell, const Who &now, const Accessor &who) {
  // Combines `reader` with the new access, if both are of the same block and
  // epoch.
  auto merge = [](const Who &reader, Who merged) {
    if (reader.block != merged.block || reader.epoch != merged.epoch)
      return merged;
    bool isSameWarp = reader.thread / 32 == merged.thread / 32;
    merged.bytes |= reader.bytes;
    merged.isManyWarps = reader.isManyWarps || !isSameWarp;
    merged.isMany = merged.isManyWarps ||
                    (reader.warpEpoch == merged.warpEpoch &&
                     (reader.isMany || reader.thread != merged.thread));
    return merged;
  };
  Who &reader = cell.reader;
  if (reader.bytes == 0) {
    reader = now;
    return;
  }
  const Who before = reader;
  reader = merge(before, now);
  if (before.block != now.block) {
    reader.isManyBlocks = before.isManyBlocks || !isOrdered(before, who);
    reader.bytes |= before.bytes;
  } else if (before.epoch == now.epoch) {
    reader.isManyBlocks = before.isManyBlocks;
  }
  if (!ordersBlocks_ || !(reader.isManyBlocks || before.isManyBlocks))
    return;
  // A block's access does not replace those of the other blocks.
  reader.isManyBlocks = true;
  reader.bytes |= before.bytes;
  std::vector<Who> &blocks = readers_[&cell];
  if (blocks.empty())
    blocks.push_back(before);
  auto own = std::find_if(blocks.begin(), blocks.end(), [&](const Who &other) {
    return other.block == now.block;
  });
  if (own == blocks.end())
    blocks.push_back(now);
  else
    *own = merge(*own, now);
}

bool RaceShadow::touchCell(Cell &cell, uint8_t bytes, uint32_t flags,
                           const Accessor &who, bool isShared, Race &race) {
  uint32_t owner = isShared ? uint32_t(who.block) : 0;
  if (cell.launch != launch_ || cell.block != owner) {
    cell = Cell();
    cell.launch = launch_;
    cell.block = owner;
  }
  bool writes = flags & SINTER_SIM_WRITE;
  bool isAtomic = flags & SINTER_SIM_ATOMIC;
  // The common case: another reader of a word that was written before a
  // barrier.
  const Who &readers = cell.reader;
  if (!flags && readers.isManyWarps && readers.epoch == who.epoch &&
      readers.block == uint32_t(who.block) && !(bytes & ~readers.bytes) &&
      (cell.writer.bytes == 0 || (cell.writer.epoch != who.epoch &&
                                  cell.writer.block == uint32_t(who.block))))
    return false;
  Who now;
  now.block = uint32_t(who.block);
  now.epoch = who.epoch;
  now.warpEpoch = who.warpEpoch;
  now.time = time_;
  now.thread = uint16_t(who.thread);
  now.bytes = bytes;
  now.isAtomic = isAtomic;
  auto overlaps = [&](const Who &earlier) {
    return (earlier.bytes & bytes) && !(earlier.isAtomic && isAtomic);
  };
  const Who *earlier = nullptr;
  race.isReadOnlyPath = false;
  if (overlaps(cell.writer) && !isOrdered(cell.writer, who))
    earlier = &cell.writer;
  if (!earlier && writes && overlaps(cell.reader) && readersRace(cell, who))
    earlier = &cell.reader;
  bool isConstantRead = flags & SINTER_SIM_READONLY;
  if (!earlier && !isShared &&
      ((isConstantRead && (cell.writer.bytes & bytes)) ||
       (writes && cell.isReadOnly && (cell.reader.bytes & bytes)))) {
    earlier = isConstantRead ? &cell.writer : &cell.reader;
    race.isReadOnlyPath = true;
  }
  if (earlier) {
    race.earlierWrites = earlier == &cell.writer;
    race.block = earlier->block;
    race.thread = earlier->thread;
  }
  if (!writes) {
    cell.isReadOnly |= isConstantRead;
    addReader(cell, now, who);
    return earlier;
  }
  cell.writer = now;
  return earlier;
}

/// Checks the bytes one by one, because `cell` knows only the last accesses of
/// the whole word.
bool RaceShadow::touchBytes(uint64_t word, Cell &cell, uint8_t bytes,
                            uint32_t flags, const Accessor &who, bool isShared,
                            Race &race) {
  std::array<Cell, 4> &parts = split_[word];
  if (cell.launch != launch_) {
    cell = Cell();
    cell.launch = launch_;
  }
  if (!cell.isSplit) {
    parts.fill(cell);
    cell.isSplit = true;
    if (auto found = readers_.find(&cell); found != readers_.end()) {
      const std::vector<Who> blocks = found->second;
      for (const Cell &part : parts)
        readers_[&part] = blocks;
    }
  }
  for (int byte = 0; byte < 4; ++byte)
    if ((bytes >> byte & 1) &&
        touchCell(parts[size_t(byte)], 0xf, flags, who, isShared, race))
      return true;
  return false;
}

bool RaceShadow::touch(uint64_t address, uint64_t sizeBytes, uint32_t flags,
                       const Accessor &who, bool isShared, Race &race) {
  ++time_;
  bool isRace = false;
  uint64_t end = address + sizeBytes;
  for (uint64_t word = address & ~uint64_t(3); word < end; word += 4) {
    uint8_t bytes = 0;
    for (uint64_t byte = 0; byte < 4; ++byte)
      if (word + byte >= address && word + byte < end)
        bytes |= uint8_t(1 << byte);
    Cell &cell = page(word / kPageBytes).cells[word % kPageBytes / 4];
    bool isSplit = cell.isSplit && cell.launch == launch_;
    isRace = bytes == 0xf && !isSplit
                 ? touchCell(cell, bytes, flags, who, isShared, race)
                 : touchBytes(word, cell, bytes, flags, who, isShared, race);
    if (isRace)
      break;
  }
  if (!isShared && (flags & SINTER_SIM_ATOMIC)) {
    Order &order = orders_[who.block];
    order.atomic = time_;
    if ((flags & SINTER_SIM_WRITE) && order.fence != 0 &&
        (order.published.empty() || order.fence > order.published.back().fence))
      order.published.push_back({order.fence, time_});
  }
  return isRace;
}

} // namespace sinter::sim
