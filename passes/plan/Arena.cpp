//===- Arena.cpp - offsets for buffers with known lifetimes ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/Arena.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>

using namespace llvm;

namespace sinter::passes::plan {
namespace {

using Sequence = std::vector<unsigned>; // numbers of buffers

/// Comparing every buffer with every placed one is affordable up to here.
constexpr size_t kMaxPairwise = 20000;
/// Comparisons that may be spent on looking for a better order.
constexpr int64_t kSearchBudget = 100'000'000;

/// Places the buffers one by one, each into the smallest gap that holds it among those that are
/// live with it; where there is none, after them all.
ArenaLayout placeInSequence(ArrayRef<Lifetime> buffers, ArrayRef<unsigned> sequence) {
  struct Placed {
    int64_t begin, end;
    unsigned first, last;
  };
  std::vector<Placed> placed; // by begin
  ArenaLayout layout;
  layout.offsets.assign(buffers.size(), 0);
  for (unsigned number : sequence) {
    const Lifetime &buffer = buffers[number];
    if (buffer.bytes == 0)
      continue;
    int64_t end = 0, best = -1, bestSize = std::numeric_limits<int64_t>::max();
    for (const Placed &other : placed) {
      if (other.first > buffer.last || buffer.first > other.last)
        continue;
      int64_t gap = other.begin - end;
      if (gap >= buffer.bytes && gap < bestSize) {
        best = end;
        bestSize = gap;
      }
      end = std::max(end, other.end);
    }
    int64_t offset = best >= 0 ? best : end;
    layout.offsets[number] = offset;
    layout.bytes = std::max(layout.bytes, offset + buffer.bytes);
    Placed entry{offset, offset + buffer.bytes, buffer.first, buffer.last};
    auto at = std::upper_bound(placed.begin(), placed.end(), entry,
                               [](const Placed &a, const Placed &b) { return a.begin < b.begin; });
    placed.insert(at, entry);
  }
  return layout;
}

/// The same in order of time with a list of free ranges, in O(n log n): what a heap would do.
ArenaLayout placeInTime(ArrayRef<Lifetime> buffers) {
  Sequence byStart(buffers.size()), byEnd;
  std::iota(byStart.begin(), byStart.end(), 0u);
  byEnd = byStart;
  sort(byStart, [&](unsigned x, unsigned y) {
    const Lifetime &a = buffers[x], &b = buffers[y];
    return std::tuple(a.first, -a.bytes, x) < std::tuple(b.first, -b.bytes, y);
  });
  sort(byEnd, [&](unsigned x, unsigned y) {
    return std::tuple(buffers[x].last, x) < std::tuple(buffers[y].last, y);
  });

  ArenaLayout layout;
  layout.offsets.assign(buffers.size(), 0);
  std::map<int64_t, int64_t> ranges;              // free: begin -> end
  std::set<std::pair<int64_t, int64_t>> bySize;   // size, begin
  auto add = [&](int64_t begin, int64_t end) {
    ranges[begin] = end;
    bySize.insert({end - begin, begin});
  };
  auto remove = [&](std::map<int64_t, int64_t>::iterator it) {
    bySize.erase({it->second - it->first, it->first});
    return ranges.erase(it);
  };
  auto release = [&](int64_t begin, int64_t end) {
    auto next = ranges.lower_bound(begin);
    if (next != ranges.end() && next->first == end) {
      end = next->second;
      next = remove(next);
    }
    if (next != ranges.begin() && std::prev(next)->second == begin) {
      begin = std::prev(next)->first;
      remove(std::prev(next));
    }
    add(begin, end);
  };
  size_t ended = 0;
  for (unsigned number : byStart) {
    const Lifetime &buffer = buffers[number];
    for (; ended < byEnd.size() && buffers[byEnd[ended]].last < buffer.first; ++ended)
      if (int64_t bytes = buffers[byEnd[ended]].bytes)
        release(layout.offsets[byEnd[ended]], layout.offsets[byEnd[ended]] + bytes);
    if (buffer.bytes == 0)
      continue;
    auto fit = bySize.lower_bound({buffer.bytes, 0});
    int64_t begin = layout.bytes, end = begin + buffer.bytes;
    if (fit != bySize.end()) {
      auto it = ranges.find(fit->second);
      begin = it->first;
      end = it->second;
      remove(it);
    } else if (!ranges.empty() && std::prev(ranges.end())->second == layout.bytes) {
      begin = std::prev(ranges.end())->first; // the last range grows
      end = begin + buffer.bytes;
      remove(std::prev(ranges.end()));
    }
    layout.offsets[number] = begin;
    if (end > begin + buffer.bytes)
      add(begin + buffer.bytes, end);
    layout.bytes = std::max(layout.bytes, end);
  }
  return layout;
}

/// Moves the buffers on top of the arena to the front of the order and places all again, while that
/// helps and the budget lasts.
void improve(ArrayRef<Lifetime> buffers, Sequence sequence, int64_t lowerBound, ArenaLayout &best) {
  int64_t cost = std::max<int64_t>(1, buffers.size() * buffers.size() / 2);
  ArenaLayout layout = placeInSequence(buffers, sequence);
  for (int64_t spent = cost; spent < kSearchBudget; spent += cost) {
    if (layout.bytes < best.bytes)
      best = layout;
    if (best.bytes == lowerBound)
      return;
    auto onTop = [&](unsigned number) {
      return buffers[number].bytes > 0 &&
             layout.offsets[number] + buffers[number].bytes == layout.bytes;
    };
    Sequence moved;
    llvm::copy_if(sequence, std::back_inserter(moved), onTop);
    llvm::copy_if(sequence, std::back_inserter(moved), [&](unsigned n) { return !onTop(n); });
    if (moved == sequence)
      return;
    sequence = std::move(moved);
    layout = placeInSequence(buffers, sequence);
  }
}

} // namespace

int64_t maxLiveBytes(ArrayRef<Lifetime> buffers) {
  unsigned end = 0;
  for (const Lifetime &buffer : buffers)
    end = std::max(end, buffer.last + 1);
  std::vector<int64_t> change(end + 1, 0);
  for (const Lifetime &buffer : buffers) {
    change[buffer.first] += buffer.bytes;
    change[buffer.last + 1] -= buffer.bytes;
  }
  int64_t live = 0, most = 0;
  for (int64_t bytes : change)
    most = std::max(most, live += bytes);
  return most;
}

ArenaLayout layOutArena(ArrayRef<Lifetime> buffers) {
  ArenaLayout best = placeInTime(buffers);
  int64_t lowerBound = maxLiveBytes(buffers);
  if (buffers.size() > kMaxPairwise)
    return best;

  using Key = std::function<std::tuple<int64_t, int64_t>(const Lifetime &)>;
  const Key keys[] = {
      [](const Lifetime &b) { return std::tuple(-b.bytes, int64_t(b.first)); },
      [](const Lifetime &b) {
        return std::tuple(-b.bytes / 64 * (int64_t(b.last) - b.first + 1), -b.bytes);
      },
      [](const Lifetime &b) { return std::tuple(int64_t(b.first), -b.bytes); }};
  Sequence bestSequence;
  int64_t bestBytes = std::numeric_limits<int64_t>::max();
  for (const Key &key : keys) {
    if (best.bytes == lowerBound)
      return best;
    Sequence sequence(buffers.size());
    std::iota(sequence.begin(), sequence.end(), 0u);
    sort(sequence, [&](unsigned x, unsigned y) {
      return std::tuple(key(buffers[x]), x) < std::tuple(key(buffers[y]), y);
    });
    ArenaLayout layout = placeInSequence(buffers, sequence);
    if (layout.bytes < bestBytes) {
      bestBytes = layout.bytes;
      bestSequence = sequence;
    }
    if (layout.bytes < best.bytes)
      best = std::move(layout);
  }
  improve(buffers, bestSequence, lowerBound, best);
  return best;
}

} // namespace sinter::passes::plan
