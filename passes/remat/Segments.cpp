//===- Segments.cpp - narrow points of the forward pass -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/remat/Segments.h"

using namespace mlir;

namespace sinter::passes::plan {

Segments::Segments(const CommandGraph &graph, const Recompute &recompute)
    : graph(graph), recompute(recompute) {
  // The span of each value: where it is written, and where it is last read
  // before the turn.
  unsigned turn = recompute.turn();
  int64_t largest = 0;
  struct Span {
    unsigned value, first, last;
  };
  std::vector<Span> spans;
  for (auto [value, buffer] : llvm::enumerate(graph.buffers)) {
    if (!buffer.isInArena() || buffer.writer == kNoCommand ||
        recompute.positionOf(buffer.writer) >= turn)
      continue;
    unsigned last = recompute.positionOf(buffer.writer);
    for (unsigned reader : buffer.readers)
      if (unsigned at = recompute.positionOf(reader); at <= turn)
        last = std::max(last, at);
    spans.push_back(
        {unsigned(value), recompute.positionOf(buffer.writer), last});
    largest = std::max(largest, buffer.bytes());
  }
  // Small values (statistics, keys of random numbers) pass every point, and so
  // do values that many blocks share.
  constexpr int64_t kSmallPart = 4096;
  constexpr unsigned kLongPart = 4;
  std::vector<SmallVector<unsigned, 2>> passing(turn);
  shared.resize(graph.buffers.size());
  for (const Span &span : spans)
    if (graph.buffers[span.value].bytes() * kSmallPart <= largest)
      continue;
    else if ((span.last - span.first) * kLongPart > turn)
      shared.set(span.value);
    else
      for (unsigned at = span.first; at < span.last && at < turn; ++at)
        passing[at].push_back(span.value);
  size_t fewest = std::numeric_limits<size_t>::max();
  for (const auto &values : passing)
    if (!values.empty())
      fewest = std::min(fewest, values.size());
  // If the sum of a block is only computed by the next block, two values pass.
  constexpr size_t kMostMore = 2, kEnoughPlaces = 4;
  for (size_t most = fewest;
       most <= fewest + kMostMore && places.size() < kEnoughPlaces; ++most)
    findPlaces(passing, most);
}

/// Finds the points that at most `most` values pass, with not many more bytes
/// than at the points around.
void Segments::findPlaces(ArrayRef<SmallVector<unsigned, 2>> passing,
                          size_t most) {
  std::vector<Place> found;
  std::vector<int64_t> bytes;
  for (auto [position, values] : llvm::enumerate(passing)) {
    if (values.empty() || values.size() > most ||
        (!found.empty() && found.back().values == values))
      continue;
    found.push_back({static_cast<unsigned>(position), values});
    bytes.push_back(0);
    for (unsigned value : values)
      bytes.back() += graph.buffers[value].bytes();
  }
  constexpr size_t kAround = 2;
  places.clear();
  for (size_t at = 0; at < found.size(); ++at) {
    size_t begin = at - std::min(at, kAround),
           end = std::min(found.size(), at + kAround + 1);
    int64_t least =
        *std::min_element(bytes.begin() + begin, bytes.begin() + end);
    if (4 * bytes[at] <= 9 * least)
      places.push_back(found[at]);
  }
}

SmallVector<unsigned> Segments::widths() const {
  SmallVector<unsigned> result;
  for (unsigned width = 1; width <= places.size();
       width += std::max(1u, width / 2))
    result.push_back(width);
  result.push_back(places.size() + 1);
  return result;
}

Segments::Division Segments::divide(unsigned width) const {
  Division division;
  division.boundary = shared;
  SmallVector<unsigned> ends; // positions of the last commands of segments
  for (size_t at = width - 1; at < places.size(); at += width) {
    ends.push_back(places[at].position);
    for (unsigned value : places[at].values)
      division.boundary.set(value);
  }
  division.count = ends.size() + 1;
  for (unsigned command = 0; command < graph.commands.size(); ++command)
    division.segmentOf.push_back(
        llvm::lower_bound(ends, recompute.positionOf(command)) - ends.begin());
  return division;
}

} // namespace sinter::passes::plan
