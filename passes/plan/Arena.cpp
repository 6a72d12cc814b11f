//===- Arena.cpp - offsets for buffers with known lifetimes ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/Arena.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

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

/// Up to this many buffers, comparing each with every placed one is affordable.
constexpr size_t kMaxPairwise = 12000;
/// The budget of the search for better orders: comparisons, and rounds per
/// initial order.
constexpr int64_t kSearchBudget = 20'000'000;
constexpr unsigned kMaxRounds = 64;

/// Places the buffers one by one: each into the smallest sufficient gap between
/// placed buffers that are live at the same time, or after all of these if
/// there is none.
ArenaLayout placeInSequence(ArrayRef<Lifetime> buffers,
                            ArrayRef<unsigned> sequence) {
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
    auto at = std::upper_bound(
        placed.begin(), placed.end(), entry,
        [](const Placed &a, const Placed &b) { return a.begin < b.begin; });
    placed.insert(at, entry);
  }
  return layout;
}

/// Places the buffers in order of time with a list of free ranges, as a heap
/// would, in O(n log n).
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
  std::map<int64_t, int64_t> ranges;            // free: begin -> end
  std::set<std::pair<int64_t, int64_t>> bySize; // size, begin
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
    for (; ended < byEnd.size() && buffers[byEnd[ended]].last < buffer.first;
         ++ended)
      if (int64_t bytes = buffers[byEnd[ended]].bytes)
        release(layout.offsets[byEnd[ended]],
                layout.offsets[byEnd[ended]] + bytes);
    if (buffer.bytes == 0)
      continue;
    auto fit = bySize.lower_bound({buffer.bytes, 0});
    int64_t begin = layout.bytes, end = begin + buffer.bytes;
    if (fit != bySize.end()) {
      auto it = ranges.find(fit->second);
      begin = it->first;
      end = it->second;
      remove(it);
    } else if (!ranges.empty() &&
               std::prev(ranges.end())->second == layout.bytes) {
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

/// For each buffer, the most bytes that are live at some command of its
/// lifetime.
std::vector<int64_t> contention(ArrayRef<Lifetime> buffers) {
  // maxima[k][i]: the largest of the 2^k numbers from i on.
  std::vector<std::vector<int64_t>> maxima{liveBytes(buffers)};
  for (size_t width = 1; 2 * width <= maxima.front().size(); width *= 2) {
    const std::vector<int64_t> &half = maxima.back();
    std::vector<int64_t> whole(half.size() - width);
    for (size_t i = 0; i < whole.size(); ++i)
      whole[i] = std::max(half[i], half[i + width]);
    maxima.push_back(std::move(whole));
  }
  std::vector<int64_t> result;
  for (const Lifetime &buffer : buffers) {
    unsigned level = Log2_32(buffer.last - buffer.first + 1);
    const std::vector<int64_t> &numbers = maxima[level];
    result.push_back(std::max(numbers[buffer.first],
                              numbers[buffer.last + 1 - (1u << level)]));
  }
  return result;
}

/// The sequences from which the search starts: buffers of the tightest commands
/// first, large ones first, those first that take most bytes for most time, and
/// in order of time.
std::vector<Sequence> initialSequences(ArrayRef<Lifetime> buffers) {
  std::vector<int64_t> tightness = contention(buffers);
  using Key = std::tuple<int64_t, int64_t, unsigned>;
  const std::function<Key(unsigned)> keys[] = {
      [&](unsigned n) { return Key(-tightness[n], -buffers[n].bytes, n); },
      [&](unsigned n) { return Key(-buffers[n].bytes, buffers[n].first, n); },
      [&](unsigned n) {
        return Key(-buffers[n].bytes / 64 *
                       (buffers[n].last - buffers[n].first + 1),
                   0, n);
      },
      [&](unsigned n) { return Key(buffers[n].first, -buffers[n].bytes, n); }};
  std::vector<Sequence> sequences;
  for (const auto &key : keys) {
    Sequence &sequence = sequences.emplace_back(buffers.size());
    std::iota(sequence.begin(), sequence.end(), 0u);
    sort(sequence, [&](unsigned x, unsigned y) { return key(x) < key(y); });
  }
  return sequences;
}

/// Moves the buffers that `layout` places beyond `bound` to half their position
/// in the sequence ("squeaky wheel" optimization, Joslin and Clements 1999).
Sequence raiseMisplaced(ArrayRef<Lifetime> buffers, const Sequence &sequence,
                        const ArenaLayout &layout, int64_t bound) {
  std::vector<std::tuple<int64_t, size_t, unsigned>> ranked;
  for (auto [position, number] : enumerate(sequence)) {
    bool isMisplaced = layout.offsets[number] + buffers[number].bytes > bound;
    int64_t rank = isMisplaced ? int64_t(position) - 1 : 2 * int64_t(position);
    ranked.push_back({rank, position, number});
  }
  sort(ranked);
  Sequence raised;
  for (auto [rank, position, number] : ranked)
    raised.push_back(number);
  return raised;
}

} // namespace

std::vector<int64_t> liveBytes(ArrayRef<Lifetime> buffers) {
  unsigned end = 0;
  for (const Lifetime &buffer : buffers)
    end = std::max(end, buffer.last + 1);
  std::vector<int64_t> live(end + 1, 0);
  for (const Lifetime &buffer : buffers) {
    live[buffer.first] += buffer.bytes;
    live[buffer.last + 1] -= buffer.bytes;
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  return live;
}

int64_t maxLiveBytes(ArrayRef<Lifetime> buffers) {
  std::vector<int64_t> live = liveBytes(buffers);
  return *std::max_element(live.begin(), live.end());
}

ArenaLayout layOutArena(ArrayRef<Lifetime> buffers) {
  ArenaLayout best = placeInTime(buffers);
  int64_t bound = maxLiveBytes(buffers);
  if (buffers.size() > kMaxPairwise || best.bytes == bound)
    return best;
  int64_t cost = std::max<int64_t>(1, buffers.size() * buffers.size() / 2),
          spent = 0;
  for (Sequence &sequence : initialSequences(buffers))
    for (unsigned round = 0; round < kMaxRounds && best.bytes > bound;
         ++round) {
      if (round > 0 && spent > kSearchBudget)
        break;
      spent += cost;
      ArenaLayout layout = placeInSequence(buffers, sequence);
      Sequence raised = raiseMisplaced(buffers, sequence, layout, bound);
      if (layout.bytes < best.bytes)
        best = std::move(layout);
      if (raised == sequence)
        break;
      sequence = std::move(raised);
    }
  return best;
}

} // namespace sinter::passes::plan
